/**
 * Measures and prints tables. `--only WORD` runs the benchmarks with that word
 * in their name, `--times N` takes each N times and prints the medians.
 * `--rounds N` and `--orders N` set the extent, `--json FILE` the file that
 * gets the figures.
 *
 * Exits with 1 if a target is missed.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";

import { benchmarks } from "./benchmarks.js";
import { mergeSections } from "./measure.js";
import type { Section } from "./measure.js";
import { renderSection } from "./render.js";

const { values } = parseArgs({
  options: {
    json: { type: "string", default: "cache/bench.json" },
    only: { type: "string", default: "" },
    times: { type: "string", default: "1" },
    rounds: { type: "string", default: "5" },
    orders: { type: "string", default: "10000" },
  },
});
const extent = {
  rounds: Number(values.rounds),
  orders: Number(values.orders),
};

process.on("uncaughtException", (error) => {
  // viem's errors repeat the whole request.
  process.stderr.write(`${(error.stack ?? error.message).slice(0, 2_000)}\n`);
  process.exit(1);
});

/** The packages that a figure depends on. */
const packages = [
  "hardhat",
  "@nomicfoundation/hardhat-ethers",
  "@nomicfoundation/edr",
  "ethers",
  "viem",
  "@foundry-rs/anvil",
];

function versionOf(name: string): unknown {
  const content: unknown = createRequire(import.meta.url)(
    `../node_modules/${name}/package.json`,
  );
  return Reflect.get(Object(content), "version");
}

const chosen = Object.entries(benchmarks).filter(([name]) =>
  name.includes(values.only),
);
const sections: Section[] = [];
for (const [, bench] of chosen) {
  const taken: Section[] = [];
  for (let time = 0; time < Number(values.times); ++time) {
    taken.push(await bench(extent));
  }
  const section = mergeSections(taken);
  sections.push(section);
  process.stdout.write(`${await renderSection(section)}\n`);
}
await mkdir(path.dirname(values.json), { recursive: true });
await writeFile(
  values.json,
  `${JSON.stringify(
    {
      date: new Date().toISOString(),
      machine: {
        cpu: os.cpus()[0]?.model ?? "unknown",
        cores: os.cpus().length,
        memoryGiB: Math.round(os.totalmem() / 2 ** 30),
        load: os.loadavg()[0],
      },
      node: process.versions.node,
      versions: Object.fromEntries(
        packages.map((name) => [name, versionOf(name)]),
      ),
      ...extent,
      times: Number(values.times),
      sections,
    },
    undefined,
    2,
  )}\n`,
);
const missed = sections.flatMap(({ targets }) =>
  targets.filter(({ met }) => !met),
);
process.stdout.write(
  missed.length === 0
    ? "Every target is met.\n"
    : `Missed: ${missed.map(({ name }) => name).join("; ")}.\n`,
);
// Connections of contestants may still be open.
process.exit(missed.length === 0 ? 0 : 1);
