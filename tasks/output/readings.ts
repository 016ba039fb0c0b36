import { capitalize } from "@nomicfoundation/hardhat-utils/string";

import { isEmptyOrder } from "../../src/client/orders/types.js";
import type { ListedOrder } from "../../src/client/orders/types.js";
import { isFailedReading } from "../../src/client/failed-reading.js";
import { operationEntry, get } from "../../src/protocol/index.js";
import type { Field, ReadOperationName } from "../../src/protocol/index.js";
import { formatValue, notesOn, utilisationBar } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import type { Style, View } from "./style.js";
import { renderFacts, wrapText } from "./table.js";
import type { Fact } from "./table.js";

/** One value of an operation, or its failure, under the heading it gets. */
export interface ShownReading {
  /** The word that tells several readings of one operation apart. */
  readonly variant?: string | undefined;
  readonly value: unknown;
}

/** The readings of one operation for a person. */
export function renderReadings(
  operation: ReadOperationName,
  readings: readonly ShownReading[],
  view: View,
): string {
  const facts = readings.flatMap((reading): Fact[] =>
    isFailedReading(reading.value)
      ? [
          [
            `${prefixOf(reading)}${view.bad("failed")}`,
            reading.value.error.shortMessage,
          ],
        ]
      : factsOf(operation, reading, view),
  );
  return renderFacts(facts, view);
}

/** The facts of a reading that did not fail, with labels that differ. */
export function factsOf(
  operation: ReadOperationName,
  reading: ShownReading,
  context: FormatContext,
): Fact[] {
  const { outputs } = operationEntry(operation);
  const prefix = prefixOf(reading);
  return [
    ...outputs.map((field): Fact => {
      const value =
        outputs.length === 1
          ? reading.value
          : get(reading, ["value", field.name]);
      const { text, note = "" } = formatValue(field, value, context);
      const { label } = field;
      return [prefix === "" ? label : prefix + lower(label), text, note];
    }),
    ...(context.raw ? [] : extraFacts(operation, reading)),
  ];
}

function prefixOf({ variant }: ShownReading): string {
  return variant === undefined ? "" : `${capitalize(variant)} `;
}

/** What has to be said once about such values, below them; often nothing. */
export function renderNotes(
  fields: readonly Field[],
  view: View,
): readonly string[] {
  return joinNotes(notesOn(fields, view), view);
}

/** Notes as one block; none without any. */
export function joinNotes(
  notes: readonly string[],
  style: Style,
): readonly string[] {
  return notes.length === 0
    ? []
    : [notes.map((note) => wrapText(style.dim(note), style)).join("\n")];
}

/**
 * What a person wants to see at a glance beside the plain fields. An operation
 * that has none needs no entry.
 */
function extraFacts(
  operation: ReadOperationName,
  reading: ShownReading,
): Fact[] {
  const bar = (...names: readonly [part: string, whole: string]): string => {
    const [part, whole] = names.map((name) => get(reading, ["value", name]));
    return typeof part === "bigint" && typeof whole === "bigint"
      ? utilisationBar(part, whole)
      : "";
  };
  switch (operation) {
    case "getLatestRoundInfo":
      return [["Filled", bar("filledVolume", "maxVolume")]];
    case "getLPAmountInfo":
      return [
        [
          `${prefixOf(reading)}used`,
          bar("locked", "deposit"),
          "locked of deposited",
        ],
      ];
    case "getOrderInfo":
      // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the operation says that it is an order
      return isEmptyOrder(reading.value as ListedOrder)
        ? [["Note", "every value is zero: there may be no such order"]]
        : [];
    default:
      return [];
  }
}

/** A label in the middle of a phrase; an abbreviation stays as it is. */
function lower(label: string): string {
  return /^[A-Z]{2}/u.test(label)
    ? label
    : label.slice(0, 1).toLowerCase() + label.slice(1);
}
