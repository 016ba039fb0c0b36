import { mock } from "node:test";
import { setImmediate } from "node:timers/promises";

import { expect } from "chai";

import { Deadline } from "../../src/rpc/deadline.js";

describe("a deadline", () => {
  afterEach(() => {
    mock.timers.reset();
  });

  for (const [name, pause] of [
    ["nothing", async () => await new Deadline(1_000).pause(0)],
    ["what is over", async () => await new Deadline(0).pause(1_000)],
  ] as const) {
    it(`should wait for ${name} without a timer, which may be a fake one`, async () => {
      mock.timers.enable({ apis: ["setTimeout"] });
      let isOver = false;
      void pause().then(() => {
        isOver = true;
      });
      await setImmediate();
      expect(isOver).to.equal(true);
    });
  }
});
