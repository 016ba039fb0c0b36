import { assertInvariant } from "../../src/errors.js";
import { scale } from "../../src/protocol/amounts.js";
import {
  declaredDecimals,
  describeEnumValue,
  describeTime,
  fieldsOf,
  groupDigits,
  isEnumName,
  units,
} from "../../src/protocol/index.js";
import type {
  DisplaySettings,
  Field,
  ReadOperationName,
  Unit,
  operations,
  ScaledField,
} from "../../src/protocol/index.js";
import { escapeUntrusted } from "../../src/escape.js";
import type { Cell } from "./blocks.js";

export interface FormatContext extends DisplaySettings {
  /** The chain's clock, Unix seconds. */
  readonly chainTime: number;
  /** Shows integers unscaled. */
  readonly raw: boolean;
}

type ShownField = ScaledField & Pick<Field, "type">;

export function fieldOf<
  Name extends ReadOperationName,
  Value extends (typeof operations)[Name]["outputs"][number]["name"],
>(operation: Name, name: Value): Field & { readonly name: Value } {
  const [found] = fieldsOf(operation, [name]);
  assertInvariant(found !== undefined, `${operation} has a field ${name}`);
  return found;
}

/** The documented or configured decimals of a field; undefined if unscaled. */
export function decimalsOf(
  field: ShownField,
  { raw, tokenDecimals, displayDecimals }: FormatContext,
): number | undefined {
  if (raw) {
    return undefined;
  }
  const { unit } = field;
  switch (unit) {
    case "rate":
    case "price":
    case "percent":
      return units[unit].decimals;
    case "token":
      return tokenDecimals;
    default:
      return declaredDecimals(displayDecimals, field);
  }
}

/** A value with the type of its field. */
export type TypedValue =
  | { readonly type: "bool"; readonly value: boolean }
  | { readonly type: "uint8"; readonly value: number }
  | { readonly type: "uint256"; readonly value: bigint }
  | { readonly type: "string" | "address"; readonly value: string };

export function typedValue(
  { type }: Pick<Field, "type">,
  value: unknown,
): TypedValue {
  // the decoder returns only values of the field's type
  return { type, value } as TypedValue;
}

/** Scales a value only by its documented unit or by the configuration. */
export function formatValue(
  field: ShownField,
  given: unknown,
  context: FormatContext,
): Cell {
  const { unit } = field;
  const { type, value } = typedValue(field, given);
  switch (type) {
    case "bool":
      return { text: describeAnswer(value) };
    case "uint8": {
      const text = String(value);
      if (context.raw || !isEnumName(unit)) {
        return { text };
      }
      const word = describeEnumValue(unit, value);
      return { text: word.startsWith("unknown") ? word : `${word} (${text})` };
    }
    case "string":
    case "address":
      return { text: escapeUntrusted(value) };
    case "uint256":
      return formatInteger(field, value, context);
  }
}

function formatInteger(
  field: ShownField,
  value: bigint,
  context: FormatContext,
): Cell {
  const { unit, isLikelyTime } = field;
  const { chainTime, raw } = context;
  if (raw) {
    return { text: `${value}` };
  }
  const decimals = decimalsOf(field, context);
  if (decimals !== undefined) {
    return {
      text: scale(value, decimals) + (suffixes[unit] ?? ""),
      unscaled: value,
      ...(unit === "raw" ? { footnote: CONFIGURED } : {}),
    };
  }
  const whole = groupDigits(value.toString());
  switch (unit) {
    case "timestamp":
      return {
        text: describeTime(value),
        note: formatCountdown(value, chainTime),
      };
    case "raw":
    case "token":
      return isLikelyTime === true && looksLikeTime(value)
        ? {
            text: `${value} raw`,
            note: `${describeTime(value)} assuming Unix seconds`,
            footnote: rawNotes[unit],
          }
        : { text: `${whole} raw`, footnote: rawNotes[unit] };
    default:
      return { text: whole };
  }
}

const rawNotes = {
  raw: "Values marked raw are unscaled integers: their scale is not documented.",
  token:
    "The round's volumes and minimum deposit are raw: tokenDecimals is not set.",
};

const suffixes: { readonly [Name in Unit]?: string } = {
  percent: " %",
  token: " tokens",
};

const CONFIGURED =
  "Scales that are not documented: from displayDecimals, or the mocks' own.";

/** Ten digits: Unix seconds from 2001 to 2286. */
function looksLikeTime(value: bigint): boolean {
  return value >= 1_000_000_000n && value < 10_000_000_000n;
}

/** The two largest units, for example `3d 4h`. */
export function formatDuration(seconds: bigint): string {
  const minutes = seconds / 60n;
  const hours = minutes / 60n;
  const parts = [
    `${hours / 24n}d`,
    `${hours % 24n}h`,
    `${minutes % 60n}m`,
    `${seconds % 60n}s`,
  ];
  const first = parts.findIndex((part) => !part.startsWith("0"));
  const shown = parts.slice(first).slice(0, 2);
  return shown
    .filter((part, index) => index === 0 || !part.startsWith("0"))
    .join(" ");
}

/** `in 3d 4h`, `now` or `2h 5m ago`, by the chain's clock. */
export function formatCountdown(time: bigint, chainTime: number): string {
  const distance = time - BigInt(chainTime);
  return distance === 0n
    ? "now"
    : distance > 0n
      ? `in ${formatDuration(distance)}`
      : `${formatDuration(-distance)} ago`;
}

/** `1 order`, `20,000 orders`. */
export function describeCount(count: number | bigint, noun: string): string {
  return `${groupDigits(count.toString())} ${noun}${BigInt(count) === 1n ? "" : "s"}`;
}

const BAR_WIDTH = 24;

/** A bar and a percentage, rounded down so that only all of it is 100 %. */
export function utilisationBar(part: bigint, whole: bigint): string {
  if (whole === 0n) {
    return part === 0n
      ? `${"░".repeat(BAR_WIDTH)} (nothing to fill)`
      : `${"█".repeat(BAR_WIDTH)} (more than all of 0)`;
  }
  const perMille = (part * 1000n) / whole;
  const blocks = Number((perMille * BigInt(BAR_WIDTH)) / 1000n);
  const bar = "█".repeat(Math.min(blocks, BAR_WIDTH)).padEnd(BAR_WIDTH, "░");
  return `${bar} ${perMille / 10n}.${perMille % 10n} %`;
}

/** A yes, a no, or neither. */
export function describeAnswer(answer: boolean | null): string {
  return answer === null ? "unknown" : answer ? "yes" : "no";
}
