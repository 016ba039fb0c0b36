import { expect } from "chai";

import {
  beforeRefunds,
  isOutOfGas,
} from "../../../src/simulation/engines/engine.js";

describe("beforeRefunds()", () => {
  for (const [used, most] of [
    [80n, 100n],
    [81n, 102n],
  ] as const) {
    it(`is at most ${most} for ${used} gas`, () => {
      expect(beforeRefunds(used)).to.equal(most);
    });
  }
});

describe("isOutOfGas()", () => {
  for (const [data, message, gasUsed, is] of [
    ["0x", "OutOfGas", 1n, true],
    ["0x", "execution reverted", 100n, false],
    ["0x", undefined, 95n, true],
    ["0x", undefined, 94n, false],
    ["0x00", undefined, 100n, false],
  ] as const) {
    it(`is ${is} for ${data}, "${String(message)}" and ${gasUsed} of 100 gas`, () => {
      const failed = { data, message, gasUsed, gasGiven: 100n };
      expect(isOutOfGas(failed)).to.equal(is);
    });
  }
});
