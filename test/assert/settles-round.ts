import { AssertionError } from "node:assert";
import { inspect } from "node:util";

import { expect } from "chai";

import { toJsonValue } from "../../src/json.js";

import { roundSettled, settlesRound } from "../../src/assert/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import {
  AMOUNT,
  PRICE,
  failureOf,
  useOpenRound,
  whileTimePasses,
} from "../helpers/open-round.js";
import type { OpenRound } from "../helpers/open-round.js";

/** What `expected` and `actual` of a failure are. */
async function comparedBy(
  assertion: Promise<unknown>,
): Promise<readonly unknown[]> {
  const failure = await failureOf(assertion);
  return failure instanceof AssertionError
    ? [failure.operator, failure.expected, failure.actual]
    : [failure.message];
}

describe("settlesRound() and roundSettled()", () => {
  const round = useOpenRound();

  const subjects: ReadonlyArray<
    readonly [what: string, send: (round: OpenRound) => unknown]
  > = [
    ["a promise of a transaction", ({ settle }) => settle()],
    ["a transaction", async ({ settle }) => await settle()],
    ["its hash", async ({ settle }) => (await settle()).hash],
    ["its receipt", async ({ settle }) => await (await settle()).wait()],
    ["the promise of settleAll()", ({ vault }) => vault.settleAll()],
  ];
  for (const [what, send] of subjects) {
    it(`settlesRound() passes on ${what}`, async () => {
      const { vault } = round();
      await settlesRound(vault, send(round()));
      await roundSettled(vault);
    });
  }

  it("settlesRound() and roundSettled() pass with the price and the amount, as bigint or number", async () => {
    const { vault, settle } = round();
    const sent = await settle();
    await settlesRound(vault, sent, { price: PRICE, amount: AMOUNT });
    await settlesRound(vault, sent, { amount: 77 });
    await roundSettled(vault, { price: PRICE, amount: 77 });
  });

  for (const [expected, wanted, found] of [
    [{ amount: 76n }, 76n, AMOUNT],
    [{ amount: 78, price: 1n }, 78n, AMOUNT],
    [{ amount: 0 }, 0n, AMOUNT],
    [{ price: PRICE + 1n }, PRICE + 1n, PRICE],
    [{ price: 0n, amount: 5 }, 0n, PRICE],
  ] as const) {
    it(`settlesRound() and roundSettled() fail with expected ${wanted} and actual ${found} for ${inspect(expected)}`, async () => {
      const { vault, settle } = round();
      const sent = await settle();
      expect(
        await comparedBy(settlesRound(vault, sent, expected)),
      ).to.deep.equal(["settlesRound", String(wanted), String(found)]);
      expect(await comparedBy(roundSettled(vault, expected))).to.deep.equal([
        ...["roundSettled", String(wanted), String(found)],
      ]);
    });
  }

  for (const [expected, where] of [
    [{ price: -1n }, "settledPrice"],
    [{ amount: 1.5 }, "settledAmount"],
  ] as const) {
    it(`settlesRound() and roundSettled() throw VAULT_INVALID_INTEGER for ${inspect(expected)}, also of a round that is open`, async () => {
      const { vault, setVolume } = round();
      for (const check of [
        async () => await settlesRound(vault, setVolume(1n), expected),
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

  it("settlesRound() compares the round before the transaction with the round after it, if it is still open", async () => {
    const { vault, setVolume } = round();
    const before = await vault.getLatestRoundInfo();
    expect(
      await comparedBy(settlesRound(vault, setVolume(1n), { price: 0n })),
    ).to.deep.equal([
      "settlesRound",
      toJsonValue({ before, settled: true }),
      toJsonValue({ before, settled: false }),
    ]);
  });

  it("settlesRound() compares the round before the transaction with an open one, if it was settled before", async () => {
    const { vault, settle, setVolume } = round();
    await settle();
    const before = await vault.getLatestRoundInfo();
    const { message } = await failureOf(settlesRound(vault, setVolume(1n)));
    expect(message).to.contain(
      `it was settled before (the round from 2023-11-14T22:13:20Z to 2027-01-15T08:00:00Z with strike price 1,900, settledPrice ${PRICE}, settledAmount 77)`,
    );
    expect(await comparedBy(settlesRound(vault, setVolume(2n)))).to.deep.equal([
      "settlesRound",
      toJsonValue({ before: { ...before, settled: false }, settled: true }),
      toJsonValue({ before, settled: true }),
    ]);
  });

  it("roundSettled() compares an open round with the same round settled", async () => {
    const { vault } = round();
    const open = await vault.getLatestRoundInfo();
    expect(
      await comparedBy(roundSettled(vault, { amount: 77n })),
    ).to.deep.equal([
      "roundSettled",
      ...[toJsonValue({ ...open, settled: true }), toJsonValue(open)],
    ]);
  });

  it("settlesRound() describes the rounds before and after a transaction that opened another one, settled or not", async () => {
    const { vault, mocks, connection, startNextRound } = round();
    const [signer] = await connection.ethers.getSigners();
    const { message } = await failureOf(settlesRound(vault, startNextRound()));
    expect(message).to.match(
      /another round took its place\n {2}before: the round from 2023-11-14.*1,900\n +after: the round from 2027-01-15/u,
    );
    const settled = mocks.contracts.vaultFactory.connect(signer).setRound({
      ...(await vault.getLatestRoundInfo()),
      ...{ startTime: 5n, settledPrice: 1n, settledAmount: 2n, settled: true },
    });
    expect((await failureOf(settlesRound(vault, settled))).message).to.match(
      /another round took its place\n.*\n +after: .* settledPrice 1, settledAmount 2$/u,
    );
  });

  it("settlesRound() names a round that was settled before, also if the transaction opened another one", async () => {
    const { vault, settle, startNextRound } = round();
    await settle();
    const { message } = await failureOf(settlesRound(vault, startNextRound()));
    expect(message).to.contain("but it was settled before");
  });

  it("settlesRound() looks at the block of the transaction, not at what came later", async () => {
    const { vault, settle, setVolume, startNextRound } = round();
    const sent = await settle();
    await startNextRound();
    await setVolume(9n);
    await settlesRound(vault, sent, { amount: AMOUNT });
  });

  it("settlesRound() fails if the mocks were changed in the transaction's block, and passes if a block was mined between", async () => {
    const { vault, mocks, settle, request } = round();
    const sent = await settle();
    await request("evm_mine");
    await mocks.startNextRound();
    await settlesRound(vault, sent, { amount: AMOUNT });
    const again = await settle();
    await mocks.startNextRound();
    const { message } = await failureOf(settlesRound(vault, again));
    expect(message).to.match(
      /^the mocks were changed after transaction 0x[0-9a-f]{64}, in its block \d+, so its own changes cannot be separated: /u,
    );
  });

  it("settlesRound() passes on a settlement whose transaction was mined after settleAll() gave up", async () => {
    const { vault, request } = round();
    await request("evm_setAutomine", false);
    const sent = await vault.settleAll({ timeout: 1_000, pollingInterval: 50 });
    expect(sent.status).to.equal("unconfirmed");
    await request("evm_mine");
    await settlesRound(vault, sent);
  });

  it("settlesRound() waits for a transaction that is mined later", async () => {
    const { vault, settle, request } = round();
    await request("evm_setAutomine", false);
    const { hash } = await settle();
    const { provider } = vault.connection;
    const send = provider.request.bind(provider);
    // It is asked for when a node may have forgotten the transaction.
    provider.request = async (call) => {
      const answer: unknown = await send(call);
      if (call.method === "eth_getTransactionByHash") {
        await send({ method: "evm_mine" });
      }
      return answer;
    };
    await whileTimePasses(1_100, async () => {
      await settlesRound(vault, hash, { amount: AMOUNT });
    });
    provider.request = send;
  });

  for (const [sent, problem] of [
    [undefined, "got undefined"],
    [null, "got null"],
    ["0x12", "got '0x12'"],
    [{ hash: 5 }, "got { hash: 5 }"],
    [
      { status: "settled", hash: null },
      "got { status: 'settled', hash: null }",
    ],
    [{ status: "reverted" }, "it was reverted"],
    [{ status: "refused", reason: 5 }, "it was refused"],
    [
      { status: "refused", reason: "not\u001b[2J today" },
      "it was refused: not\\u{1b}[2J today",
    ],
    [
      {
        status: "nothing-to-do",
        hash: "0x12",
        hashes: ["0x12"],
        reason: "late\u001b[2J",
      },
      "transaction 0x12 settled nothing: late\\u{1b}[2J",
    ],
  ] as const) {
    it(`settlesRound() refuses ${inspect(sent, { breakLength: Infinity })}: ${problem}`, async () => {
      const { message } = await failureOf(settlesRound(round().vault, sent));
      expect(message.endsWith(problem), message).to.equal(true);
    });
  }

  it("settlesRound() and roundSettled() throw VAULT_CALL_REVERTED if the round cannot be read", async () => {
    const { withoutRound, settle } = round();
    for (const check of [
      async () => await settlesRound(withoutRound, settle()),
      async () => await roundSettled(withoutRound),
    ]) {
      const { details } = await expectVaultError(check, "VAULT_CALL_REVERTED");
      expect(fieldsOf(details)["operation"]).to.equal("getLatestRoundInfo");
    }
  });
});
