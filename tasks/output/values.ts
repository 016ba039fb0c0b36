import { capitalize } from "@nomicfoundation/hardhat-utils/string";

import { isFailedReading } from "../../src/client/read-at-block.js";
import type { FailedReading } from "../../src/client/read-at-block.js";
import { isEmptyOrder } from "../../src/client/order-reader.js";
import type { ListedOrder } from "../../src/client/order-reader.js";
import { textsForCommandLine } from "../../src/errors.js";
import type { VaultError } from "../../src/errors.js";
import { escapeUntrusted } from "../../src/foreign-text.js";
import { asRecord } from "../../src/json.js";
import { formatNative, scale } from "../../src/protocol/round.js";
import {
  declaredDecimals,
  describeEnumValue,
  describeTime,
  get,
  groupDigits,
  isEnumName,
  operationEntry,
  placesOf,
  queriesOf,
  standaloneOperations,
  standaloneQueries,
  units,
} from "../../src/protocol/index.js";
import type {
  DisplaySettings,
  Field,
  Query,
  ReadOperationName,
  ScaledField,
  Unit,
} from "../../src/protocol/index.js";
import { labelledValues, notes, section, toned } from "./screen.js";
import type { Part, Cell, LabelledValue } from "./screen.js";

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
  const { decimals }: { readonly decimals?: number | "tokenDecimals" } =
    units[field.unit];
  return decimals === "tokenDecimals"
    ? tokenDecimals
    : (decimals ?? declaredDecimals(displayDecimals, field));
}

/** Scales a value only by its documented unit or by the configuration. */
export function formatValue(
  field: ScaledField,
  value: unknown,
  context: FormatContext,
): Cell {
  switch (typeof value) {
    case "bigint":
      return context.raw
        ? { text: `${value}` }
        : formatInteger(field, value, context);
    case "boolean":
      return { text: describeAnswer(value) };
    case "number":
      return !context.raw && isEnumName(field.unit)
        ? { text: describeEnumValue(field.unit, value) }
        : { text: `${value}` };
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
  const decimals = decimalsOf(field, context);
  if (decimals !== undefined) {
    const text = scale(value, decimals) + (suffixes[unit] ?? "");
    return unit === "raw" ? { text, footnote: CONFIGURED } : { text };
  }
  if (unit === "timestamp") {
    const note = formatCountdown(value, context.chainTime);
    return { text: describeTime(value), note };
  }
  // Ten digits: Unix seconds from 2001 to 2286.
  if (isLikelyTime === true && `${value}`.length === 10) {
    return { text: describeTime(value), footnote: ASSUMED };
  }
  const text = groupDigits(`${value}`);
  return unit === "raw" || unit === "token"
    ? { text: `${text} raw`, footnote: UNSCALED }
    : { text };
}

const suffixes: { readonly [Name in Unit]?: string } = {
  percent: " %",
  token: " tokens",
};

const CONFIGURED =
  "Scales that are not documented: from displayDecimals, or the mocks' own.";
const ASSUMED = "Times of orders assume Unix seconds.";
const UNSCALED =
  "Values marked raw are unscaled integers: see tokenDecimals and displayDecimals.";

/** `in 3d 4h`, `now` or `2h 5m ago`, by the chain's clock; two units at most. */
export function formatCountdown(time: bigint, chainTime: number): string {
  const distance = time - BigInt(chainTime);
  const seconds = distance < 0n ? -distance : distance;
  const parts = [
    `${seconds / 86_400n}d`,
    `${(seconds / 3_600n) % 24n}h`,
    `${(seconds / 60n) % 60n}m`,
    `${seconds % 60n}s`,
  ];
  const isPart = (part: string): boolean => !part.startsWith("0");
  const largest = parts.slice(parts.findIndex(isPart)).slice(0, 2);
  const duration = largest.filter(isPart).join(" ");
  if (distance === 0n) {
    return "now";
  }
  return distance > 0n ? `in ${duration}` : `${duration} ago`;
}

/** `1 order`, `20,000 orders`. */
export function describeCount(count: number | bigint, noun: string): string {
  return `${groupDigits(count.toString())} ${noun}${BigInt(count) === 1n ? "" : "s"}`;
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

/** A value of a snapshot; without a field if its reading failed. */
export interface PlacedValue {
  /** For example `pools.public.locked`. */
  readonly place: string;
  readonly query: Query;
  readonly field?: Field;
  readonly value: unknown;
}

export function valuesIn(snapshot: object): readonly PlacedValue[] {
  return standaloneQueries.flatMap((query): readonly PlacedValue[] => {
    const value = get(snapshot, query.path);
    return isFailedReading(value)
      ? [{ place: query.path.join("."), query, value }]
      : placesOf(query).map(({ path, field }) => ({
          place: path.join("."),
          query,
          field,
          value: get(snapshot, path),
        }));
  });
}

export function failuresOf(snapshot: object): readonly VaultError[] {
  return valuesIn(snapshot).flatMap(({ value }) =>
    isFailedReading(value) ? value.error : [],
  );
}

export function failedCell({ error }: FailedReading): Cell {
  return toned("bad", `failed: ${error.shortMessage}`);
}

/** The number of failures, and each fix once. */
export function failureNotes(failures: readonly VaultError[]): Part {
  const fixes = failures.map((error) => textsForCommandLine(error).fix);
  return notes(
    failures.length > 0 &&
      toned("bad", `${failures.length} of the readings failed.`),
    ...new Set(fixes),
  );
}

export function snapshotParts(
  snapshot: object,
  context: FormatContext,
  shown: readonly ReadOperationName[] = standaloneOperations,
): readonly Part[] {
  return shown.flatMap((operation) => {
    const readings = queriesOf(operation).map(({ path }) => ({
      variant: path[1],
      value: get(snapshot, path),
    }));
    return section(
      operationEntry(operation).title,
      readingsPart(operation, readings, context),
    );
  });
}

export function readingsPart(
  operation: ReadOperationName,
  readings: ReadonlyArray<{
    /** Distinguishes readings of one operation, for example `public`. */
    readonly variant?: string | undefined;
    readonly value: unknown;
  }>,
  context: FormatContext,
): Part {
  const { title, outputs } = operationEntry(operation);
  const rows = readings.flatMap(({ variant, value }): LabelledValue[] => {
    if (isFailedReading(value)) {
      return [[capitalize(variant ?? title), failedCell(value)]];
    }
    const fields = asRecord(value);
    const values = outputs.map((field): LabelledValue => {
      const own = outputs.length === 1 ? value : fields[field.name];
      return [labelOf(field, variant), formatValue(field, own, context)];
    });
    const share = shares[operation];
    if (share !== undefined && !context.raw) {
      const { label, part, whole } = share;
      const text = describeShare(fields[part], fields[whole]);
      values.push([labelOf({ label }, variant), text]);
    }
    // the operation returns an order
    if (operation === "getOrderInfo" && isEmptyOrder(value as ListedOrder)) {
      const text = "none, it seems: every value is zero";
      values.push(["Order", toned("warn", text)]);
    }
    return values;
  });
  return labelledValues(rows);
}

/** Which value is a part of which. */
const shares: {
  readonly [Name in ReadOperationName]?: Readonly<
    Record<"label" | "part" | "whole", string>
  >;
} = {
  getLatestRoundInfo: {
    label: "Filled",
    part: "filledVolume",
    whole: "maxVolume",
  },
  getLPAmountInfo: { label: "Used", part: "locked", whole: "deposit" },
};

/** A bar and a percentage, rounded down so that only all of it is 100 %. */
function describeShare(part: unknown, whole: unknown): string {
  if (typeof part !== "bigint" || typeof whole !== "bigint" || whole === 0n) {
    return "nothing to fill";
  }
  const perMille = (part * 1000n) / whole;
  const bar = "█".repeat(Math.min(Number(perMille / 100n), 10));
  return `${bar.padEnd(10, "░")} ${perMille / 10n}.${perMille % 10n} %`;
}

/** An abbreviation keeps its capitals after a variant. */
export function labelOf(
  { label }: Pick<Field, "label">,
  variant?: string,
): string {
  return variant === undefined
    ? label
    : `${capitalize(variant)} ${/^[A-Z]{2}/u.test(label) ? label : label.slice(0, 1).toLowerCase() + label.slice(1)}`;
}
