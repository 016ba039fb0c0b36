import { inspect } from "node:util";

import { expect } from "chai";

import { roundSettled, settlesRound } from "../../src/assert/index.js";
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
