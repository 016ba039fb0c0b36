import { expect } from "chai";

import { measureLatency } from "../../bench/latency.js";

/** Long enough that answers of one wave do not come before its last request. */
const LATENCY_MS = 60;

describe("requests that wait for each other", () => {
  for (const [job, most] of [
    ["round", 1],
    // The settlement is tried at the block of the readings, which has to be known.
    ["status", 2],
    ["simulate", 3],
    ["simulate --fork", 12],
    ["orders", 8],
  ] as const) {
    it(`vault ${job} makes at most ${most} waves of requests`, async () => {
      const [cost] = await measureLatency(LATENCY_MS, (name) => name === job);
      expect(cost?.waves).to.be.within(1, most);
      expect(cost?.requests).to.be.at.most(40);
    });
  }
});
