import Table from "cli-table3";

const noBorder = Object.fromEntries(
  [
    "top",
    "top-mid",
    "top-left",
    "top-right",
    "bottom",
    "bottom-mid",
    "bottom-left",
    "bottom-right",
    "left",
    "left-mid",
    "mid",
    "mid-mid",
    "right",
    "right-mid",
  ].map((part) => [part, ""]),
);

/** Rows in aligned columns, without lines, two blanks between the columns. */
export function alignColumns(
  rows: ReadonlyArray<readonly string[]>,
  alignments: ReadonlyArray<"left" | "right"> = [],
): string {
  const table = new Table({
    chars: { ...noBorder, middle: "  " },
    style: { "padding-left": 0, "padding-right": 0, head: [], border: [] },
    colAligns: [...alignments],
  });
  // The library gives a short row a line break of its own.
  const width = Math.max(0, ...rows.map(({ length }) => length));
  table.push(
    ...rows.map((row) =>
      Array.from({ length: width }, (_, index) => row[index] ?? ""),
    ),
  );
  return table
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
}
