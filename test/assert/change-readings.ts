import { AssertionError } from "node:assert";
import { inspect } from "node:util";

import { expect } from "chai";

import { changesReadings } from "../../src/assert/index.js";
import "../../src/chai/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { PRICE, failureOf, useOpenRound } from "../helpers/open-round.js";

const lines = (message: string): readonly string[] =>
  message
    .split("\n")
    .slice(1)
    .map((line) => line.trim());

describe("changesReadings()", () => {
  const round = useOpenRound();

  for (const expected of [
    { round: { settled: true, settledAmount: { by: 77n } } },
    { round: { settled: { from: false, to: true } } },
    { round: { settledPrice: { from: 0, to: PRICE } } },
  ]) {
    it(`changesReadings() passes on a settlement with ${inspect(expected, { breakLength: Infinity })}`, async () => {
      await changesReadings(round().vault, round().settle(), expected);
    });
  }

  for (const [volume, expected] of [
    [95n, undefined],
    [95n, { volume: 95n }],
    [95n, { volume: { by: -5 } }],
    [95n, { volume: { to: 95n, from: 100 } }],
    [0n, { volume: 0 }],
  ] as const) {
    it(`changesReadings() passes on a volume that changes 100 → ${volume} with ${inspect(expected)}`, async () => {
      const { vault, setVolume } = round();
      await changesReadings(vault, setVolume(volume), expected);
    });
  }

  for (const [expected, wanted] of [
    [{ by: -4n }, "100 → 96"],
    [{ by: 5n }, "100 → 105"],
    [94n, "100 → 94"],
    [0n, "100 → 0"],
    [{ from: 99n, to: 95n }, "99 → 95"],
  ] as const) {
    it(`changesReadings() fails on a volume that changes 100 → 95 with ${inspect(expected)}`, async () => {
      const { vault, setVolume } = round();
      const sent = await setVolume(95n);
      const failure = await failureOf(
        changesReadings(vault, sent, { volume: expected }),
      );
      expect(failure.message).to.equal(
        `expected transaction ${sent.hash} to change readings otherwise:\n  volume: expected ${wanted}, but it changed 100 → 95`,
      );
      expect(failure)
        .to.be.instanceOf(AssertionError)
        .and.deep.include({
          operator: "changesReadings",
          expected: { volume: wanted },
          actual: { volume: "100 → 95" },
        });
    });
  }

  it("changesReadings() fails on a value that is as before, though it is the expected one", async () => {
    const { vault, setVolume } = round();
    for (const volume of [100n, { from: 100n, to: 100n }]) {
      const { message } = await failureOf(
        changesReadings(vault, setVolume(100n), { volume }),
      );
      expect(message).to.match(/, but it is 100 as before$/u);
    }
  });

  it("changesReadings() lists every reading that changed otherwise, and none that changed as expected", async () => {
    const { vault, setVolume } = round();
    const { message } = await failureOf(
      changesReadings(vault, setVolume(95n), {
        volume: 95n,
        fundingFeeRate: { put: { from: 3n, to: 4n } },
        pools: { public: { locked: { by: -1 } }, private: { locked: 50n } },
        round: { settled: false },
      }),
    );
    expect(lines(message)).to.deep.equal([
      "fundingFeeRate.put: expected 3 → 4, but it is 4 as before",
      "pools.public.locked: expected 0 → -1, but it is 0 as before",
      "pools.private.locked: expected 50 → 50, but it is 50 as before",
      "round.settled: expected false → false, but it is false as before",
    ]);
  });

  it("without readings, changesReadings() passes on any change, and .not.changeReadings() on none", async () => {
    const { vault, settle, setVolume } = round();
    const nothing = await setVolume(100n);
    await expect(nothing).to.not.changeReadings(vault);
    const unchanged = await failureOf(changesReadings(vault, nothing));
    expect(unchanged.message).to.match(
      /to change a reading of the vault, but all \d+ values are as before$/u,
    );
    const sent = await settle();
    await changesReadings(vault, sent);
    const { message } = await failureOf(
      expect(sent).to.not.changeReadings(vault),
    );
    expect(message).to.match(/to change no reading of the vault, but it did:/u);
    expect(lines(message)).to.deep.equal([
      `round.settledPrice: 0 → ${PRICE}`,
      "round.settledAmount: 0 → 77",
      "round.settled: false → true",
    ]);
  });

  it(".not.changeReadings() passes if none of the stated changes happened, and lists those that did", async () => {
    const { vault, setVolume } = round();
    const sent = await setVolume(95n);
    for (const [volume, minXMargin] of [
      [94n, 0n],
      [{ from: 1n, to: 95n }, { by: 5n }],
    ] as const) {
      await expect(sent).to.not.changeReadings(vault, { volume, minXMargin });
    }
    const { message } = await failureOf(
      expect(sent).to.not.changeReadings(vault, {
        ...{ volume: 95n, minXMargin: 1n },
      }),
    );
    expect(message).to.equal(
      `expected transaction ${sent.hash} not to change readings so, but it did:\n  volume: 100 → 95`,
    );
  });

  it("changesReadings() fails if the settlement had nothing to do, and .not.changeReadings() passes", async () => {
    const { vault, settle } = round();
    await settle();
    await expect(vault.settleAll()).to.not.changeReadings(vault);
    const { message } = await failureOf(
      changesReadings(vault, vault.settleAll()),
    );
    expect(message).to.match(
      /^expected a transaction that settles, but the settlement is nothing-to-do/u,
    );
  });

  it("changesReadings() throws the error of a reading that fails if it is expected, or any is", async () => {
    const { vault, mocks, setVolume } = round();
    await mocks.fail("getLPAmountInfo", "dry", { args: ["private"] });
    const sent = await setVolume(95n);
    await changesReadings(vault, sent, { volume: 95n });
    for (const expected of [
      { volume: 95n, pools: { private: { locked: 5n } } },
      undefined,
    ]) {
      const { details } = await expectVaultError(
        changesReadings(vault, sent, expected),
        "VAULT_CALL_REVERTED",
      );
      expect(details["reason"]).to.equal("dry");
    }
  });

  const noValue =
    "volume must be a value, { from, to }, or { by } with an integer that is not 0";
  const refusals: ReadonlyArray<readonly [expected: unknown, message: string]> =
    [
      [{ volum: 1n }, "there is no reading volum; there are fundingFeeRate.c"],
      [{ round: { settld: true } }, "there is no reading round.settld; "],
      [{}, "the expected readings must be an object that names"],
      [5, "the expected readings must be an object that names"],
      [{ volume: 1n, round: undefined }, "round must be an object that names"],
      [{ round: { settled: { by: 1n } } }, "round.settled must be a value, "],
      [{ volume: { by: 0 } }, noValue],
      [{ volume: { by: 2 ** 53 } }, noValue],
      [{ volume: { by: "-99" } }, noValue],
      [{ volume: { by: -99n, to: 1n } }, noValue],
      [{ volume: { to: 1n } }, noValue],
    ];
  for (const [expected, message] of refusals) {
    it(`changesReadings() refuses ${inspect(expected)}: ${message}`, async () => {
      const { vault, setVolume } = round();
      const failure = await failureOf(
        // @ts-expect-error -- the types refuse it, too
        changesReadings(vault, setVolume(1n), expected),
      );
      expect(failure.message.slice(0, message.length)).to.equal(message);
    });
  }

  const impossible: ReadonlyArray<
    readonly [expected: unknown, where: string, code?: "VAULT_INVALID_ARGUMENT"]
  > = [
    [{ volume: -1n }, "volume"],
    [{ volume: null }, "volume"],
    [{ volume: { from: 100n, to: -1n } }, "volume"],
    [{ volume: { from: -1n, to: 1n } }, "volume"],
    [{ round: { settled: 1n } }, "round.settled", "VAULT_INVALID_ARGUMENT"],
  ];
  for (const [expected, where, code = "VAULT_INVALID_INTEGER"] of impossible) {
    it(`changesReadings() throws ${code} for ${inspect(expected)}`, async () => {
      const { vault, setVolume } = round();
      const { details } = await expectVaultError(
        // @ts-expect-error -- the types refuse it, too
        changesReadings(vault, setVolume(1n), expected),
        code,
      );
      expect(details["where"]).to.equal(where);
    });
  }
});
