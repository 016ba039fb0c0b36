import { capitalize } from "@nomicfoundation/hardhat-utils/string";

import { isEmptyOrder } from "../../src/client/orders/types.js";
import type { ListedOrder } from "../../src/client/orders/types.js";
import { isFailedReading } from "../../src/client/failed-reading.js";
import { textsForCommandLine } from "../../src/errors.js";
import type { VaultError } from "../../src/errors.js";
import {
  get,
  isStandalone,
  operationEntry,
  queriesOf,
  readOperationNames,
  standaloneQueries,
} from "../../src/protocol/index.js";
import type {
  Field,
  PoolAmounts,
  ReadOperationName,
  VaultRound,
} from "../../src/protocol/index.js";
import { labelledValues, notes, section, toned } from "./blocks.js";
import type { Block, LabelledValue } from "./blocks.js";
import { formatValue, utilisationBar } from "./format-value.js";
import type { FormatContext } from "./format-value.js";

interface ShownReading {
  /** Distinguishes readings of one operation, for example `public`. */
  readonly variant?: string | undefined;
  readonly value: unknown;
}

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

export function readingsOf(snapshot: object): readonly unknown[] {
  return standaloneQueries.map(({ path }) => get(snapshot, path));
}

export function failuresOf(snapshot: object): readonly VaultError[] {
  return readingsOf(snapshot).flatMap((value) =>
    isFailedReading(value) ? value.error : [],
  );
}

/** The number of failures, and one fix for each error code. */
export function failureNotes(failures: readonly VaultError[]): Block {
  const remedies = new Map<string, string>();
  for (const error of failures) {
    const { code } = error;
    remedies.set(code, remedies.get(code) ?? textsForCommandLine(error).fix);
  }
  return notes(
    failures.length > 0 &&
      toned("bad", `${failures.length} of the readings failed.`),
    ...remedies.values(),
  );
}

export function readingsBlock(
  operation: ReadOperationName,
  readings: readonly ShownReading[],
  context: FormatContext,
): Block {
  return labelledValues(
    readings.flatMap((reading) => {
      const { variant, value } = reading;
      return isFailedReading(value)
        ? [
            [
              capitalize(variant ?? operationEntry(operation).title),
              toned("bad", `failed: ${value.error.shortMessage}`),
            ],
          ]
        : valuesOf(operation, reading, context);
    }),
  );
}

function valuesOf(
  operation: ReadOperationName,
  reading: ShownReading,
  context: FormatContext,
): readonly LabelledValue[] {
  const { outputs } = operationEntry(operation);
  const { variant } = reading;
  return [
    ...outputs.map((field): LabelledValue => {
      const value =
        outputs.length === 1
          ? reading.value
          : get(reading, ["value", field.name]);
      return [labelOf(field, variant), formatValue(field, value, context)];
    }),
    ...(context.raw ? [] : extraValues(operation, reading)),
  ];
}

/** Values that are derived from the fields. */
function extraValues(
  operation: ReadOperationName,
  reading: ShownReading,
): readonly LabelledValue[] {
  const { variant = "", value } = reading;
  switch (operation) {
    case "getLatestRoundInfo": {
      // the operation returns a round
      const { filledVolume, maxVolume } = value as VaultRound;
      return [["Filled", utilisationBar(filledVolume, maxVolume)]];
    }
    case "getLPAmountInfo": {
      // the operation returns a pool
      const { locked, deposit } = value as PoolAmounts;
      const text = utilisationBar(locked, deposit);
      const label = `${capitalize(variant)} used`;
      return [[label, { text, note: "locked of deposited" }]];
    }
    case "getOrderInfo":
      // the operation returns an order
      return isEmptyOrder(value as ListedOrder)
        ? [["Note", "every value is zero: there may be no such order"]]
        : [];
    default:
      return [];
  }
}

/** An abbreviation keeps its capitals after a variant. */
export function labelOf({ label }: Field, variant?: string): string {
  return variant === undefined
    ? label
    : `${capitalize(variant)} ${
        /^[A-Z]{2}/u.test(label)
          ? label
          : label.slice(0, 1).toLowerCase() + label.slice(1)
      }`;
}
