import { expect } from "chai";

import {
  beforeRefunds,
  isOutOfGas,
  offerFor,
} from "../../../src/simulation/engines/engine.js";
import type {
  FailedCall,
  SimulationParameters,
} from "../../../src/simulation/engines/engine.js";

describe("offerFor()", () => {
  const CAP = 16_777_216n;
  const price = {
    fees: { maxFeePerGas: 2n, maxPriorityFeePerGas: 0n },
    ...{ current: 1n, highest: 2n },
  };
  const free = { fees: { gasPrice: 0n }, current: 0n, highest: 0n };
  const fails = (changes: Partial<FailedCall> = {}): FailedCall => ({
    ...{ data: "0x12345678", message: undefined },
    ...{ gasUsed: 50n, gasGiven: 1_000n, ...changes },
  });
  const outOfGas = { data: "0x", message: "out of gas" };

  // The settlement uses 60 gas and needs 80: with a quarter more, 100.
  for (const [title, given, block, failed, at, balance, gas] of [
    ["pays 1 wei too little", undefined, 1_000n, undefined, price, 199n, null],
    ["pays the highest price", undefined, 1_000n, undefined, price, 200n, 100n],
    ["knows no price", undefined, 1_000n, undefined, undefined, 200n, null],
    ["pays nothing", undefined, 1_000n, undefined, free, 0n, 100n],
    ["pays the gas that is given", 60n, 1_000n, undefined, price, 120n, 60n],
    ["gives 1 gas too little", 59n, 1_000n, undefined, price, 200n, null],
    [
      "fails, with all that it pays for",
      undefined,
      1_000n,
      fails(),
      price,
      401n,
      200n,
    ],
    [
      "fails, with the gas of a block",
      undefined,
      1_000n,
      fails(),
      price,
      9_999n,
      1_000n,
    ],
    [
      "fails, with the cap of a transaction",
      undefined,
      9n * CAP,
      fails(),
      price,
      9n * CAP,
      CAP,
    ],
    [
      "fails for want of gas",
      undefined,
      1_000n,
      fails(outOfGas),
      price,
      400n,
      null,
    ],
  ] as const) {
    it(`${gas === null ? "is none" : `is ${gas} gas at the current price`} if the sender ${title}`, () => {
      const parameters = { gas: given, next: { gasLimit: block } };
      const offer = offerFor(
        // It reads these alone.
        parameters as SimulationParameters,
        { failed, gasUsed: 60n, gasNeeded: 80n },
        at,
        balance,
      );
      expect(offer).to.deep.equal(
        gas === null ? undefined : { gas, gasPrice: at.current },
      );
    });
  }
});

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
