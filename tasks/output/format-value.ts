import { formatNative, scale } from "../../src/protocol/amounts.js";
import {
  declaredDecimals,
  describeEnumValue,
  describeTime,
  groupDigits,
  isEnumName,
  units,
} from "../../src/protocol/index.js";
import type {
  DisplaySettings,
  ScaledField,
  Unit,
} from "../../src/protocol/index.js";
import { escapeUntrusted } from "../../src/escape.js";
import type { Cell } from "./blocks.js";

export interface FormatContext extends DisplaySettings {
  /** The chain's clock, Unix seconds. */
  readonly chainTime: number;
  /** Shows integers unscaled. */
  readonly raw: boolean;
}

/** The documented or configured decimals of a field; undefined if unscaled. */
export function decimalsOf(
  field: ScaledField,
  { raw, tokenDecimals, displayDecimals }: Omit<FormatContext, "chainTime">,
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

/** Scales a value only by its documented unit or by the configuration. */
export function formatValue(
  field: ScaledField,
  value: unknown,
  context: FormatContext,
): Cell {
  switch (typeof value) {
    case "boolean":
      return { text: describeAnswer(value) };
    case "number":
      return {
        text:
          !context.raw && isEnumName(field.unit)
            ? describeEnumValue(field.unit, value)
            : `${value}`,
      };
    case "bigint":
      return formatInteger(field, value, context);
    default:
      return { text: escapeUntrusted(String(value)) };
  }
}

function formatInteger(
  field: ScaledField,
  value: bigint,
  context: FormatContext,
): Cell {
  const { unit, isLikelyTime } = field;
  if (context.raw) {
    return { text: `${value}` };
  }
  const decimals = decimalsOf(field, context);
  if (decimals !== undefined) {
    const text = scale(value, decimals) + (suffixes[unit] ?? "");
    return unit === "raw" ? { text, footnote: CONFIGURED } : { text };
  }
  if (unit === "timestamp") {
    const note = formatCountdown(value, context.chainTime);
    return { text: describeTime(value), note };
  }
  const footnote = unscaled[unit];
  if (footnote === undefined) {
    return { text: groupDigits(`${value}`) };
  }
  return isLikelyTime === true && looksLikeTime(value)
    ? {
        text: `${value} raw`,
        note: `${describeTime(value)} assuming Unix seconds`,
        footnote,
      }
    : { text: `${groupDigits(`${value}`)} raw`, footnote };
}

const suffixes: { readonly [Name in Unit]?: string } = {
  percent: " %",
  token: " tokens",
};

const CONFIGURED =
  "Scales that are not documented: from displayDecimals, or the mocks' own.";

const unscaled: { readonly [Name in Unit]?: string } = {
  raw: "Values marked raw are unscaled integers: their scale is not documented.",
  token:
    "The round's volumes and minimum deposit are raw: tokenDecimals is not set.",
};

/** Ten digits: Unix seconds from 2001 to 2286. */
function looksLikeTime(value: bigint): boolean {
  return value >= 1_000_000_000n && value < 10_000_000_000n;
}

/** The two largest units, for example `3d 4h`. */
export function formatDuration(seconds: bigint): string {
  const parts = [
    `${seconds / 86_400n}d`,
    `${(seconds / 3_600n) % 24n}h`,
    `${(seconds / 60n) % 60n}m`,
    `${seconds % 60n}s`,
  ];
  const isPart = (part: string): boolean => !part.startsWith("0");
  const first = parts.findIndex(isPart);
  return parts.slice(first).slice(0, 2).filter(isPart).join(" ");
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
    return "nothing to fill";
  }
  const perMille = (part * 1000n) / whole;
  const filled = Number((perMille * BigInt(BAR_WIDTH)) / 1000n);
  const bar = "█".repeat(Math.min(filled, BAR_WIDTH)).padEnd(BAR_WIDTH, "░");
  return `${bar} ${perMille / 10n}.${perMille % 10n} %`;
}

/** A yes, a no, or neither. */
export function describeAnswer(answer: boolean | null): string {
  return answer === null ? "unknown" : answer ? "yes" : "no";
}

/** @param most The highest possible amount. */
export function nativeAmount(wei: bigint, most?: bigint): string {
  const limit = most === undefined ? "" : `; at most ${formatNative(most)}`;
  return `${formatNative(wei)} native currency${limit}`;
}
