/**
 * Measures what the design asks for and prints tables; `--json FILE` also
 * writes them as JSON. `--only WORD` runs the benchmarks with that word in
 * their name; `--rounds N`, `--sizes N,N`, `--streamed N`, `--past-rounds N` and
 * `--starts N` say how much is measured.
 *
 * Exits with 1 if a target is missed.
 */
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";

import { renderSection } from "./render.js";
import { benchmarks } from "./benchmarks.js";
import type { Section } from "./measure.js";

const { values } = parseArgs({
  options: {
    json: { type: "string", default: "cache/bench.json" },
    only: { type: "string", default: "" },
    rounds: { type: "string", default: "5" },
    sizes: { type: "string", default: "1000,10000,50000" },
    streamed: { type: "string", default: "200000" },
    "past-rounds": { type: "string", default: "1000" },
    starts: { type: "string", default: "40" },
  },
});
const extent = {
  rounds: Number(values.rounds),
  sizes: values.sizes.split(",").map(Number),
  streamed: Number(values.streamed),
  pastRounds: Number(values["past-rounds"]),
  starts: Number(values.starts),
};

process.on("uncaughtException", (error) => {
  // viem's errors repeat the whole request.
  process.stderr.write(`${(error.stack ?? error.message).slice(0, 2_000)}\n`);
  process.exit(1);
});

/** The packages that a figure depends on. */
const contestants = [
  "hardhat",
  "@nomicfoundation/hardhat-ethers",
  "@nomicfoundation/edr",
  "ethers",
  "viem",
  "@foundry-rs/anvil",
];

function versionOf(name: string): unknown {
  const file = path.join(
    path.dirname(import.meta.dirname),
    "node_modules",
    name,
    "package.json",
  );
  const content: unknown = JSON.parse(readFileSync(file, "utf8"));
  return Reflect.get(Object(content), "version");
}

const sections: Section[] = [];
for (const [name, bench] of Object.entries(benchmarks)) {
  if (name.includes(values.only)) {
    const found = [await bench(extent)].flat();
    sections.push(...found);
    for (const section of found) {
      process.stdout.write(`${renderSection(section)}\n\n`);
    }
  }
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
        contestants.map((name) => [name, versionOf(name)]),
      ),
      ...extent,
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
