import { isEmptyOrder } from "../../src/client/orders/types.js";
import type { ListedOrder } from "../../src/client/orders/types.js";
import { isFailedReading } from "../../src/client/failed-reading.js";
import { operationEntry } from "../../src/protocol/index.js";
import type { Field, ReadOperationName } from "../../src/protocol/index.js";
import { utilisationBar } from "./bar.js";
import { formatValue, notesOn } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import type { Style } from "./style.js";
import { renderFacts, wrapText } from "./table.js";
import type { Fact } from "./table.js";

/** One value of an operation, or its failure, under the heading it gets. */
export interface ShownReading {
  /** The word that tells several readings of one operation apart. */
  readonly variant?: string | undefined;
  readonly value: unknown;
}

/** The readings of one operation as a titled block for a person. */
export function renderReadings(
  operation: ReadOperationName,
  readings: readonly ShownReading[],
  context: FormatContext,
  style: Style,
): string {
  const facts = readings.flatMap(({ variant, value }): Fact[] =>
    isFailedReading(value)
      ? [
          [
            `${prefixOf(variant)}${style.bad("failed")}`,
            value.error.shortMessage,
          ],
        ]
      : factsOf(operation, { variant, value }, context),
  );
  return renderFacts(facts, style);
}

/** What is shown of a reading that did not fail. */
export function factsOf(
  operation: ReadOperationName,
  { variant, value }: ShownReading,
  context: FormatContext,
): Fact[] {
  const prefix = prefixOf(variant);
  return [
    ...fieldRows(operation, value, context, prefix),
    ...extraRows(operation, value, context, prefix),
  ];
}

function prefixOf(variant: string | undefined): string {
  return variant === undefined ? "" : `${capitalise(variant)} `;
}

/** What has to be said once about such values, below them; often nothing. */
export function renderNotes(
  fields: readonly Field[],
  context: FormatContext,
  style: Style,
): readonly string[] {
  const notes = notesOn(fields, context);
  return notes.length === 0
    ? []
    : [notes.map((note) => wrapText(style.dim(note), style)).join("\n")];
}

function fieldRows(
  operation: ReadOperationName,
  value: unknown,
  context: FormatContext,
  prefix: string,
): Fact[] {
  const { outputs } = operationEntry(operation);
  const values: Readonly<Record<string, unknown>> =
    typeof value === "object" ? { ...value } : {};
  return outputs.map((field) => {
    const { text, note = "" } = formatValue(
      field,
      outputs.length === 1 ? value : values[field.name],
      context,
    );
    const label = prefix === "" ? field.label : prefix + lower(field.label);
    return [label, text, note];
  });
}

/**
 * What a person wants to see at a glance beside the plain fields. An operation
 * that has none needs no entry.
 */
function extraRows(
  operation: ReadOperationName,
  value: unknown,
  { raw }: FormatContext,
  prefix: string,
): Fact[] {
  if (raw || typeof value !== "object" || value === null) {
    return [];
  }
  const numbers: Readonly<Record<string, unknown>> = { ...value };
  const bar = (part: unknown, whole: unknown): string =>
    typeof part === "bigint" && typeof whole === "bigint"
      ? utilisationBar(part, whole)
      : "";
  switch (operation) {
    case "getLatestRoundInfo":
      return [["Filled", bar(numbers["filledVolume"], numbers["maxVolume"])]];
    case "getLPAmountInfo":
      return [
        [
          `${prefix}used`,
          bar(numbers["locked"], numbers["deposit"]),
          "locked of deposited",
        ],
      ];
    case "getOrderInfo":
      // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the operation says that it is an order
      return isEmptyOrder(value as ListedOrder)
        ? [["Note", "every value is zero: there may be no such order"]]
        : [];
    default:
      return [];
  }
}

function capitalise(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

/** A label in the middle of a phrase; an abbreviation stays as it is. */
function lower(label: string): string {
  return /^[A-Z]{2}/u.test(label)
    ? label
    : label.slice(0, 1).toLowerCase() + label.slice(1);
}
