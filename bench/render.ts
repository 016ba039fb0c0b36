import { format } from "oxfmt";

import { isMet, median } from "./measure.js";
import type { Figure } from "./measure.js";
import { deployment, mocks } from "./worlds.js";

/** A figure and the name of its world. */
export type Row = readonly [world: string, figure: Figure];

/** Renders the table of bench/README.md: a line for each figure, a column for each world. */
export async function renderTable(rows: readonly Row[]): Promise<string> {
  const names = new Set(rows.map(([, { name }]) => name));
  const lines = [...names].map((name) => {
    const ofName = rows.filter(([, figure]) => figure.name === name);
    const cells = [mocks, deployment].map((world) => {
      const found = ofName.find(([worldName]) => worldName === world.name);
      return found === undefined ? "" : describe(found[1].values);
    });
    const goals = new Set(
      ofName.flatMap(([, { goal }]) =>
        goal === undefined ? [] : `${goal.demand} ${goal.limit}`,
      ),
    );
    const verdict = ofName.every(([, figure]) => isMet(figure))
      ? "met"
      : "**missed**";
    return [
      name,
      ...cells,
      [...goals].join(", "),
      goals.size === 0 ? "" : verdict,
    ];
  });
  const table = [
    ["measured", mocks.name, deployment.name, "goal", ""],
    ["---", "--:", "--:", "--:", "---"],
    ...lines,
  ]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
  const { code } = await format("benchmarks.md", `${table}\n`);
  return code;
}

/** The median, and the range if there is one. */
function describe(values: readonly number[]): string {
  const middle = shown(median(values));
  const least = shown(Math.min(...values));
  const most = shown(Math.max(...values));
  return least === most ? middle : `${middle} (${least} to ${most})`;
}

/** To three digits: more would be noise. */
function shown(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString("en");
}
