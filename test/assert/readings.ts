import { inspect } from "node:util";
import { expect } from "chai";
import { AssertionError } from "node:assert";

import {
  roundSettled,
  settlesRound,
  changesReadings,
} from "../../src/assert/index.js";
import "../../src/chai/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import {
  AMOUNT,
  PRICE,
  failureOf,
  useOpenRound,
} from "../helpers/open-round.js";
import type { OpenRound } from "../helpers/open-round.js";

describe("settlesRound() and roundSettled()", () => {
  const round = useOpenRound();

  for (const [what, send] of [
    ["a promise of a transaction", ({ settle }: OpenRound) => settle()],
    ["a hash", async ({ settle }: OpenRound) => (await settle()).hash],
    [
      "a receipt",
      async ({ settle }: OpenRound) => await (await settle()).wait(),
    ],
    ["the promise of settleAll()", ({ vault }: OpenRound) => vault.settleAll()],
  ] as const) {
    it(`settlesRound() and roundSettled() pass for ${what} of a settlement`, async () => {
      const { vault } = round();
      await settlesRound(vault, send(round()), { price: PRICE });
      await roundSettled(vault, { price: PRICE, amount: 77 });
    });
  }

  const verdicts: ReadonlyArray<
    readonly [
      what: string,
      act: (round: OpenRound) => Promise<unknown>,
      asserted: RegExp | "passes",
      negated: RegExp | "passes",
    ]
  > = [
    [
      "settles the round",
      async ({ settle }) => await settle(),
      "passes",
      /^expected transaction 0x.* not to settle the vault's round, but it did \(the/u,
    ],
    [
      "changes something else",
      async ({ setVolume }) => await setVolume(1n),
      /^expected transaction 0x.* to settle the vault's round, but it is still not settled \(the/u,
      "passes",
    ],
    [
      "comes after the settlement",
      async ({ settle, setVolume }) => {
        await settle();
        return await setVolume(1n);
      },
      /but it was settled before \(the round from 2023-11-14T22:13:20Z to 2027-01-15T08:00:00Z with strike price 1,900, settledPrice 20{21}, settledAmount 77\)$/u,
      "passes",
    ],
    [
      "opens another round before the settlement",
      async ({ startNextRound }) => await startNextRound(),
      /another round took its place\n {2}before: the round from 2023-11-14.*\n +after: the round from 2027-01-15/u,
      /another round took its place/u,
    ],
    [
      "opens the next round after the settlement",
      async ({ settle, startNextRound }) => {
        await settle();
        return await startNextRound();
      },
      /but it was settled before/u,
      "passes",
    ],
    [
      "is none, since there was nothing to do",
      async ({ settle, vault }) => {
        await settle();
        return await vault.settleAll();
      },
      /^expected a transaction that settles, but the settlement is nothing-to-do/u,
      "passes",
    ],
  ];
  for (const [what, act, asserted, negated] of verdicts) {
    it(`.settleRound() and .not.settleRound() of a transaction that ${what}`, async () => {
      const sent = await act(round());
      for (const [check, wanted] of [
        [() => expect(sent).to.settleRound(round().vault), asserted],
        [() => expect(sent).to.not.settleRound(round().vault), negated],
      ] as const) {
        if (wanted === "passes") {
          await check();
        } else {
          expect((await failureOf(check())).message).to.match(wanted);
        }
      }
    });
  }

  it("roundSettled() fails for an open round, and .not.roundSettled() for a settled one", async () => {
    const { vault, settle } = round();
    await expect(vault).to.not.have.roundSettled();
    const open = await failureOf(roundSettled(vault, { amount: 77n }));
    expect(open.message).to.match(
      /latest round to be settled, but it is not \(the round from .* with strike price 1,900/u,
    );
    const found = await vault.getLatestRoundInfo();
    expect(open).to.deep.include({
      ...{ operator: "roundSettled", actual: found },
      expected: { ...found, settled: true },
    });
    await settle();
    const { message } = await failureOf(
      expect(vault).to.not.have.roundSettled(),
    );
    expect(message).to.match(
      /latest round not to be settled, but it is \(the/u,
    );
  });

  for (const [expected, says, wanted, found] of [
    [{ amount: 78, price: 1n }, "settledAmount 78, but it is 77", 78n, AMOUNT],
    [
      { price: PRICE + 1n },
      `settledPrice ${PRICE + 1n}, but it is ${PRICE}`,
      ...([PRICE + 1n, PRICE] as const),
    ],
  ] as const) {
    it(`settlesRound() and roundSettled() fail with expected ${wanted} and actual ${found} for ${inspect(expected)}`, async () => {
      const { vault, settle } = round();
      const sent = await settle();
      for (const [operator, check] of [
        ["settlesRound", async () => await settlesRound(vault, sent, expected)],
        ["roundSettled", async () => await roundSettled(vault, expected)],
      ] as const) {
        expect(await failureOf(check())).to.deep.include({
          ...{ operator, expected: wanted, actual: found },
          message: `expected the round to be settled with ${says}`,
        });
      }
    });
  }

  for (const [expected, where] of [
    [{ price: undefined }, "settledPrice"],
    [{ amount: 1.5 }, "settledAmount"],
  ] as const) {
    it(`settlesRound() and roundSettled() throw VAULT_INVALID_INTEGER for ${inspect(expected)}, also of a round that is open`, async () => {
      const { vault, setVolume } = round();
      for (const check of [
        // @ts-expect-error -- one is undefined
        async () => await settlesRound(vault, setVolume(1n), expected),
        // @ts-expect-error -- one is undefined
        async () => await roundSettled(vault, expected),
      ]) {
        const { details } = await expectVaultError(
          check,
          "VAULT_INVALID_INTEGER",
        );
        expect(details["where"]).to.equal(where);
      }
    });
  }

  it("settlesRound() compares the round before the transaction with whether it was to be settled", async () => {
    const { vault, settle, setVolume } = round();
    const before = await vault.getLatestRoundInfo();
    const open = await failureOf(
      settlesRound(vault, setVolume(1n), { price: 0n }),
    );
    expect(open).to.deep.include({
      ...{ operator: "settlesRound", actual: { before, settled: false } },
      expected: { before, settled: true },
    });
    await settle();
    const settled = await vault.getLatestRoundInfo();
    const late = await failureOf(settlesRound(vault, setVolume(2n)));
    expect(late).to.deep.include({
      actual: { before: settled, settled: true },
      expected: { before: { ...settled, settled: false }, settled: true },
    });
  });

  it("settlesRound() and roundSettled() throw VAULT_CALL_REVERTED if the round cannot be read", async () => {
    const { withoutRound, settle } = round();
    for (const check of [
      async () => await settlesRound(withoutRound, settle()),
      async () => await roundSettled(withoutRound),
    ]) {
      const { details } = await expectVaultError(check, "VAULT_CALL_REVERTED");
      expect(details["operation"]).to.equal("getLatestRoundInfo");
    }
  });
});

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
