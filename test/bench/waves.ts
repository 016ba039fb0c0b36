import { expect } from "chai";

import { measureLatency, mostWaves } from "../../bench/latency.js";
import { deployment, mocks } from "../../bench/worlds.js";

/** Longer than the work between two requests takes on a busy machine. */
const LATENCY_MS = 250;

for (const world of [mocks, deployment]) {
  describe(`requests that wait for each other, ${world.name}`, () => {
    const jobs = Object.entries(mostWaves);
    let costs: Awaited<ReturnType<typeof measureLatency>>;

    before(async () => {
      const isJob = (job: string): boolean =>
        jobs.some(([name]) => name === job);
      costs = await measureLatency(world, LATENCY_MS, isJob);
    });

    for (const [job, most] of jobs) {
      it(`vault ${job} makes at most ${most} waves of requests`, () => {
        const cost = costs.find((one) => one.job === job);
        expect(cost?.waves).to.be.within(1, most);
        expect(cost?.requests).to.be.at.most(40);
      });
    }
  });
}
