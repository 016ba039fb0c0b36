import { expect } from "chai";
import { toQuantity } from "ethers";

import { RpcClient } from "../../src/rpc/rpc-client.js";
import { findTransaction } from "../../src/settlement/look.js";
import type { Scan } from "../../src/settlement/sighting.js";
import type { SentTransaction } from "../../src/settlement/transaction.js";
import {
  HASH,
  OTHER_HASH as OTHER,
  sent as signed,
} from "../helpers/settlement-stage.js";

const sent: SentTransaction = { ...signed, data: "0xA015AEFE" };
const { from: FROM, to: TO } = sent;
const unsigned: SentTransaction = { ...sent, hash: undefined, raw: undefined };

/** As a node tells of the settlement, with changes. */
const seen = (changes: object = {}): object => ({
  hash: OTHER,
  from: FROM.toLowerCase(),
  to: TO.toLowerCase(),
  input: "0xa015aefe",
  nonce: "0x7",
  blockNumber: "0x64",
  ...changes,
});

/** A chain whose account used its nonce 7 in block 100 of 200, or never. */
interface World {
  readonly usedIn?: number;
  readonly transactions?: readonly object[];
  readonly receipts?: Readonly<Record<string, object>>;
  readonly known?: readonly string[];
  readonly pendingNonce?: number;
  readonly pool?: readonly object[];
  readonly head?: number;
  /** Block that has no state any more. */
  readonly refusesAt?: string;
}

describe("the search for a settlement's transaction", () => {
  let blocks: number[];
  let counts: unknown[];
  let scan: Scan | undefined;

  beforeEach(() => {
    scan = undefined;
    blocks = [];
    counts = [];
  });

  const chainOf = ({
    usedIn = Infinity,
    transactions = [],
    receipts = {},
    known = [],
    pendingNonce = 7,
    pool = [],
    head = 200,
    refusesAt,
  }: World): RpcClient => {
    const answers: Readonly<
      Record<string, (first: unknown, second: unknown) => unknown>
    > = {
      eth_getTransactionReceipt: (hash) => receipts[String(hash)] ?? null,
      eth_getTransactionByHash: (hash) =>
        known.includes(String(hash)) ? seen({ hash }) : null,
      eth_blockNumber: () => toQuantity(head),
      eth_getTransactionCount: (_, tag) => {
        counts.push(tag);
        if (tag === refusesAt) {
          throw Object.assign(new Error("pruned"), { code: -32_000 });
        }
        const at = String(tag).startsWith("0x") ? Number(tag) : head;
        const mined = at >= usedIn ? 8 : 7;
        return toQuantity(tag === "pending" ? pendingNonce : mined);
      },
      eth_getBlockByNumber: (tag) => {
        if (tag === "pending") {
          return { transactions: pool };
        }
        blocks.push(Number(tag));
        return { transactions: Number(tag) === usedIn ? transactions : [] };
      },
    };
    return new RpcClient(
      {
        request: async ({ method, params: [first, second] = [] }) =>
          await Promise.resolve(answers[method]?.(first, second)),
      },
      "test",
    );
  };
  /** Each search goes on where the one before it in this test ended. */
  const find = async (
    world: World,
    what = sent,
    confirmations = 1,
  ): Promise<object> => {
    const found = await findTransaction(
      chainOf(world),
      { transactions: [what], sentAfterBlock: 5, confirmations },
      scan,
    );
    ({ scan } = found);
    return found.transaction;
  };

  const minedOther = {
    [OTHER]: {
      transactionHash: OTHER,
      blockNumber: "0x64",
      blockHash: HASH,
      gasUsed: "0x1",
      status: "0x1",
    },
  };
  const notFound = { kind: "unknown" };
  const waiting = { kind: "pending", hash: undefined };
  const unknownUser = { kind: "used", by: "unseen" };

  for (const [title, world, what, expected, asked] of [
    [
      "waits if the node knows its hash",
      { known: [HASH] },
      sent,
      { kind: "pending", hash: HASH },
      [],
    ],
    [
      "is not found if its nonce is free, mined and waiting",
      {},
      sent,
      notFound,
      ["latest", "pending"],
    ],
    [
      "waits, without a hash, if a transaction with its nonce does and its own hash is unknown to the node",
      { pendingNonce: 8, pool: [seen()] },
      sent,
      waiting,
      ["latest", "pending"],
    ],
    [
      "is not looked for in the pool without a hash if its nonce is free",
      { pool: [seen()], known: ["undefined"] },
      unsigned,
      notFound,
      ["latest", "pending"],
    ],
    [
      "is found in the pool by account and nonce without a hash",
      {
        pendingNonce: 8,
        pool: [
          seen({ nonce: "0x6", hash: HASH }),
          seen({ from: TO.toLowerCase(), hash: HASH }),
          seen(),
        ],
      },
      unsigned,
      { kind: "pending", hash: OTHER },
      ["latest", "pending"],
    ],
    [
      "waits, without a hash, if the node shows no pool",
      { pendingNonce: 8 },
      unsigned,
      waiting,
      ["latest", "pending"],
    ],
    [
      "is not the transaction of another account with its nonce",
      { usedIn: 9, transactions: [seen({ from: TO.toLowerCase() })] },
      sent,
      unknownUser,
      ["latest"],
    ],
  ] as const) {
    it(title, async () => {
      expect(await find(world, what)).to.deep.equal(expected);
      expect(counts).to.deep.equal(asked);
    });
  }

  for (const [where, usedIn] of [
    ["the first block that can hold it", 6],
    ["the newest block", 60],
  ] as const) {
    it(`is found in ${where} by account and nonce`, async () => {
      const found = await find({
        usedIn,
        head: 60,
        transactions: [seen({ nonce: "0x6", hash: HASH }), seen()],
        receipts: minedOther,
      });
      expect(found).to.include({ kind: "mined", hash: OTHER });
      expect(blocks.at(-1)).to.equal(usedIn);
    });
  }

  for (const [what, changes] of [
    ["to another contract", { to: FROM.toLowerCase() }],
    ["that creates a contract", { to: null }],
    ["with other data", { input: "0xa015aeff" }],
  ] as const) {
    it(`is replaced by a transaction ${what} with its nonce`, async () => {
      const found = await find({
        usedIn: 9,
        transactions: [seen(changes)],
        receipts: minedOther,
      });
      expect(found).to.have.nested.include({
        kind: "used",
        "by.transaction.hash": OTHER,
        "by.block": 9,
      });
    });
  }

  it("is looked for in 64 blocks at a time, from the end of the last look, and again in the block that had it", async () => {
    const world = { usedIn: 100, transactions: [seen()] };
    for (const [first, last, expected] of [
      [6, 69, unknownUser],
      [70, 100, { kind: "pending", hash: OTHER }],
      [100, 100, { kind: "pending", hash: OTHER }],
    ] as const) {
      blocks = [];
      expect(await find(world, sent)).to.deep.equal(expected);
      expect(blocks).to.deep.equal(
        Array.from({ length: last - first + 1 }, (_, index) => first + index),
      );
    }
  });

  it("is looked for from the first block again after the newest", async () => {
    // Used, but in no block that this node shows.
    const world = { usedIn: 9, head: 9 };
    for (let time = 0; time < 2; time += 1) {
      blocks = [];
      await find(world, sent);
      expect(blocks, "blocks read").to.deep.equal([6, 7, 8, 9]);
    }
  });

  for (const [title, world, confirmations, by] of [
    [
      "is used by nothing after the second search of every block without a transaction that has it",
      { usedIn: 9, head: 9 },
      1,
      "nothing",
    ],
    [
      "is used by something unseen while the block that uses it is not confirmed",
      { usedIn: 9, head: 9 },
      2,
      "unseen",
    ],
    [
      "is used by something unseen while the chain has fewer blocks than confirmations are wanted",
      { usedIn: 9, head: 9 },
      20,
      "unseen",
    ],
  ] as const) {
    it(`its nonce ${title}`, async () => {
      expect(await find(world, sent, confirmations)).to.deep.equal(unknownUser);
      expect(await find(world, sent, confirmations)).to.deep.equal({
        kind: "used",
        by,
      });
    });
  }

  it("is found as the newest replacement in the pool, or the one that was mined, whichever that is", async () => {
    const cancellation = {
      ...sent,
      kind: "cancellation",
      to: FROM,
      data: "0x",
      hash: OTHER,
    } as const;
    const both: Parameters<typeof findTransaction>[1] = {
      transactions: [sent, cancellation],
      sentAfterBlock: 5,
      confirmations: 1,
    };
    const pool = chainOf({ known: [HASH, OTHER] });
    expect(await findTransaction(pool, both)).to.deep.include({
      transaction: { kind: "pending", hash: OTHER },
    });
    const rpc = chainOf({ receipts: minedOther, known: [HASH] });
    const { transaction: found } = await findTransaction(rpc, both);
    expect(found).to.deep.include({
      kind: "mined",
      hash: OTHER,
      transaction: cancellation,
    });
  });

  it("is, as one that the nonce was used by, the newest of those that make its call", async () => {
    const raised = { ...sent, gas: sent.gas + 1n, hash: HASH };
    const rpc = chainOf({
      usedIn: 100,
      transactions: [seen()],
      receipts: minedOther,
    });
    const { transaction: found } = await findTransaction(rpc, {
      transactions: [{ ...sent, hash: undefined }, raised],
      sentAfterBlock: 90,
      confirmations: 1,
    });
    expect(found).to.deep.include({
      kind: "mined",
      hash: OTHER,
      transaction: raised,
    });
  });

  it("is not seen, however often it is looked for, if the node refuses to count at the confirmed block", async () => {
    const world = { usedIn: 8, head: 9, refusesAt: "0x8" };
    for (let look = 0; look < 3; look += 1) {
      expect(await find(world, sent, 2)).to.deep.equal(unknownUser);
    }
  });
});
