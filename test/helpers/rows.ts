/** The rows of a table of texts: one on each line, ` | ` between its columns. */
export function rowsOf(table: string): ReadonlyArray<readonly string[]> {
  return table
    .trim()
    .split("\n")
    .map((row) => row.split(" | ").map((cell) => cell.trim()));
}
