import { expect } from "chai";

import { RpcClient } from "../../src/rpc/rpc-client.js";
import { Deadline } from "../../src/rpc/deadline.js";
import { followTransaction } from "../../src/settlement/follow-transaction.js";
import type {
  FollowOutcome,
  FollowOptions,
} from "../../src/settlement/follow-transaction.js";
import type { SentTransaction } from "../../src/settlement/find-transaction.js";
import type { SettlementEvent, Stop } from "../../src/settlement/types.js";
import { endDeadlines } from "../helpers/deadlines.js";

const HASH = `0x${"ab".repeat(32)}`;
const OTHER = `0x${"cd".repeat(32)}`;
const NONCE = 7;

const transaction: SentTransaction = {
  from: "0x00000000000000000000000000000000000000A1",
  to: "0x00000000000000000000000000000000000000A2",
  data: "0xa015aefe",
  chainId: 1,
  nonce: NONCE,
  gas: 100_000n,
  fees: { gasPrice: 1n },
  raw: "0x02",
  hash: HASH,
  sentAfterBlock: 5,
};

/** What a node answers to a method, each time it is asked. */
type Answers = Readonly<
  Record<string, (occurrence: number, params: readonly unknown[]) => unknown>
>;

/** A node that does not have the transaction, and where its nonce is free. */
const unseen: Answers = {
  eth_sendRawTransaction: () => HASH,
  eth_getTransactionReceipt: () => null,
  eth_getTransactionByHash: () => null,
  eth_getTransactionCount: () => `0x${NONCE.toString(16)}`,
};

const minedIn6 = {
  transactionHash: HASH,
  blockNumber: "0x6",
  blockHash: HASH,
  gasUsed: "0x1",
  status: "0x1",
};

/** The transaction in the pool. */
const pooled = {
  hash: HASH,
  from: transaction.from,
  to: transaction.to,
  input: transaction.data,
  nonce: "0x7",
  blockNumber: null,
};

/** What else the account sent with its nonce, without its block. */
const rival = {
  hash: OTHER,
  from: transaction.from,
  to: transaction.from,
  input: "0x",
  nonce: "0x7",
};

/** For what the time ends. */
const soon = (): Partial<FollowOptions> => ({ deadline: new Deadline(400) });

const never = new Promise<never>(() => undefined);

/** More requests than any test's way needs. */
const MOST_REQUESTS = 500;

describe("the way of a settlement's transaction", () => {
  let asked: string[];
  let events: SettlementEvent[];

  beforeEach(() => {
    asked = [];
    events = [];
  });

  const run = async (
    start: "send" | "find",
    answers: Answers,
    changes: Partial<FollowOptions> = {},
    followed = transaction,
  ): Promise<FollowOutcome> => {
    const all = { ...unseen, ...answers };
    let fail: (error: Error) => void = () => undefined;
    const endless = new Promise<never>((_, reject) => {
      fail = reject;
    });
    const rpc = new RpcClient(
      {
        request: async ({ method, params = [] }) => {
          if (asked.length > MOST_REQUESTS) {
            fail(new Error("the node was asked without end"));
            return await never;
          }
          const occurrence = asked.filter((one) => one === method).length;
          asked.push(method);
          return await Promise.resolve(all[method]?.(occurrence, [...params]));
        },
      },
      "test",
    );
    const way = followTransaction(rpc, followed, start, {
      confirmations: 1,
      deadline: new Deadline(60_000),
      pollingIntervalMs: 20,
      firstCheckAfterMs: 0,
      checkRound: async () => await Promise.resolve(undefined),
      onHash: async () => await Promise.resolve(),
      emit: (event) => {
        events.push(event);
      },
      ...changes,
    });
    return await Promise.race([way, endless]);
  };
  const sends = (): number =>
    asked.filter((method) => method === "eth_sendRawTransaction").length;
  /** No receipt; and the time is over where it was sent so often. */
  const overOnceSent = (times: number): null => {
    if (sends() >= times) {
      endDeadlines();
    }
    return null;
  };

  it("should send again what the node does not have", async () => {
    const end = await run("send", {
      eth_getTransactionReceipt: () => (sends() > 1 ? minedIn6 : null),
    });

    expect(end).to.include({ kind: "mined", hash: HASH });
    expect(sends()).to.equal(2);
  });

  it("should not send again where the round's check gave no answer in time", async () => {
    const end = await run(
      "send",
      {},
      { ...soon(), checkRound: async () => await never },
    );

    expect(end).to.include({ kind: "open", hash: HASH });
    expect(sends()).to.equal(1);
  });

  it("should not send again where the time is over with the round's check", async () => {
    const end = await run(
      "send",
      {},
      {
        checkRound: async () => {
          await Promise.resolve();
          endDeadlines();
          return undefined;
        },
      },
    );

    expect(end).to.include({ kind: "open", hash: HASH });
    expect(sends()).to.equal(1);
  });

  const whyOpen = (end: FollowOutcome): string =>
    end.kind === "open" ? end.reason : end.kind;

  const answeringWith = (words: string): Answers => ({
    eth_sendRawTransaction: () => {
      throw Object.assign(new Error(words), { code: -32000 });
    },
  });

  for (const words of [
    "upstream request cancelled by timeout",
    "request denied by rate limiter",
    "execution reverted",
    "insufficient funds for gas * price + value",
  ]) {
    it(`settle waits for the block if a gateway passes its transaction on, answers "${words}", and then asks a node that does not see it`, async () => {
      const end = await run("send", {
        ...answeringWith(words),
        // Neither the first looks nor what is sent again finds it.
        eth_getTransactionReceipt: (occurrence) =>
          occurrence < 7 ? null : minedIn6,
      });

      expect(end).to.include({ kind: "mined", hash: HASH });
    });
  }

  for (const start of ["send", "find"] as const) {
    it(`settle is refused, in the node's words, if five sends are answered with an error and five looks after that find nothing (first: ${start})`, async () => {
      const end = await run(
        start,
        answeringWith("insufficient funds for gas * price + value"),
      );

      expect(end).to.include({
        kind: "dropped",
        hash: HASH,
        status: "refused",
        code: "VAULT_RPC_ERROR",
      });
      expect(end.kind === "dropped" && end.reason).to.match(
        /does not have the transaction, .*: insufficient funds for gas/u,
      );
      expect(sends()).to.equal(5);
      const looks = asked.slice(asked.lastIndexOf("eth_sendRawTransaction"));
      expect(
        looks.filter((method) => method === "eth_getTransactionReceipt").length,
      ).to.be.greaterThan(4);
    });
  }

  it("settle stays unconfirmed if a transaction with its nonce waits, whatever the node answered", async () => {
    const end = await run(
      "send",
      {
        ...answeringWith("call rejected by upstream"),
        eth_getTransactionCount: (_, [, tag]) =>
          tag === "pending" ? "0x8" : "0x7",
      },
      soon(),
    );

    expect(end).to.include({ kind: "open", hash: HASH, status: "unconfirmed" });
    expect(sends()).to.equal(1);
  });

  it("settle warns once, and sends again, if the node drops a transaction that waited", async () => {
    const end = await run("find", {
      eth_getTransactionByHash: (occurrence) =>
        occurrence === 0 ? pooled : null,
      eth_getTransactionReceipt: () => (sends() > 1 ? minedIn6 : null),
    });

    expect(end).to.include({ kind: "mined", hash: HASH });
    expect(events.filter((event) => event.type === "trouble")).to.have.lengthOf(
      1,
    );
  });

  it("settle begins to count again after a send without an answer", async () => {
    const end = await run("send", {
      eth_getTransactionReceipt: () => overOnceSent(9),
      eth_sendRawTransaction: (occurrence) => {
        throw Object.assign(
          new Error("nope"),
          occurrence === 4 ? { code: "ECONNRESET" } : { code: -32000 },
        );
      },
    });

    expect(end).to.include({ kind: "open", hash: HASH });
    expect(sends()).to.equal(9);
  });

  for (const [depth, kind] of [
    [11, "mined"],
    [12, "dropped"],
  ] as const) {
    it(`settle with 12 confirmations is ${kind} if the transaction that used its nonce was in ${depth} blocks when a re-org mined this one`, async () => {
      let isReorged = false;
      const end = await run(
        "find",
        {
          eth_getTransactionCount: () => "0x8",
          eth_blockNumber: () =>
            `0x${(isReorged ? 32 : 6 + depth - 1).toString(16)}`,
          eth_getBlockByNumber: () => ({
            transactions: [{ ...rival, blockNumber: "0x6" }],
          }),
          eth_getTransactionReceipt: (occurrence) => {
            isReorged = occurrence > 2;
            return isReorged ? minedIn6 : null;
          },
        },
        { confirmations: 12 },
      );
      expect(end).to.include({ kind, hash: HASH });
    });
  }

  it("settle says with hash and nonce, in one sentence, that the time is over", async () => {
    const waiting = await run(
      "send",
      {
        eth_getTransactionByHash: () => pooled,
      },
      soon(),
    );
    expect(waiting).to.include({ kind: "open", status: "unconfirmed" });
    expect(whyOpen(waiting)).to.equal(
      `The time is over for transaction ${HASH} of ${transaction.from} with nonce 7: it waits in the node's pool.`,
    );
    asked = [];
    const { raw: _, hash: __, ...unsigned } = transaction;
    expect(
      whyOpen(
        await run(
          "send",
          { eth_sendTransaction: () => null },
          soon(),
          unsigned,
        ),
      ),
    ).to.match(
      /^The time is over for the transaction of 0x\S+ with nonce 7: the node does not have it, and sending it failed: /u,
    );
  });

  it("settle is unconfirmed in time if the node or the wallet that signs does not answer", async () => {
    const { raw: _, hash: __, ...unsigned } = transaction;
    const end = await run(
      "send",
      { eth_sendTransaction: async () => await never },
      soon(),
      unsigned,
    );
    expect(end).to.include({ kind: "open", status: "unconfirmed" });
    expect(whyOpen(end)).to.include("with nonce 7");
    expect(asked.filter((one) => one === "eth_sendTransaction")).to.have.length(
      1,
    );
  });

  it("should tell each confirmation once, and again after a re-org", async () => {
    const mined = (block: string): unknown => ({
      transactionHash: HASH,
      blockNumber: block,
      blockHash: `0x${block.slice(2).repeat(64)}`,
      gasUsed: "0x1",
      status: "0x1",
    });
    // Each look asks for the newest block, and then for the receipt.
    const looks: ReadonlyArray<readonly [head: string, receipt: unknown]> = [
      ["0x6", mined("0x6")],
      ["0x6", mined("0x6")],
      ["0x7", mined("0x6")],
      ["0x7", null],
      ["0x8", mined("0x8")],
      ["0x9", mined("0x8")],
      ["0xb", mined("0x8")],
    ];
    const told: string[] = [];
    const end = await run(
      "find",
      {
        eth_blockNumber: (occurrence) => looks[occurrence]?.[0],
        eth_getTransactionReceipt: (occurrence) => looks[occurrence]?.[1],
        eth_getTransactionByHash: () => pooled,
      },
      {
        confirmations: 3,
        emit: (event) => {
          if (event.type === "confirmed") {
            told.push(`${event.confirmations} of ${event.wanted}`);
          }
        },
      },
    );
    expect(end).to.include({ kind: "mined", hash: HASH });
    expect(told).to.deep.equal([
      "1 of 3",
      "2 of 3",
      "1 of 3",
      "2 of 3",
      "3 of 3",
    ]);
  });

  const troubles = (): string[] =>
    events.flatMap((event) => (event.type === "trouble" ? event.message : []));

  describe("where the node does not have it and the round forbids another try", () => {
    const over: Stop = {
      status: "nothing-to-do",
      reason: "The round is settled.",
      code: "VAULT_WRONG_CHAIN",
    };
    const checkRound = async (): Promise<Stop> => await Promise.resolve(over);
    const seen: Answers = { eth_blockNumber: () => "0x6" };

    it("should end with why, where it sent nothing", async () => {
      const end = await run("find", seen, {
        checkRound,
      });
      expect(end).to.include({
        kind: "dropped",
        hash: HASH,
        status: "nothing-to-do",
        code: "VAULT_WRONG_CHAIN",
      });
      expect(end.kind === "dropped" && end.reason).to.match(
        /^The round is settled\. .* is not sent again\. .* nonce 7, takes its place\.$/u,
      );
      expect(sends()).to.equal(0);
    });

    it("should leave it open, where it sent one", async () => {
      const end = await run("send", seen, {
        checkRound,
      });
      expect(end).to.include({ kind: "open", hash: HASH });
      expect(whyOpen(end)).to.match(/^The round .* it is not sent again\.$/u);
      expect(sends()).to.equal(1);
    });

    /** It is mined two looks after the round was checked. */
    const minedLater = (
      check: (block?: number) => Promise<Stop | undefined>,
    ): { answers: Answers; changes: Partial<FollowOptions> } => {
      let isChecked = false;
      let looks = 0;
      return {
        answers: {
          ...seen,
          eth_getTransactionReceipt: () => {
            looks += isChecked ? 1 : 0;
            return looks > 1 ? minedIn6 : null;
          },
        },
        changes: {
          checkRound: async (block) => {
            isChecked = true;
            return await check(block);
          },
        },
      };
    };

    it("should go on where its nonce is used at the block with the obstacle", async () => {
      const { answers, changes } = minedLater(checkRound);
      const end = await run(
        "find",
        {
          ...answers,
          eth_getTransactionCount: (_, [, tag]) =>
            String(tag).startsWith("0x") ? "0x8" : "0x7",
        },
        changes,
      );
      expect(end).to.include({ kind: "mined", hash: HASH });
      expect(sends()).to.equal(0);
    });

    it("should go on where that block has no obstacle", async () => {
      const { answers, changes } = minedLater(
        async (block) =>
          await Promise.resolve(block === undefined ? over : undefined),
      );
      const end = await run("find", answers, changes);
      expect(end).to.include({ kind: "mined", hash: HASH });
      expect(sends()).to.equal(0);
    });
  });

  describe("where another one signs", () => {
    const unsigned = { ...transaction, raw: undefined, hash: undefined };
    const asks = (): number =>
      asked.filter((method) => method === "eth_sendTransaction").length;

    for (const hash of [undefined, HASH]) {
      it(`gives a resumed transaction up after six checks without it, and sends nothing, with the hash ${hash ?? "unknown"}`, async () => {
        const end = await run("find", {}, {}, { ...unsigned, hash });
        expect(end).to.include({
          kind: "dropped",
          hash,
          status: "refused",
          code: "VAULT_SETTLEMENT_LOST",
        });
        expect(end.kind === "dropped" && end.reason).to.include(
          `nonce ${NONCE}`,
        );
        expect(asks()).to.equal(0);
      });

      it(`keeps a resumed transaction open while something with its nonce waits, with the hash ${hash ?? "unknown"}`, async () => {
        const end = await run(
          "find",
          {
            eth_getTransactionCount: (occurrence, [, tag]) => {
              if (occurrence > 20) {
                endDeadlines();
              }
              return tag === "pending" ? "0x8" : "0x7";
            },
            eth_getBlockByNumber: () => ({ transactions: [] }),
          },
          {},
          { ...unsigned, hash },
        );
        expect(end).to.include({ kind: "open", status: "unconfirmed" });
        expect(asks()).to.equal(0);
      });
    }

    it("should be asked for once where it was taken, and remember its hash", async () => {
      const hashes: string[] = [];
      const end = await run(
        "send",
        { eth_sendTransaction: () => HASH },
        {
          ...soon(),
          onHash: async (hash) => {
            hashes.push(hash);
            await Promise.resolve();
          },
        },
        unsigned,
      );
      expect(end).to.include({ kind: "open", hash: HASH });
      expect(asks()).to.equal(1);
      expect(hashes).to.deep.equal([HASH]);
      expect(events).to.deep.equal([
        { type: "sending", hash: null, nonce: NONCE },
        { type: "hash", hash: HASH },
      ]);
    });

    it("should be asked for again where the answer was lost and nothing came", async () => {
      const end = await run(
        "send",
        {
          eth_sendTransaction: (occurrence) => (occurrence > 0 ? HASH : null),
          eth_getTransactionReceipt: () => minedIn6,
        },
        {},
        unsigned,
      );
      expect(end).to.include({ kind: "mined", hash: HASH });
      expect(asks()).to.equal(2);
      expect(troubles()[0]).to.match(/^the answer to sending was lost \(/u);
    });
  });
});
