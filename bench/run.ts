/**
 * Measures and prints the table of bench/README.md. `--only WORD` runs the benchmarks
 * with that word in their name; `--rounds N` and `--orders N` set the extent.
 *
 * Exits with 1 if a goal is missed, or if a benchmark fails.
 */
import { fork } from "node:child_process";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
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

/**
 * Runs a benchmark in a process of its own, where nothing is left of the ones before it:
 * neither garbage nor code that V8 has made for another use.
 */
async function measureInChild(name: string): Promise<readonly Row[]> {
  const child = fork(
    path.join(import.meta.dirname, "benchmark-child.ts"),
    [name, values.rounds, values.orders],
    // JSON has no NaN.
    { serialization: "advanced" },
  );
  const rows: Row[] = [];
  child.on("message", (message) => {
    // what the child sends
    rows.push(message as Row);
  });
  const end = await new Promise<unknown>((resolve) => {
    child.on("close", (code, signal) => {
      resolve(code ?? signal);
    });
  });
  if (end !== 0) {
    failures += 1;
    note(`Failed: ${name} ended with ${String(end)}`);
  }
  return rows;
}

const names = Object.keys(benchmarks);
const chosen = names.filter((name) => name.includes(values.only));
if (chosen.length === 0) {
  note(`No benchmark is named ${values.only}. They are: ${names.join(", ")}.`);
  process.exit(1);
}

let failures = 0;
const begin = performance.now();
const rows: Row[] = [];
for (const name of chosen) {
  const start = performance.now();
  rows.push(...(await measureInChild(name)));
  const seconds = Math.round((performance.now() - start) / 1_000);
  note(`${name}: ${seconds} s`);
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
process.exitCode = missed.length + failures === 0 ? 0 : 1;
