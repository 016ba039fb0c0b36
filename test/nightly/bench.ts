import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";

import { expect } from "chai";

import { benchmarks } from "../../bench/benchmarks.js";
import { renderSection } from "../../bench/render.js";
import { sample } from "../helpers/sample.js";

/** As little as there can be: it shows that they run, not how fast. */
const extent = { rounds: 0, orders: 20 };

/** Runs the command; the targets may be missed. */
function runBench(args: readonly string[]): string {
  const command = path.join(import.meta.dirname, "../../bench/run.ts");
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ["--import", "tsx", command, ...args],
    { encoding: "utf8" },
  );
  expect(status === 0 || stdout.includes("Missed"), stderr).to.equal(true);
  return stdout;
}

describe("bench", () => {
  const all = Object.entries(benchmarks);
  const isStart = ([name]: (typeof all)[number]): boolean =>
    name.startsWith("plugin-cost-");
  // Those of the start are alike, and start a dozen processes each.
  for (const [name, bench] of [
    ...sample(
      all.filter((one) => !isStart(one)),
      2,
    ),
    ...sample(all.filter(isStart), 1),
  ]) {
    it(`npm run bench measures ${name}, with a target for each demand`, async () => {
      const section = await bench(extent);
      expect(section.rows).to.not.be.empty;
      expect(section.targets).to.not.be.empty;
      for (const { measured } of section.targets) {
        expect(measured).to.satisfy(Number.isFinite);
      }
      expect(await renderSection(section)).to.include(section.title);
      expect(JSON.parse(JSON.stringify(section))).to.deep.equal(section);
    });
  }

  it("npm run bench prints tables, and writes them as JSON", async () => {
    const folder = await mkdtemp(path.join(os.tmpdir(), "vault-bench-"));
    try {
      const file = path.join(folder, "new", "bench.json");
      const stdout = runBench([
        ...["--only", "snapshot", "--rounds", "0", "--times", "2"],
        ...["--json", file],
      ]);
      const report: unknown = JSON.parse(await readFile(file, "utf8"));
      expect(report).to.include.keys("date", "machine", "node", "versions");
      expect(report).to.include({ rounds: 0, times: 2 });
      expect(report)
        .to.have.nested.property("versions.hardhat")
        .that.matches(/^3\.\d+\.\d+$/u);
      expect(report)
        .to.have.property("sections")
        .that.is.an("array")
        .with.length(1);
      expect(stdout).to.include("A snapshot");
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
