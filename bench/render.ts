import { format } from "oxfmt";

import type { Section } from "./measure.js";

/** Renders a section as Markdown, as docs/project/benchmarks.md has it. */
export async function renderSection({
  title,
  rows,
  targets,
}: Section): Promise<string> {
  const verdicts = targets.map(
    ({ name, measured, unit, demand, limit, met }) => ({
      target: name,
      measured: `${measured.toLocaleString("en")} ${unit}`,
      demanded: `${demand} ${limit.toLocaleString("en")} ${unit}`,
      "": met ? "met" : "missed",
    }),
  );
  const { code } = await format(
    "benchmarks.md",
    `### ${title}\n\n${renderTable(rows)}\n\n${renderTable(verdicts)}\n`,
  );
  return code;
}

/** The first column is text, and the others are figures. */
function renderTable(rows: Section["rows"]): string {
  const headings = Object.keys(rows[0] ?? {});
  return [
    headings,
    headings.map((_, index) => (index === 0 ? "---" : "---:")),
    ...rows.map((row) =>
      headings.map((heading) => row[heading]?.toLocaleString("en")),
    ),
  ]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}
