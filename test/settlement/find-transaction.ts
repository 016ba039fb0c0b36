import { expect } from "chai";

import { RpcClient } from "../../src/rpc/rpc-client.js";
import { findTransaction } from "../../src/settlement/find-transaction.js";
import type { SentTransaction } from "../../src/settlement/find-transaction.js";

const FROM = "0x00000000000000000000000000000000000000A1";
const TO = "0x00000000000000000000000000000000000000A2";
const hashOf = (byte: string): string => `0x${byte.repeat(32)}`;
const HASH = hashOf("ab");
const OTHER = hashOf("cd");

const sent: SentTransaction = {
  from: FROM,
  to: TO,
  data: "0xA015AEFE",
  chainId: 1,
  nonce: 7,
  gas: 100_000n,
  fees: { gasPrice: 1n },
  raw: "0x02",
  hash: HASH,
  sentAfterBlock: 5,
};
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

const receiptOf = (hash: string): object => ({
  transactionHash: hash,
  blockNumber: "0x64",
  blockHash: HASH,
  gasUsed: "0x1",
  status: "0x1",
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
}

describe("the search for a settlement's transaction", () => {
  let blocks: number[];
  let counts: unknown[];

  beforeEach(() => {
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
  }: World): RpcClient => {
    const answer = (
      method: string,
      [first, second]: readonly unknown[],
    ): unknown => {
      switch (method) {
        case "eth_getTransactionReceipt":
          return receipts[String(first)] ?? null;
        case "eth_getTransactionByHash":
          return known.includes(String(first)) ? seen({ hash: first }) : null;
        case "eth_blockNumber":
          return `0x${head.toString(16)}`;
        case "eth_getTransactionCount": {
          counts.push(second);
          if (second === "pending") {
            return `0x${pendingNonce.toString(16)}`;
          }
          return head >= usedIn ? "0x8" : "0x7";
        }
        default: {
          if (first === "pending") {
            return { transactions: pool };
          }
          blocks.push(Number(first));
          return { transactions: Number(first) === usedIn ? transactions : [] };
        }
      }
    };
    return new RpcClient(
      {
        request: async ({ method, params = [] }) =>
          await Promise.resolve(answer(method, [...params])),
      },
      "test",
    );
  };
  const find = async (
    world: World,
    what = sent,
    scan = { next: 0 },
  ): Promise<object> => await findTransaction(chainOf(world), what, scan);

  it("should end with the node's pool", async () => {
    expect(await find({ known: [HASH] })).to.deep.equal({
      kind: "pending",
      hash: HASH,
    });
    expect(counts).to.deep.equal([]);
  });

  it("is not found if its nonce is free, mined and waiting", async () => {
    expect(await find({})).to.deep.equal({ kind: "not-found" });
    expect(counts).to.deep.equal(["latest", "pending"]);
  });

  it("waits, without a hash, if a transaction with its nonce does and its own hash is unknown to the node", async () => {
    expect(await find({ pendingNonce: 8, pool: [seen()] })).to.deep.equal({
      kind: "pending",
      hash: undefined,
    });
  });

  it("should look in the pool for what has no hash yet", async () => {
    expect(
      await find(
        { pendingNonce: 7, pool: [seen()], known: ["undefined"] },
        unsigned,
      ),
    ).to.deep.equal({ kind: "not-found" });
    expect(
      await find(
        {
          pendingNonce: 8,
          pool: [
            seen({ nonce: "0x6", hash: HASH }),
            seen({ from: TO.toLowerCase(), hash: HASH }),
            seen(),
          ],
        },
        unsigned,
      ),
    ).to.deep.equal({ kind: "pending", hash: OTHER });
    expect(await find({ pendingNonce: 8 }, unsigned)).to.deep.equal({
      kind: "pending",
      hash: undefined,
    });
  });

  for (const [where, usedIn] of [
    ["the first that can hold it", 6],
    ["the newest", 60],
  ] as const) {
    it(`is found in ${where} by account and nonce`, async () => {
      const found = await find({
        usedIn,
        head: 60,
        transactions: [seen({ nonce: "0x6", hash: HASH }), seen()],
        receipts: { [OTHER]: receiptOf(OTHER) },
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
    it(`should take its nonce for taken by a transaction ${what}`, async () => {
      const found = await find({
        usedIn: 9,
        transactions: [seen(changes)],
        receipts: { [OTHER]: receiptOf(OTHER) },
      });
      expect(found).to.have.nested.include({
        kind: "replaced",
        "by.transaction.hash": OTHER,
        "by.block": 9,
      });
    });
  }

  it("should not take another account's for its own", async () => {
    const found = await find({
      usedIn: 9,
      transactions: [seen({ from: TO.toLowerCase() })],
    });
    expect(found).to.deep.equal({ kind: "replaced", by: undefined });
  });

  it("is looked for in 64 blocks at a time, from where the last look ended, and again where it was found", async () => {
    const scan = { next: 0 };
    const world = { usedIn: 100, transactions: [seen()] };
    expect(await find(world, sent, scan)).to.deep.equal({
      kind: "replaced",
      by: undefined,
    });
    expect(blocks).to.deep.equal(
      Array.from({ length: 64 }, (_, index) => 6 + index),
    );
    blocks = [];
    expect(await find(world, sent, scan)).to.include({ kind: "pending" });
    expect(blocks).to.deep.equal(
      Array.from({ length: 31 }, (_, index) => 70 + index),
    );
    blocks = [];
    expect(await find(world, sent, scan)).to.include({ kind: "pending" });
    expect(blocks).to.deep.equal([100]);
  });

  it("is looked for from the first block again after the newest", async () => {
    const scan = { next: 0 };
    // Used, but in no block that this node shows.
    const world = { usedIn: 9, head: 9 };
    for (let time = 0; time < 2; time += 1) {
      blocks = [];
      await find(world, sent, scan);
      expect(blocks).to.deep.equal([6, 7, 8, 9]);
    }
  });
});
