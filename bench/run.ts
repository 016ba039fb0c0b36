/**
 * Measures and prints the table of bench/README.md. `--only WORD` runs the benchmarks
 * with that word in their name; `--rounds N` and `--orders N` set the extent.
 *
 * Exits with 1 if a goal is missed, or if a benchmark fails.
 */
import { createRequire } from "node:module";
import os from "node:os";
import { parseArgs } from "node:util";

import { benchmarks } from "./benchmarks.js";
import { isMet } from "./measure.js";
import { renderTable } from "./render.js";
import type { Row } from "./render.js";

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    rounds: { type: "string", default: "5" },
    orders: { type: "string", default: "10000" },
  },
});
const extent = {
  rounds: Number(values.rounds),
  orders: Number(values.orders),
};

/** The packages that a figure depends on. */
const packages = [
  "hardhat",
  "@nomicfoundation/hardhat-ethers",
  "ethers",
  "viem",
  "@foundry-rs/anvil",
];

function versionOf(name: string): string {
  const content: unknown = createRequire(import.meta.url)(
    `../node_modules/${name}/package.json`,
  );
  return `${name} ${Reflect.get(Object(content), "version")}`;
}

function note(line: string): void {
  process.stderr.write(`${line}\n`);
}

function describeFailure(thrown: unknown): string {
  const text = thrown instanceof Error ? (thrown.stack ?? "") : String(thrown);
  // viem's errors repeat the whole request.
  return text.slice(0, 2_000);
}

let failures = 0;
// Of what a contestant has left behind: the others are still measured.
process.on("uncaughtException", (error) => {
  failures += 1;
  note(describeFailure(error));
});

const begin = performance.now();
const rows: Row[] = [];
for (const [name, { run, worlds }] of Object.entries(benchmarks)) {
  for (const world of name.includes(values.only) ? worlds : []) {
    const start = performance.now();
    try {
      const figures = await run(extent, world);
      rows.push(...figures.map((figure): Row => [world.name, figure]));
    } catch (error) {
      failures += 1;
      note(describeFailure(error));
    }
    const seconds = Math.round((performance.now() - start) / 1_000);
    note(`${name}, ${world.name}: ${seconds} s`);
  }
}
const minutes = Math.round((performance.now() - begin) / 60_000);
const machine = `${os.cpus().length} × ${os.cpus()[0]?.model.trim() ?? "unknown"}`;
process.stdout.write(`${await renderTable(rows)}
Taken on ${new Date().toISOString().slice(0, 10)} in ${minutes} minutes: Node ${process.versions.node}, ${packages.map(versionOf).join(", ")}; ${machine}.
`);
const missed = rows.filter(([, figure]) => !isMet(figure));
for (const [world, { name }] of missed) {
  note(`Missed: ${name}, ${world}`);
}
// Connections of contestants may still be open.
process.exit(missed.length + failures === 0 ? 0 : 1);
