import { spawnSync } from "node:child_process";
import path from "node:path";

import { expect } from "chai";

import { benchmarks } from "../../bench/benchmarks.js";
import { renderTable } from "../../bench/render.js";
import { sample } from "../helpers/sample.js";

/** As little as there can be: it shows that they run, not how fast. */
const extent = { rounds: 0, orders: 20 };

describe("bench", () => {
  for (const [name, { run, worlds }] of sample(Object.entries(benchmarks), 3)) {
    for (const world of worlds) {
      it(`npm run bench measures ${name} on ${world.name}, with a goal`, async () => {
        const figures = await run(extent, world);
        expect(figures.some(({ goal }) => goal !== undefined)).to.equal(true);
        for (const { values } of figures) {
          expect(values).to.not.be.empty;
          expect(values.every(Number.isFinite)).to.equal(true);
        }
        const table = await renderTable(
          figures.map((figure) => [world.name, figure]),
        );
        for (const { name: measured } of figures) {
          expect(table).to.include(`| ${measured} `);
        }
      });
    }
  }

  it("npm run bench prints a table, and exits with 1 if it names a figure that missed", () => {
    const command = path.join(import.meta.dirname, "../../bench/run.ts");
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      ["--import", "tsx", command, "--only", "snapshot", "--rounds", "0"],
      { encoding: "utf8" },
    );
    expect(stdout).to.match(/^\| measured +\| +mocks \|/u);
    expect(stdout).to.match(
      /\| the second snapshot\(\).* \| +1 \|.*\| met +\|/u,
    );
    expect(status).to.equal(stderr.includes("Missed: ") ? 1 : 0);
  });
});
