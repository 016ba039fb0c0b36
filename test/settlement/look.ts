import { expect } from "chai";
import { toQuantity } from "ethers";

import { VaultError } from "../../src/client/index.js";
import type { RpcClient } from "../../src/rpc/rpc-client.js";
import { noRetries } from "../../src/rpc/retry.js";
import { nothingToDo } from "../../src/settlement-call/outcome.js";
import type { CheckRound } from "../../src/settlement/check-round.js";
import { findTransaction, look } from "../../src/settlement/look.js";
import type { Look, Scan } from "../../src/settlement/sighting.js";
import type { SentTransaction } from "../../src/settlement/transaction.js";
import { sent as signed } from "../helpers/keeper.js";
import { HASH, OTHER_HASH as OTHER } from "../helpers/names.js";
import { recording } from "../helpers/recording-node.js";

const sent: SentTransaction = { ...signed, data: "0xA015AEFE" };
const { from: FROM, to: TO } = sent;
const unsigned: SentTransaction = { ...sent, hash: undefined, raw: undefined };
const cancellation: SentTransaction = {
  ...sent,
  ...{ kind: "cancellation", to: FROM, data: "0x", hash: OTHER },
};

/** The settlement as a node returns it, with changes. */
const seen = (changes: object = {}): object => ({
  ...{ hash: OTHER, from: FROM.toLowerCase(), to: TO.toLowerCase() },
  ...{ input: "0xa015aefe", nonce: "0x7", blockNumber: "0x64", ...changes },
});

/** A chain whose account used its nonce 7 in block 100 of 200, or never. */
interface Chain {
  readonly usedIn?: number;
  readonly transactions?: readonly object[];
  /** Hashes with a receipt, of block 100. */
  readonly mined?: readonly string[];
  readonly known?: readonly string[];
  readonly latestNonce?: number;
  readonly pendingNonce?: number;
  readonly pool?: readonly object[];
  readonly head?: number;
  /** Block that has no state any more. */
  readonly refusesAt?: string;
}

let blocks: number[];

function clientOf(chain: Chain | (() => Chain)): RpcClient {
  blocks = [];
  const answer = (method: string, first: unknown, second: unknown): unknown => {
    const now = typeof chain === "function" ? chain() : chain;
    const { usedIn = Infinity, transactions = [], mined = [] } = now;
    const { pendingNonce = 7, head = 200, latestNonce, refusesAt } = now;
    switch (method) {
      case "eth_getTransactionReceipt":
        return mined.includes(String(first))
          ? {
              ...{ transactionHash: first, blockNumber: "0x64" },
              ...{ blockHash: HASH, gasUsed: "0x1", status: "0x1" },
            }
          : null;
      case "eth_getTransactionByHash":
        return now.known?.includes(String(first)) === true
          ? seen({ hash: first })
          : null;
      case "eth_blockNumber":
        return toQuantity(head);
      case "eth_getTransactionCount": {
        if (second === refusesAt) {
          throw Object.assign(new Error("pruned"), { code: -32_000 });
        }
        const at = String(second).startsWith("0x") ? Number(second) : head;
        const count = at >= usedIn ? 8 : 7;
        return toQuantity(
          second === "pending"
            ? pendingNonce
            : second === "latest"
              ? (latestNonce ?? count)
              : count,
        );
      }
      default:
        if (first === "pending") {
          return { transactions: now.pool ?? [] };
        }
        blocks.push(Number(first));
        return { transactions: Number(first) === usedIn ? transactions : [] };
    }
  };
  const node = recording((method, [first, second]) =>
    answer(method, first, second),
  );
  return node.rpc.withRetries(noRetries);
}

describe("findTransaction()", () => {
  let scan: Scan | undefined;
  beforeEach(() => {
    scan = undefined;
  });
  /** Each search of a test goes on where the one before it ended. */
  const find = async (
    chain: Chain,
    transactions: readonly [SentTransaction, ...SentTransaction[]] = [sent],
    confirmations = 1,
  ): Promise<object> => {
    const found = await findTransaction(
      clientOf(chain),
      { transactions, sentAfterBlock: 5, confirmations },
      scan,
    );
    ({ scan } = found);
    return found.transaction;
  };

  const waiting = { kind: "pending", hash: undefined };
  const unknown = { kind: "unknown" };
  const unseen = { kind: "used", by: "unseen" };
  const raised = { ...sent, gas: sent.gas + 1n };
  const both = [sent, cancellation] as const;
  const searches: ReadonlyArray<
    readonly [
      title: string,
      chain: Chain,
      transactions: readonly [SentTransaction, ...SentTransaction[]],
      is: object,
    ]
  > = [
    [
      "finds it in the pool by its hash",
      { known: [HASH] },
      [sent],
      { kind: "pending", hash: HASH },
    ],
    ["does not find it while its nonce is free", {}, [sent], unknown],
    [
      "finds its nonce in the pool if the node does not know its hash",
      { pendingNonce: 8, pool: [seen()] },
      [sent],
      waiting,
    ],
    [
      "finds one without a hash in the pool by its account and nonce",
      {
        pendingNonce: 8,
        pool: [
          seen({ nonce: "0x6", hash: HASH }),
          seen({ from: TO.toLowerCase(), hash: HASH }),
          seen(),
        ],
      },
      [unsigned],
      { kind: "pending", hash: OTHER },
    ],
    [
      "finds only the nonce if the node does not list its pool",
      { pendingNonce: 8 },
      [unsigned],
      waiting,
    ],
    [
      "takes no transaction of another account for it",
      { usedIn: 9, transactions: [seen({ from: TO.toLowerCase() })] },
      [sent],
      unseen,
    ],
    [
      "finds it in the first block that can have it, by account and nonce",
      {
        ...{ usedIn: 6, mined: [OTHER] },
        transactions: [seen({ nonce: "0x6", hash: HASH }), seen()],
      },
      [sent],
      { kind: "mined", hash: OTHER },
    ],
    [
      "finds the newest replacement in the pool",
      { known: [HASH, OTHER] },
      both,
      { kind: "pending", hash: OTHER },
    ],
    [
      "finds the one that was mined, whichever that is",
      { mined: [OTHER], known: [HASH] },
      both,
      { kind: "mined", hash: OTHER, transaction: cancellation },
    ],
    [
      "takes the newest that makes the call of the transaction with its nonce",
      { usedIn: 60, transactions: [seen()], mined: [OTHER] },
      [unsigned, raised],
      { kind: "mined", hash: OTHER, transaction: raised },
    ],
    ...[{ to: null }, { input: "0xa015aeff" }].map(
      (changes) =>
        [
          `finds the other transaction that used its nonce: ${JSON.stringify(changes)}`,
          { usedIn: 9, transactions: [seen(changes)], mined: [OTHER] },
          [sent],
          { kind: "used", "by.transaction.hash": OTHER, "by.block": 9 },
        ] as const,
    ),
  ];
  for (const [title, chain, transactions, is] of searches) {
    it(title, async () => {
      expect(await find(chain, transactions)).to.have.deep.nested.include(is);
    });
  }

  it("searches 64 blocks at a time, then again the block that had it", async () => {
    const chain = { usedIn: 100, transactions: [seen()] };
    const pending = { kind: "pending", hash: OTHER };
    for (const [first, last, expected] of [
      [6, 69, unseen],
      [70, 100, pending],
      [100, 100, pending],
    ] as const) {
      expect(await find(chain)).to.deep.equal(expected);
      expect(blocks).to.deep.equal(
        Array.from({ length: last - first + 1 }, (_, index) => first + index),
      );
    }
  });

  for (const [title, chain, confirmations, by] of [
    ["finds that nothing used its nonce", {}, 1, "nothing"],
    ["does not trust a block without its confirmations", {}, 2, "unseen"],
    ["does not trust a chain that is too short", {}, 20, "unseen"],
    [
      "does not trust a node without the state of the confirmed block",
      { usedIn: 8, refusesAt: "0x8" },
      2,
      "unseen",
    ],
  ] as const) {
    it(`${title}, after it searched every block twice`, async () => {
      const used = { usedIn: 9, head: 9, ...chain };
      for (const expected of ["unseen", by]) {
        expect(await find(used, [sent], confirmations)).to.deep.equal({
          kind: "used",
          by: expected,
        });
        expect(blocks).to.deep.equal([6, 7, 8, 9]);
      }
    });
  }

  it("counts again from the first search after one on a node that is behind", async () => {
    for (const usedIn of [8, 9, 8]) {
      const found = await find({ usedIn, head: 9 }, [sent], 2);
      expect(found).to.deep.equal(unseen);
    }
  });
});

describe("look()", () => {
  const noRound = new VaultError("VAULT_NO_TERMINAL", {});
  const over = nothingToDo("The round is settled.");
  const lookAt = async (
    chain: Chain | (() => Chain),
    checkRound: CheckRound,
    newest: SentTransaction = sent,
    confirmations = 1,
  ): Promise<Omit<Look, "isOver" | "kind">> =>
    await look(
      clientOf(chain),
      { transactions: [sent, newest], sentAfterBlock: 5, confirmations },
      undefined,
      checkRound,
    );
  const open: CheckRound = async () => await Promise.resolve(undefined);
  const settled: CheckRound = async () => await Promise.resolve(over);
  const closed = { kind: "closed", obstacle: over };

  for (const [title, chain, checkRound, round] of [
    ["reads the round if there is no transaction", {}, open, { kind: "open" }],
    [
      "knows that its nonce is free in a block with the obstacle",
      {},
      settled,
      { ...closed, isNonceFree: true },
    ],
    [
      "knows that its nonce is used in the block with the obstacle",
      { usedIn: 200, latestNonce: 7 },
      settled,
      { ...closed, isNonceFree: false },
    ],
    [
      "does not know so if that block has no obstacle",
      {},
      async (at?: number) =>
        await Promise.resolve(at === undefined ? over : undefined),
      { ...closed, isNonceFree: false },
    ],
    [
      "keeps the error of a round that cannot be read",
      {},
      async () => await Promise.reject(noRound),
      { kind: "unread", problem: noRound.shortMessage, error: noRound },
    ],
    [
      "does not know so if the node lacks the state of that block",
      { refusesAt: "0xc8" },
      settled,
      {
        kind: "unread",
        problem: "Network testnet refused eth_getTransactionCount: pruned.",
      },
    ],
  ] as const) {
    it(title, async () => {
      const found = await lookAt(chain, checkRound);
      expect(found.round).to.deep.equal(round);
    });
  }

  it("finds a transaction that is mined while it reads the round", async () => {
    let isMined = false;
    const found = await lookAt(
      () => (isMined ? { mined: [HASH] } : {}),
      async () => {
        isMined = true;
        return await settled();
      },
    );
    expect(found.transaction).to.include({ kind: "mined", hash: HASH });
  });

  it("does not read the round of a cancellation", async () => {
    const found = await lookAt({}, settled, cancellation);
    expect(found.round).to.equal(undefined);
  });

  it("reads the newest block only for more than one confirmation", async () => {
    const heads = [1, 2].map(async (confirmations) => {
      const { head } = await lookAt({}, open, sent, confirmations);
      return head;
    });
    expect(await Promise.all(heads)).to.deep.equal([undefined, 200]);
  });

  it("returns the problem if the node fails", async () => {
    const { transaction } = await lookAt({ refusesAt: "latest" }, open);
    expect(transaction).to.include({ kind: "unread" });
  });
});
