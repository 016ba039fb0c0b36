import {
  isFailedReading,
  isNotConfigured,
} from "../../src/client/failed-reading.js";
import type { VaultError } from "../../src/errors.js";
import {
  isStandalone,
  operationEntry,
  readingAt,
  readingsOf,
  readOperationNames,
} from "../../src/protocol/index.js";
import type { ReadOperationName } from "../../src/protocol/index.js";
import { escapeUntrusted } from "../../src/untrusted-text.js";
import { nameFlags } from "../parse-options.js";
import { notesOn } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { factsOf, joinNotes } from "./readings.js";
import type { ShownReading } from "./readings.js";
import type { Style } from "./style.js";
import { renderTitledTable, shortenNumbers, wrapText } from "./table.js";
import type { Fact } from "./table.js";

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
    readings: readingsOf(operation).map(({ path }) => ({
      variant: path[1],
      value: readingAt(snapshot, path),
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

/** How many failed, and what to do; nothing if none did. */
export function renderFailures(
  failures: readonly VaultError[],
  style: Style,
  set?: string,
): readonly string[] {
  return failures.length === 0
    ? []
    : [
        [
          style.bad(
            `${set === undefined ? "" : `${escapeUntrusted(set)}: `}${failures.length} of the readings failed.`,
          ),
          ...remedies(failures).map((remedy) => wrapText(remedy, style)),
        ].join("\n"),
      ];
}

/**
 * What to do. Readings often fail for the same reason, and then one remedy is
 * enough; so it is for contracts that lack an address, which differ by name.
 */
function remedies(failures: readonly VaultError[]): string[] {
  const alike = new Map<string, { fix: string; roles: Set<string> }>();
  for (const failure of failures) {
    const { details } = failure;
    const fix = nameFlags(failure.fix);
    const path = String(details["path"]);
    const role = path.slice(path.lastIndexOf(".") + 1);
    const key = isNotConfigured(failure)
      ? fix.replace(path, "").replace(`--at ${role}=`, "")
      : fix;
    const group = alike.get(key) ?? { fix, roles: new Set() };
    alike.set(key, group);
    group.roles.add(role);
  }
  return [...alike.values()].map(({ fix, roles }) => {
    const [, ...others] = roles;
    return others.length === 0
      ? fix
      : `${fix}\nLikewise for ${others.join(", ")}.`;
  });
}

/** A set of contracts, and what its readings are. */
export interface ShownSet {
  /** Of the instance; undefined for the network's own. */
  readonly name: string | undefined;
  readonly sections: readonly StatusSection[];
  readonly context: FormatContext;
}

/**
 * A table for each operation, with a column for each set of contracts, and what
 * has to be said once about all of them.
 */
export function renderSideBySide(
  network: string,
  sets: readonly ShownSet[],
  style: Style,
): readonly string[] {
  const columns = [
    { heading: "" },
    ...sets.map(({ name }) => ({
      heading: escapeUntrusted(name ?? network),
      align: "right" as const,
      shorten,
    })),
  ];
  const [first] = sets;
  const notes = new Set(
    sets.flatMap(({ context }) => notesOn(shownFields, context)),
  );
  const tables = (first?.sections ?? []).flatMap(
    ({ operation, readings }, section) =>
      renderTitledTable(
        operationEntry(operation).title,
        columns,
        readings.flatMap(({ variant }, index) =>
          rowsOf(
            variant ?? operationEntry(operation).title,
            sets.map(({ sections, context }) => {
              const reading = sections[section]?.readings[index];
              return reading === undefined || isFailedReading(reading.value)
                ? undefined
                : factsOf(operation, reading, context);
            }),
            style.bad("failed"),
          ),
        ),
        style,
      ),
  );
  if (tables.some((table) => table.includes("≈"))) {
    notes.add("≈: the size of a number; --wide shows all of its digits.");
  }
  return [...tables, ...joinNotes([...notes], style)];
}

/**
 * The rows of one reading: a value of each set beside every label.
 *
 * @param title In the place of labels where it failed everywhere.
 * @param columns Undefined where it failed.
 */
function rowsOf(
  title: string,
  columns: ReadonlyArray<readonly Fact[] | undefined>,
  failed: string,
): string[][] {
  const labels = new Set(
    columns.flatMap((facts = []) => facts.map(([label]) => label)),
  );
  return labels.size === 0
    ? [[title, ...columns.map(() => failed)]]
    : [...labels].map((label) => [
        label,
        ...columns.map((facts) =>
          facts === undefined
            ? failed
            : (facts.find(([own]) => own === label)?.[1] ?? ""),
        ),
      ]);
}

const SHORT_WIDTH = 17;

/**
 * A percentage without its bar, a time without its seconds, and of a number with
 * many digits the size.
 */
function shorten(cell: string): string {
  return shortenNumbers(
    cell.replace(/^[█░]+ /u, "").replace(/(?<=T\d\d:\d\d):\d\d(?=Z)/u, ""),
    SHORT_WIDTH,
  );
}
