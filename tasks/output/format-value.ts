import { formatUnits } from "ethers";

import { assertInvariant } from "../../src/errors.js";
import {
  declaredDecimals,
  describeEnumValue,
  isEnumName,
  fieldsOf,
  groupDigits,
  operations,
  units,
} from "../../src/protocol/index.js";
import type {
  DisplaySettings,
  Field,
  Operation,
  ReadOperationName,
  Unit,
} from "../../src/protocol/index.js";
import { describeTime } from "../../src/protocol/time.js";
import { escapeUntrusted } from "../../src/untrusted-text.js";
import type { Cell } from "./blocks.js";

/** What is needed to show a value to a person. */
export interface FormatContext extends DisplaySettings {
  /** The chain's clock, Unix seconds. */
  readonly chainTime: number;
  /** Show integers as on the wire. */
  readonly raw: boolean;
}

/** What has to be known of a field to show its value. */
type ShownField = Pick<Field, "type" | "unit" | "isLikelyTime">;

/** One of the values that an operation returns. */
export function fieldOf<
  Name extends ReadOperationName,
  Value extends (typeof operations)[Name]["outputs"][number]["name"],
>(operation: Name, name: Value): Field & { readonly name: Value } {
  const [found] = fieldsOf(operation, [name]);
  assertInvariant(found !== undefined, `${operation} has a field ${name}`);
  return found;
}

/** What a field of the operations table is of, as in `pools`; and itself. */
const places: ReadonlyMap<ShownField, readonly [key: string, field: Field]> =
  new Map(
    Object.values<Operation>(operations).flatMap(({ key, outputs }) =>
      outputs.map((field) => [field, [key, field]] as const),
    ),
  );

/**
 * The decimals that a field's values are shown with, as documented or as the
 * configuration declares them; undefined for none.
 */
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
    default: {
      const place = places.get(field);
      return place === undefined
        ? undefined
        : declaredDecimals(displayDecimals, ...place);
    }
  }
}

/**
 * Scales a value for display by its documented unit, or as the deployment's
 * owner declares it, and by nothing else.
 */
export function formatValue(
  field: ShownField,
  value: unknown,
  context: FormatContext,
): Cell {
  const { type, unit, isLikelyTime } = field;
  const { chainTime, raw } = context;
  if (typeof value === "boolean") {
    return { text: value ? "yes" : "no" };
  }
  if (typeof value === "number") {
    const text = String(value);
    if (raw || !isEnumName(unit)) {
      return { text };
    }
    const word = describeEnumValue(unit, value);
    return { text: word.startsWith("unknown") ? word : `${word} (${text})` };
  }
  if (typeof value !== "bigint") {
    return { text: escapeUntrusted(String(value)) };
  }
  if (raw || type !== "uint256") {
    return { text: value.toString() };
  }
  const decimals = decimalsOf(field, context);
  if (decimals !== undefined) {
    return {
      text: scale(value, decimals) + (suffixes[unit] ?? ""),
      unscaled: value,
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
            note: `${describeTime(value)} if Unix seconds, our reading`,
            footnote: rawNotes[unit],
          }
        : { text: `${whole} raw`, footnote: rawNotes[unit] };
    default:
      return { text: whole };
  }
}

const rawNotes = {
  raw: "raw: an integer as on the wire, since its scale is not documented.",
  token:
    "Volumes and deposits are raw: tokenDecimals of this network is not set.",
};

/** What stands behind a value that is scaled. */
const suffixes: { readonly [Name in Unit]?: string } = {
  percent: " %",
  token: " tokens",
  raw: " as configured",
};

/** Unix seconds from 2001 to 2286, which have ten digits. */
function looksLikeTime(value: bigint): boolean {
  return value >= 1_000_000_000n && value < 10_000_000_000n;
}

/** An integer of the wire by its scale. */
export function scale(value: bigint, decimals: number): string {
  return groupDigits(formatUnits(value, decimals).replace(/\.0$/u, ""));
}

/** Decimals of a chain's own currency, on every EVM chain. */
export const NATIVE_DECIMALS = 18;

/** An amount of the chain's own currency. */
export function formatNative(wei: bigint): string {
  return scale(wei, NATIVE_DECIMALS);
}

const spans: ReadonlyArray<readonly [name: string, seconds: bigint]> = [
  ["d", 86_400n],
  ["h", 3_600n],
  ["m", 60n],
  ["s", 1n],
];

/** A span in its two largest units, as in `3d 4h`. */
export function formatDuration(seconds: bigint): string {
  let rest = seconds;
  const parts: string[] = [];
  for (const [name, length] of spans) {
    const count = rest / length;
    rest %= length;
    if (count > 0n || parts.length > 0) {
      parts.push(`${count}${name}`);
    }
  }
  const [first = "0s", second] = parts;
  return second === undefined || second.startsWith("0")
    ? first
    : `${first} ${second}`;
}

/** How far a time is from the chain's clock: `in 3d 4h` or `2h 5m ago`. */
export function formatCountdown(time: bigint, chainTime: number): string {
  const distance = time - BigInt(chainTime);
  return distance === 0n
    ? "now"
    : distance > 0n
      ? `in ${formatDuration(distance)}`
      : `${formatDuration(-distance)} ago`;
}

/** As in `1 order` and `20,000 orders`. */
export function describeCount(count: number | bigint, noun: string): string {
  return `${groupDigits(count.toString())} ${noun}${BigInt(count) === 1n ? "" : "s"}`;
}

const BAR_WIDTH = 24;

/**
 * A bar of how much of a whole is used, with the percentage to one decimal,
 * rounded down so that 100 % means all of it.
 */
export function utilisationBar(part: bigint, whole: bigint): string {
  if (whole === 0n) {
    return `${"░".repeat(BAR_WIDTH)} (nothing to fill)`;
  }
  const perMille = (part * 1000n) / whole;
  const blocks = Number((perMille * BigInt(BAR_WIDTH)) / 1000n);
  const bar = "█".repeat(Math.min(blocks, BAR_WIDTH)).padEnd(BAR_WIDTH, "░");
  return `${bar} ${perMille / 10n}.${perMille % 10n} %`;
}
