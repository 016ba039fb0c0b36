import { expect } from "chai";

import { fateOf } from "../../src/protocol/round.js";
import {
  OPEN_ROUND,
  nextRound,
  settledRound,
} from "../helpers/scripted-contracts.js";

describe("fateOf() a round", () => {
  const open = OPEN_ROUND;
  const zeros = { ...open, startTime: 0n, strikePrice: 0n, endTime: 0n };
  for (const [later, is] of [
    [open, "open"],
    [{ ...open, endTime: open.endTime + 1n }, "open"],
    [settledRound(open), "settled"],
    [nextRound(open), "followed"],
    [{ ...open, strikePrice: open.strikePrice + 1n }, "replaced"],
    [zeros, "replaced"],
  ] as const) {
    it(`is "${is}" by one with start ${later.startTime}, end ${later.endTime}, strike ${later.strikePrice}, settled ${later.settled}`, () => {
      expect(fateOf(open, later)).to.equal(is);
    });
  }
});
