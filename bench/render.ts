import { createStyle } from "../tasks/output/style.js";
import { renderTable } from "../tasks/output/table.js";
import type { Section } from "./measure.js";

/** A section as tables of plain text. */
export function renderSection({ title, rows, targets }: Section): string {
  const style = createStyle({});
  const keys = Object.keys(rows[0] ?? {});
  const table = renderTable(
    keys.map((heading, index) => ({
      heading,
      align: index === 0 ? "left" : "right",
    })),
    rows.map((row) => keys.map((key) => show(row[key]))),
    style,
  );
  const verdicts = renderTable(
    ["", "target", "measured", "demanded"].map((heading) => ({ heading })),
    targets.map(({ name, measured, unit, demand, limit, met }) => [
      met ? "met" : "MISSED",
      name,
      `${show(measured)} ${unit}`,
      `${demand} ${show(limit)} ${unit}`,
    ]),
    style,
  );
  return `${title}\n\n${table}\n\n${verdicts}`;
}

function show(value: string | number | undefined): string {
  return typeof value === "number"
    ? value.toLocaleString("en", { maximumFractionDigits: 2 })
    : (value ?? "");
}
