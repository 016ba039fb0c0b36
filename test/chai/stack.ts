import { expect } from "chai";

import "../../src/chai/index.js";
import { createMatcherWorld } from "../helpers/matcher-world.js";
import type { MatcherWorld } from "../helpers/matcher-world.js";

/** A frame in this file, with its line. */
const here = /test\/chai\/stack\.ts:\d+:\d+/u;

describe("chai - stack of a failure", () => {
  let world: MatcherWorld;
  before(async () => {
    world = await createMatcherWorld();
    await world.mockVault.settleAll();
  });
  after(async () => {
    await world.connection.close();
  });

  const failures: ReadonlyArray<[string, () => PromiseLike<unknown>]> = [
    ["settledRound", () => expect(world.vault).to.not.have.settledRound()],
    [
      "withPrice",
      () => expect(world.vault).to.have.settledRound().withPrice(1n),
    ],
    [
      "settleRound",
      () => expect(world.mockVault.setVolume(1n)).to.settleRound(world.vault),
    ],
    [
      "changeReadings",
      () =>
        expect(world.mockVault.setVolume(2n)).to.changeReadings(world.vault, {
          volume: 3n,
        }),
    ],
  ];
  for (const [what, assertion] of failures) {
    it(`should begin where the test has ${what}`, async () => {
      const error: unknown = await assertion().then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expectStackOfThisFile(error);
    });
  }
});

/** The first frame is the test's own: runners show that line. */
function expectStackOfThisFile(error: unknown): void {
  if (!(error instanceof Error) || error.name !== "AssertionError") {
    throw new Error("the assertion passed, but it must fail");
  }
  const { stack = "", message } = error;
  const title = `AssertionError: ${message}\n`;
  expect(stack.slice(0, title.length)).to.equal(title);
  expect(stack.slice(title.length).split("\n")[0]).to.match(here);
}
