import { capitalize } from "@nomicfoundation/hardhat-utils/string";

import { isEmptyOrder } from "../../src/client/order-reader.js";
import type { ListedOrder } from "../../src/client/order-reader.js";
import { isFailedReading } from "../../src/client/read-at-block.js";
import type { FailedReading } from "../../src/client/read-at-block.js";
import { textsForCommandLine } from "../../src/errors.js";
import type { VaultError } from "../../src/errors.js";
import { asRecord } from "../../src/json.js";
import {
  get,
  isStandalone,
  operationEntry,
  placesOf,
  queriesOf,
  readOperationNames,
  standaloneQueries,
} from "../../src/protocol/index.js";
import type {
  Field,
  PoolAmounts,
  Query,
  ReadOperationName,
  VaultRound,
} from "../../src/protocol/index.js";
import { labelledValues, notes, section, toned } from "./blocks.js";
import type { Block, Cell, LabelledValue } from "./blocks.js";
import { formatValue, utilisationBar } from "./format-value.js";
import type { FormatContext } from "./format-value.js";

export function snapshotBlocks(
  snapshot: object,
  context: FormatContext,
): readonly Block[] {
  return readOperationNames.filter(isStandalone).flatMap((operation) => {
    const readings = queriesOf(operation).map(({ path }) => ({
      variant: path[1],
      value: get(snapshot, path),
    }));
    return section(
      operationEntry(operation).title,
      readingsBlock(operation, readings, context),
    );
  });
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

/** The number of failures, and one fix for each error code. */
export function failureNotes(failures: readonly VaultError[]): Block {
  const byCode = [...Map.groupBy(failures, ({ code }) => code).values()];
  return notes(
    failures.length > 0 &&
      toned("bad", `${failures.length} of the readings failed.`),
    ...byCode.flatMap(([first]) =>
      first === undefined ? [] : textsForCommandLine(first).fix,
    ),
  );
}

export function readingsBlock(
  operation: ReadOperationName,
  readings: ReadonlyArray<{
    /** Distinguishes readings of one operation, for example `public`. */
    readonly variant?: string | undefined;
    readonly value: unknown;
  }>,
  context: FormatContext,
): Block {
  const { title } = operationEntry(operation);
  return labelledValues(
    readings.flatMap(({ variant, value }) =>
      isFailedReading(value)
        ? [[capitalize(variant ?? title), failedCell(value)]]
        : valuesOf(operation, value, variant, context),
    ),
  );
}

function valuesOf(
  operation: ReadOperationName,
  value: unknown,
  variant: string | undefined,
  context: FormatContext,
): readonly LabelledValue[] {
  const { outputs } = operationEntry(operation);
  const values = outputs.map((field): LabelledValue => {
    const own = outputs.length === 1 ? value : asRecord(value)[field.name];
    return [labelOf(field, variant), formatValue(field, own, context)];
  });
  if (context.raw) {
    return values;
  }
  switch (operation) {
    case "getLatestRoundInfo": {
      // the operation returns a round
      const { filledVolume, maxVolume } = value as VaultRound;
      return [...values, ["Filled", utilisationBar(filledVolume, maxVolume)]];
    }
    case "getLPAmountInfo": {
      // the operation returns a pool
      const { locked, deposit } = value as PoolAmounts;
      const text = utilisationBar(locked, deposit);
      const used = labelOf({ label: "Used" }, variant);
      return [...values, [used, { text, note: "locked of deposited" }]];
    }
    case "getOrderInfo":
      // the operation returns an order
      return isEmptyOrder(value as ListedOrder)
        ? [["Order", toned("warn", "none, it seems: every value is zero")]]
        : values;
    default:
      return values;
  }
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
