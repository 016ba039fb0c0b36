import { alignColumns } from "../tasks/output/table.js";
import type { Section } from "./measure.js";

/** A section as tables of plain text. */
export function renderSection({ title, rows, targets }: Section): string {
  const keys = Object.keys(rows[0] ?? {});
  const table = alignColumns(
    [keys, ...rows.map((row) => keys.map((key) => show(row[key])))],
    keys.map((_, index) => (index === 0 ? "left" : "right")),
  );
  const verdicts = alignColumns(
    targets.map(({ name, measured, unit, demand, limit, met }) => [
      met ? "met" : "MISSED",
      name,
      `${show(measured)} ${unit}`,
      `${demand} ${show(limit)} ${unit}`,
    ]),
  );
  return `${title}\n\n${table}\n\n${verdicts}`;
}

function show(value: string | number | undefined): string {
  return typeof value === "number"
    ? value.toLocaleString("en", { maximumFractionDigits: 2 })
    : (value ?? "");
}
