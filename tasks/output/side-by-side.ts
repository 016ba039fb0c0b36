import { isFailedReading } from "../../src/client/failed-reading.js";
import { operationEntry } from "../../src/protocol/index.js";
import { escapeUntrusted } from "../../src/untrusted-text.js";
import { notesOn } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { factsOf, joinNotes } from "./readings.js";
import type { ShownReading } from "./readings.js";
import { shownFields } from "./status-sections.js";
import type { StatusSection } from "./status-sections.js";
import type { Style } from "./style.js";
import { renderTitledTable, shortenNumbers } from "./table.js";

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
        readings.flatMap((_reading, index) =>
          rowsOf(
            operation,
            sets.map(({ sections, context }) => ({
              reading: sections[section]?.readings[index],
              context,
            })),
            style,
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

/** The rows of one reading: a value of each set beside every label. */
function rowsOf(
  operation: StatusSection["operation"],
  cells: ReadonlyArray<{
    readonly reading: ShownReading | undefined;
    readonly context: FormatContext;
  }>,
  style: Style,
): string[][] {
  const columns = cells.map(({ reading, context }) =>
    reading === undefined || isFailedReading(reading.value)
      ? undefined
      : new Map(
          factsOf(operation, reading, context).map(([label, value]) => [
            label,
            value,
          ]),
        ),
  );
  const failed = style.bad("failed");
  const labels = new Set(
    columns.flatMap((facts) => [...(facts?.keys() ?? [])]),
  );
  return labels.size === 0
    ? [
        [
          cells[0]?.reading?.variant ?? operationEntry(operation).title,
          ...columns.map(() => failed),
        ],
      ]
    : [...labels].map((label) => [
        label,
        ...columns.map((facts) =>
          facts === undefined ? failed : (facts.get(label) ?? ""),
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
