import { expect } from "chai";
import fc from "fast-check";

import type { ScriptedReason } from "../../src/types.js";
import { describeEngines, expectReality } from "../helpers/engine-stage.js";
import { anyString } from "../helpers/hostile-text.js";
import { isFull, seed } from "../helpers/sample.js";

/** How many random vaults each engine predicts, a hundred times as many with `FULL=1`. */
const scenariosOf = {
  simulateV1: 12,
  fork: 6,
  "in-process": 6,
} as const;

/** In turn: a round that is already settled, and a vault that refuses. */
const turns = [
  "settled",
  "refused",
  "open",
  "refused",
  "open",
  "open",
] as const;

const uint256 = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  fc.bigInt({ min: 0n, max: 10n ** 24n }),
  fc.constantFrom(0n, 1n, 2n ** 256n - 1n),
);
/** A round may end long ago, about now, in ages, or never. */
const roundTime = fc.oneof(
  fc.bigInt({ min: 1_700_000_000n, max: 2_100_000_000n }),
  uint256,
);
const bytes = fc
  .uint8Array({ maxLength: 100 })
  .map((data) => `0x${Buffer.from(data).toString("hex")}`);
const margins = { baseMarginAmount: uint256, xMarginAmount: uint256 };
const pool = { deposit: uint256, availabe: uint256, locked: uint256 };

/** Reasons of a scripted settlement that reverts. */
const reasons: fc.Arbitrary<ScriptedReason> = fc.oneof(
  anyString,
  // A larger code aborts the whole process: EDR's own defect.
  fc.record({ panic: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }) }),
  fc.record({ panic: fc.constantFrom(0x01n, 0x11n, 0x12n, 0x32n) }),
  fc.record({
    customError: fc.constant("RoundAlreadySettled"),
    args: fc.tuple(uint256, uint256, uint256),
  }),
  fc.record({ data: bytes }),
);

const scenario = fc.record({
  changes: fc.record({
    round: fc.record({
      ...{ strikePrice: uint256, APY: uint256, maxVolume: uint256 },
      ...{ filledVolume: uint256, minDeposit: uint256 },
      ...{ startTime: roundTime, endTime: roundTime },
      ...{ settledPrice: uint256, settledAmount: uint256 },
    }),
    settlement: fc.record({ settledPrice: uint256, settledAmount: uint256 }),
    pools: fc.record({ public: fc.record(pool) }),
    fundingFeeRate: fc.record({ call: uint256 }),
    volume: uint256,
    marginBalance: fc.record(margins),
    minXMargin: uint256,
  }),
  reason: reasons,
  sender: fc.nat({ max: 9 }),
  delay: fc.option(fc.integer({ min: 1, max: 10_000_000 })),
});

describe("every engine predicts random vaults", () => {
  describeEngines((engine, stage) => {
    const scenarios = scenariosOf[engine] * (isFull ? 100 : 1);
    it(`${engine} predicts ${scenarios} random vaults`, async () => {
      const mocks = await stage.vault.deployMocks();
      const { vault } = mocks;
      let number = 0;
      const counts = {
        ...{ settled: 0, "not-settled": 0, reverted: 0, "nothing-to-do": 0 },
      };
      await fc.assert(
        fc.asyncProperty(scenario, async (drawn) => {
          const turn = turns[number++ % turns.length] ?? "open";
          const { delay, changes, reason } = drawn;
          const settled = turn === "settled";
          const round = { ...changes.round, settled };
          await mocks.set({
            ...changes,
            round: settled
              ? round
              : { ...round, settledPrice: 0n, settledAmount: 0n },
          });
          await (turn === "refused"
            ? mocks.fail("settleAll", reason)
            : mocks.succeed("settleAll"));
          const from = await stage.accountOf(drawn.sender);
          const { timestamp } = await vault.block();
          const predicted = await stage.simulate(vault, {
            from,
            orders: [1],
            ...(delay === null ? {} : { atTime: `+${delay}s` }),
          });
          counts[predicted.status] += 1;
          if (turn === "settled") {
            expect(predicted.status).to.equal("nothing-to-do");
            return;
          }
          const time = delay === null ? undefined : timestamp + delay;
          const real = await stage.settleReally(vault, { from, time });
          expect(predicted.status).to.equal(
            real.succeeded ? "settled" : "reverted",
          );
          expect(predicted.reason).to.equal(real.reason);
          expectReality(predicted, real);
          expect(predicted.gasUsed).to.equal(real.gasUsed);
          expect(predicted.block?.number).to.equal(real.block.number);
          if (delay !== null) {
            expect(predicted.block).to.deep.equal(real.block);
          }
        }),
        {
          seed,
          numRuns: scenarios,
          endOnFailure: true,
          includeErrorInReport: true,
        },
      );
      for (const status of ["settled", "reverted", "nothing-to-do"] as const) {
        expect(counts[status], status).to.be.greaterThan(scenarios / 20);
      }
    });
  });
});
