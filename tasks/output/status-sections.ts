import { isFailedReading } from "../../src/client/failed-reading.js";
import { textsForCommandLine } from "../../src/errors.js";
import type { VaultError } from "../../src/errors.js";
import {
  isStandalone,
  operationEntry,
  get,
  queriesOf,
  readOperationNames,
} from "../../src/protocol/index.js";
import type { ReadOperationName } from "../../src/protocol/index.js";
import type { ShownReading } from "./readings.js";
import type { Style } from "./style.js";
import { wrapText } from "./table.js";

/** The readings of one operation, as `vault status` shows them. */
export interface StatusSection {
  readonly operation: ReadOperationName;
  readonly readings: readonly ShownReading[];
}

const shownOperations = readOperationNames.filter(isStandalone);

/** The fields of everything that is shown. */
export const shownFields = shownOperations.flatMap(
  (operation) => operationEntry(operation).outputs,
);

/** What a snapshot has, operation by operation. */
export function sectionsOf(snapshot: object): readonly StatusSection[] {
  return shownOperations.map((operation) => ({
    operation,
    readings: queriesOf(operation).map(({ path }) => ({
      variant: path[1],
      value: get(snapshot, path),
    })),
  }));
}

/** Why readings failed, those that did. */
export function failuresOf(
  sections: readonly StatusSection[],
): readonly VaultError[] {
  return sections
    .flatMap(({ readings }) => readings)
    .flatMap(({ value }) => (isFailedReading(value) ? value.error : []));
}

/** How many failed, and what to do about each kind; nothing if none did. */
export function renderFailures(
  failures: readonly VaultError[],
  style: Style,
): readonly string[] {
  if (failures.length === 0) {
    return [];
  }
  const remedies = new Map(
    failures
      .toReversed()
      .map((error) => [error.code, textsForCommandLine(error).fix]),
  );
  return [
    [
      style.bad(`${failures.length} of the readings failed.`),
      ...[...remedies.values()]
        .toReversed()
        .map((remedy) => wrapText(remedy, style)),
    ].join("\n"),
  ];
}
