import { expect } from "chai";

import { Chain } from "../../src/rpc/node.js";
import {
  NonceSearch,
  findTransaction,
} from "../../src/settlement/find-transaction.js";
import type { SentTransaction } from "../../src/settlement/find-transaction.js";
import { expectVaultError } from "../helpers/assertions.js";

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
  /** Of the count at an old block. */
  readonly failure?: Error;
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
    failure,
  }: World): Chain => {
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
          if (second !== "latest" && failure !== undefined) {
            throw failure;
          }
          const block = second === "latest" ? head : Number(second);
          return block >= usedIn ? "0x8" : "0x7";
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
    return new Chain(
      {
        request: async ({ method, params = [] }) =>
          await Promise.resolve(answer(method, [...params])),
      },
      "test",
    );
  };
  const noState = Object.assign(new Error("missing trie node"), {
    code: -32000,
  });
  const find = async (
    world: World,
    what = sent,
    search = new NonceSearch(),
  ): Promise<object> => await findTransaction(chainOf(world), what, search);

  it("should end with its receipt", async () => {
    const found = await find({ receipts: { [HASH]: receiptOf(HASH) } });
    expect(found).to.include({ kind: "mined", hash: HASH });
    expect(found).to.have.nested.property("receipt.blockNumber", 100);
  });

  it("should end with the node's pool", async () => {
    expect(await find({ known: [HASH] })).to.deep.equal({
      kind: "pending",
      hash: HASH,
    });
    expect(counts).to.deep.equal([]);
  });

  it("should tell what the node does not have, where its nonce is free", async () => {
    expect(await find({ pendingNonce: 8, pool: [seen()] })).to.deep.equal({
      kind: "not-found",
    });
    expect(counts).to.deep.equal(["latest"]);
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

  it("should halve the blocks to find the one that used its nonce", async () => {
    const found = await find({
      usedIn: 100,
      transactions: [seen({ nonce: "0x6", hash: HASH }), seen()],
      receipts: { [OTHER]: receiptOf(OTHER) },
    });
    expect(found).to.include({ kind: "mined", hash: OTHER });
    expect(blocks).to.deep.equal([100]);
    expect(counts).to.have.lengthOf.at.most(9);
  });

  for (const [where, usedIn] of [
    ["the first that can hold it", 6],
    ["the newest", 200],
  ] as const) {
    it(`should find it in ${where}`, async () => {
      await find({ usedIn, transactions: [seen()] });
      expect(blocks).to.deep.equal([usedIn]);
    });
  }

  it("should wait for the receipt of the same settlement under another hash", async () => {
    expect(await find({ usedIn: 100, transactions: [seen()] })).to.deep.equal({
      kind: "pending",
      hash: OTHER,
    });
  });

  for (const [what, changes] of [
    ["to another contract", { to: FROM.toLowerCase() }],
    ["that creates a contract", { to: null }],
    ["with other data", { input: "0xa015aeff" }],
  ] as const) {
    it(`should take its nonce for taken by a transaction ${what}`, async () => {
      const found = await find({
        usedIn: 100,
        transactions: [seen(changes)],
        receipts: { [OTHER]: receiptOf(OTHER) },
      });
      expect(found).to.deep.equal({ kind: "replaced", by: OTHER });
    });
  }

  it("should not take another account's for its own", async () => {
    const found = await find({
      usedIn: 100,
      transactions: [seen({ from: TO.toLowerCase() })],
    });
    expect(found).to.deep.equal({ kind: "replaced", by: undefined });
  });

  describe("on a node without old state", () => {
    it("should look through 64 blocks at a time, and go on where it ended", async () => {
      const search = new NonceSearch();
      const world = { usedIn: 100, transactions: [seen()], failure: noState };
      expect(await find(world, sent, search)).to.deep.equal({
        kind: "replaced",
        by: undefined,
      });
      expect(blocks).to.deep.equal(
        Array.from({ length: 64 }, (_, index) => 6 + index),
      );
      blocks = [];
      expect(await find(world, sent, search)).to.include({ kind: "pending" });
      expect(blocks).to.deep.equal(
        Array.from({ length: 31 }, (_, index) => 70 + index),
      );
    });

    it("should begin again after the newest block", async () => {
      const search = new NonceSearch();
      // Used, but in no block that this node shows.
      const world = { usedIn: 9, head: 9, failure: noState };
      for (let time = 0; time < 2; time += 1) {
        blocks = [];
        await find(world, sent, search);
        expect(blocks).to.deep.equal([6, 7, 8, 9]);
      }
    });

    it("should not look at blocks where the node cannot be reached", async () => {
      const failure = Object.assign(new Error("socket hang up"), {
        code: "ECONNRESET",
      });
      await expectVaultError(
        find({ usedIn: 100, failure }),
        "VAULT_NETWORK_UNREACHABLE",
      );
      expect(blocks).to.deep.equal([]);
    });
  });
});
