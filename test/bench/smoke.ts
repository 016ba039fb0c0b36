import { expect } from "chai";

import { benchmarks } from "../../bench/benchmarks.js";
import { renderSection } from "../../bench/render.js";

/** As little as there can be: it shows that they run, not how fast. */
const extent = { rounds: 1, sizes: [20], streamed: 300, starts: 1 };

describe("bench", () => {
  for (const [name, bench] of Object.entries(benchmarks)) {
    it(`should measure ${name}, with a target for each demand`, async function () {
      this.timeout(180_000);
      for (const section of [await bench(extent)].flat()) {
        expect(section.rows).to.not.be.empty;
        expect(section.targets).to.not.be.empty;
        for (const { measured } of section.targets) {
          expect(measured).to.satisfy(Number.isFinite);
        }
        expect(renderSection(section)).to.include(section.title);
        expect(JSON.parse(JSON.stringify(section))).to.deep.equal(section);
      }
    });
  }
});
