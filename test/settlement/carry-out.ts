import { mock } from "node:test";

import { expect } from "chai";
import { toQuantity } from "ethers";

import { RpcClient } from "../../src/rpc/rpc-client.js";
import { noRetries } from "../../src/rpc/retry.js";
import { carryOut } from "../../src/settlement/carry-out.js";
import type { Means } from "../../src/settlement/carry-out.js";
import { TimeLimit } from "../../src/settlement/freshness.js";
import type { RoundCheck } from "../../src/settlement/check-round.js";
import type { Outcome, Stopped } from "../../src/settlement/result.js";
import type { Plan } from "../../src/settlement/sighting.js";
import type { SentTransaction } from "../../src/settlement/transaction.js";
import type { SettlementEvent } from "../../src/settlement/types.js";
import { endDeadlines } from "../helpers/deadlines.js";
import {
  HASH,
  OTHER_HASH as OTHER,
  sent as transaction,
} from "../helpers/settlement-stage.js";

/** What a node answers to a method, each time it is asked. */
type Answers = Readonly<
  Record<string, (occurrence: number, params: readonly unknown[]) => unknown>
>;

/** A node that does not have the transaction, and where its nonce is free. */
const unseen: Answers = {
  eth_sendRawTransaction: () => HASH,
  eth_getTransactionReceipt: () => null,
  eth_getTransactionByHash: () => null,
  eth_getTransactionCount: () => "0x7",
  eth_blockNumber: () => "0x6",
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

/** What else the account sent with its nonce. */
const rival = { ...pooled, hash: OTHER, to: transaction.from, input: "0x" };

/** Its nonce is used, by these transactions of block 6. */
const usedBy = (...transactions: readonly object[]): Answers => ({
  eth_getTransactionCount: () => "0x8",
  eth_getBlockByNumber: () => ({
    transactions: transactions.map((one) => ({ ...one, blockNumber: "0x6" })),
  }),
});

/** For what the time ends. */
const soon = (): Partial<Means> => ({ limit: new TimeLimit(400) });

/** A look at the round, answered at once. */
const check = (obstacle?: Stopped): RoundCheck => ({
  obstacle,
  answeredAt: Date.now(),
});

const never = new Promise<never>(() => undefined);

/** More requests than any test's way needs. */
const MOST_REQUESTS = 500;

/** One way of a transaction: what the node answers, and how it ends. */
interface Way {
  readonly title: string;
  readonly start: "send" | "find";
  readonly answers?: Answers;
  readonly changes?: () => Partial<Means>;
  readonly plan?: Partial<Plan>;
  readonly followed?: SentTransaction;
  readonly is: object;
  /** The reason. */
  readonly says?: RegExp;
  /** Number of requests that send it. Default: 0. */
  readonly sends?: number | "any";
  /** Texts of the events of trouble. */
  readonly troubles?: readonly RegExp[];
  /** Called with each method that was asked, and with each event. */
  readonly then?: (
    asked: readonly string[],
    events: readonly SettlementEvent[],
  ) => void;
}

const SEND = "eth_sendRawTransaction";
const ASK = "eth_sendTransaction";
const mined = { kind: "mined", hash: HASH };
const open = { kind: "open", status: "unconfirmed", hash: HASH };
const unsigned = { ...transaction, raw: undefined, hash: undefined };

describe("the way of a settlement's transaction", () => {
  let asked: string[];
  let events: SettlementEvent[];
  /** Milliseconds by which only the wall clock is ahead. */
  let suspended: number;

  beforeEach(() => {
    asked = [];
    events = [];
    suspended = 0;
    const now = Date.now.bind(Date);
    mock.method(Date, "now", () => now() + suspended);
  });
  afterEach(() => {
    mock.restoreAll();
  });

  /** The events of blocks and confirmations, and the warnings, in a few words each. */
  const told = (): readonly string[] =>
    events.flatMap((event) =>
      event.type === "confirmed"
        ? [`${event.confirmations} of ${event.wanted}`]
        : event.type === "trouble"
          ? [event.message]
          : event.type === "mined"
            ? [`in ${event.blockNumber}`]
            : [],
    );

  const run = async ({
    start,
    answers = {},
    changes = () => ({}),
    plan = {},
    followed = transaction,
  }: Way): Promise<Outcome> => {
    const all = { ...unseen, ...answers };
    const rpc = new RpcClient(
      {
        request: async ({ method, params = [] }) => {
          if (asked.length > MOST_REQUESTS) {
            endDeadlines();
          }
          const occurrence = asked.filter((one) => one === method).length;
          asked.push(method);
          return await Promise.resolve(all[method]?.(occurrence, [...params]));
        },
      },
      "test",
    );
    const { outcome } = await carryOut(
      {
        network: "test",
        transactions: [followed],
        sentAfterBlock: 5,
        start,
        confirmations: 1,
        maxFeeBumps: 4,
        ...plan,
      },
      {
        rpc: rpc.withRetries(noRetries),
        limit: new TimeLimit(60_000),
        pollingIntervalMs: 5,
        firstCheckAfterMs: 0,
        checkedAt: Date.now(),
        checkRound: async () => await Promise.resolve(check()),
        sign: async () => await Promise.reject(new Error("no key")),
        record: async (transactions) => await Promise.resolve(transactions),
        emit: (event) => {
          events.push(event);
        },
        ...changes(),
      },
    );
    return outcome;
  };
  const countOf = (method: string): number =>
    asked.filter((one) => one === method).length;
  const sends = (): number => countOf(SEND) + countOf(ASK);

  const itGoes = (ways: readonly Way[]): void => {
    for (const way of ways) {
      it(way.title, async () => {
        const end = await run(way);
        expect(end).to.include(way.is);
        if (way.says !== undefined) {
          expect(end.kind === "mined" ? "" : end.reason).to.match(way.says);
        }
        if (way.sends !== "any") {
          expect(sends()).to.equal(way.sends ?? 0);
        }
        const troubles = events.flatMap((event) =>
          event.type === "trouble" ? [event.message] : [],
        );
        // What became of a send is no news where `troubles` is left out.
        const expected =
          way.troubles ??
          troubles.map(
            () => /^the (?:node answered|answer to sending was lost)/u,
          );
        expect(troubles, troubles.join()).to.have.lengthOf(expected.length);
        for (const [index, text] of expected.entries()) {
          expect(troubles[index]).to.match(text);
        }
        way.then?.(asked, events);
      });
    }
  };

  const minedOnceSent = (times: number) => (): unknown =>
    sends() >= times ? minedIn6 : null;
  /** No receipt; and the time is over when it was sent so often. */
  const overOnceSent = (times: number) => (): null => {
    if (sends() >= times) {
      endDeadlines();
    }
    return null;
  };
  const answeringWith = (words: string): Answers => ({
    [SEND]: () => {
      throw Object.assign(new Error(words), { code: -32000 });
    },
  });
  const NO_FUNDS = "insufficient funds for gas * price + value";
  /** Something with its nonce waits. */
  const nonceWaits: Answers = {
    eth_getTransactionCount: (_, [, tag]) =>
      tag === "pending" ? "0x8" : "0x7",
  };

  itGoes([
    {
      title: "settle keeps the hash of what it sent if its own code fails",
      start: "send",
      changes: () => ({
        emit: ({ type }) => {
          if (type === "mined") {
            throw new Error("a bug");
          }
        },
      }),
      answers: { eth_getTransactionReceipt: () => minedIn6 },
      is: open,
      says: /a bug/u,
      sends: 1,
    },
    ...(["send", "find"] as const).map((start): Way => ({
      title: `settle looks at once, however long its polling interval (first: ${start})`,
      start,
      answers: { eth_getTransactionReceipt: () => minedIn6 },
      changes: () => ({
        limit: new TimeLimit(5_000),
        pollingIntervalMs: 60_000,
      }),
      is: mined,
      sends: start === "send" ? 1 : 0,
    })),
    {
      title: "resume sends a cancellation as soon as it is signed",
      start: "find",
      plan: { requestedReplacement: "cancel" },
      answers: {
        eth_getTransactionByHash: () => pooled,
        [SEND]: () => OTHER,
        eth_getTransactionReceipt: (_, [hash]) =>
          hash === OTHER && sends() > 0
            ? { ...minedIn6, transactionHash: OTHER }
            : null,
      },
      changes: () => ({
        sign: async () => {
          asked.push("signed");
          return await Promise.resolve({
            ...transaction,
            kind: "cancellation" as const,
            raw: "0x03",
            hash: OTHER,
          });
        },
      }),
      is: { kind: "mined", hash: OTHER },
      sends: 1,
      then: (all) => {
        expect(all[all.indexOf("signed") + 1]).to.equal(SEND);
      },
    },
    {
      title: "settle warns once while its looks have no answer",
      start: "find",
      answers: {
        eth_getTransactionReceipt: (occurrence) => {
          if (occurrence < 3) {
            throw new Error("cut");
          }
          return minedIn6;
        },
      },
      is: mined,
      troubles: [/cut/u],
    },
    {
      title:
        "resume sends a cancellation of the journal though the round cannot be read",
      start: "find",
      plan: {
        transactions: [
          transaction,
          { ...transaction, kind: "cancellation", raw: "0x03", hash: OTHER },
        ],
      },
      answers: {
        eth_getTransactionByHash: (_, [hash]) =>
          hash === HASH ? pooled : null,
        [SEND]: () => OTHER,
        eth_getTransactionReceipt: (_, [hash]) =>
          hash === OTHER && sends() > 0
            ? { ...minedIn6, transactionHash: OTHER }
            : null,
      },
      changes: () => ({
        limit: new TimeLimit(5_000),
        checkedAt: undefined,
        checkRound: async () => await Promise.reject(new Error("no state")),
      }),
      is: { kind: "mined", hash: OTHER },
      sends: 1,
      troubles: [],
    },
    {
      title:
        "settle warns once that the round forbids a higher fee while that does not change",
      start: "find",
      plan: { timeBeforeBumpingFees: 0 },
      answers: {
        eth_getTransactionByHash: () => pooled,
        eth_getTransactionReceipt: (occurrence) =>
          occurrence < 5 ? null : minedIn6,
      },
      changes: () => ({
        checkRound: async () =>
          await Promise.resolve(
            check({ kind: "stopped", status: "refused", reason: "Changed." }),
          ),
      }),
      is: mined,
      troubles: [/not replaced at a higher fee: Changed\.$/u],
    },
    {
      title:
        "resume sends no replacement that the journal does not take, since another process finished it",
      start: "find",
      plan: { requestedReplacement: "cancel" },
      answers: {
        eth_getTransactionByHash: () => pooled,
        eth_getTransactionReceipt: (occurrence) =>
          occurrence < 1 ? null : minedIn6,
      },
      changes: () => ({
        sign: async () =>
          await Promise.resolve({ ...transaction, raw: "0x03", hash: OTHER }),
        record: async () => await Promise.resolve(undefined),
      }),
      is: mined,
      troubles: [
        /not cancelled: another process has finished this settlement$/u,
      ],
    },
    {
      title:
        "resume sends no replacement if the time was over when a person had signed it",
      start: "find",
      plan: { requestedReplacement: "cancel" },
      answers: { eth_getTransactionByHash: () => pooled },
      changes: () => ({
        sign: async () => {
          suspended = 61_000;
          return await Promise.resolve({
            ...transaction,
            kind: "cancellation" as const,
            raw: "0x03",
            hash: OTHER,
          });
        },
      }),
      is: open,
      says: /not cancelled: the node did not answer in time\.$/u,
      troubles: [/not cancelled/u],
    },
    {
      title: "settle sends again what the node does not have",
      start: "send",
      answers: { eth_getTransactionReceipt: minedOnceSent(2) },
      is: mined,
      sends: 2,
      troubles: [],
    },
    {
      title: "settle sends once if the round's check has no answer in time",
      start: "send",
      changes: () => ({ ...soon(), checkRound: async () => await never }),
      is: open,
      sends: 1,
      troubles: [/^the node did not answer in time$/u],
    },
    {
      title: "settle sends once if the time is over with the round's check",
      start: "send",
      changes: () => ({
        checkRound: async () => {
          endDeadlines();
          return await Promise.resolve(check());
        },
      }),
      is: open,
      sends: 1,
    },
    {
      title:
        "settle ends open if the process was suspended until its time was over by the wall clock, and sends nothing after that",
      start: "find",
      answers: {
        // The clock of timers stands still meanwhile.
        eth_getTransactionReceipt: () => {
          suspended = 61_000;
          return null;
        },
      },
      is: open,
    },
    {
      title:
        "settle warns, and ends open with the reason, if the round cannot be checked",
      start: "send",
      answers: { eth_getTransactionReceipt: () => null },
      changes: () => ({
        checkRound: async () => {
          endDeadlines();
          return await Promise.reject(new Error("There is no contract code."));
        },
      }),
      is: open,
      says: /^The time is over for .*: Error: There is no contract code\.$/u,
      sends: 1,
      troubles: [/There is no contract code/u],
    },
    ...[
      "upstream request cancelled by timeout",
      "request denied by rate limiter",
      "execution reverted",
      NO_FUNDS,
    ].map((words): Way => ({
      title: `settle waits for the block if a gateway passes its transaction on, answers "${words}", and then asks a node that does not see it`,
      start: "send",
      answers: {
        ...answeringWith(words),
        // Neither the first looks nor what is sent again finds it.
        eth_getTransactionReceipt: (occurrence) =>
          occurrence < 9 ? null : minedIn6,
      },
      is: mined,
      sends: 5,
    })),
    ...(["send", "find"] as const).map((start): Way => ({
      title: `settle is refused, in the node's words, if five sends are answered with an error and five looks after that find nothing (first: ${start})`,
      start,
      answers: answeringWith(NO_FUNDS),
      is: {
        kind: "dropped",
        hash: HASH,
        status: "refused",
        code: "VAULT_RPC_ERROR",
      },
      says: /does not have the transaction, .*: insufficient funds for gas/u,
      sends: 5,
      then: (all) => {
        const looks = all.slice(all.lastIndexOf(SEND));
        expect(
          looks.filter((method) => method === "eth_getTransactionReceipt"),
        ).to.have.length(5);
      },
    })),
    {
      title:
        "settle stays unconfirmed if a transaction with its nonce waits, whatever the node answered",
      start: "send",
      answers: { ...answeringWith("call rejected by upstream"), ...nonceWaits },
      changes: soon,
      is: open,
      sends: 1,
    },
    {
      title:
        "settle warns once, and sends again, if the node drops a transaction that waited",
      start: "find",
      answers: {
        eth_getTransactionByHash: (occurrence) =>
          occurrence === 0 ? pooled : null,
        eth_getTransactionReceipt: minedOnceSent(2),
      },
      is: mined,
      sends: 2,
      troubles: [/^the node dropped the transaction$/u],
    },
    {
      title:
        "settle begins to count errors again after a send without an answer",
      start: "send",
      answers: {
        eth_getTransactionReceipt: () => overOnceSent(9)(),
        [SEND]: (occurrence) => {
          throw Object.assign(
            new Error("nope"),
            occurrence === 4 ? { code: "ECONNRESET" } : { code: -32000 },
          );
        },
      },
      is: open,
      sends: 9,
    },
    ...[11, 12].map((depth): Way => {
      const kind = depth === 11 ? "mined" : "dropped";
      let isReorged = false;
      return {
        title: `settle with 12 confirmations is ${kind} if the transaction that used its nonce was in ${depth} blocks when a re-org mined this one`,
        start: "find",
        answers: {
          ...usedBy(rival),
          eth_blockNumber: () => toQuantity(isReorged ? 32 : 5 + depth),
          eth_getTransactionReceipt: (occurrence) => {
            isReorged = occurrence > 2;
            return isReorged ? minedIn6 : null;
          },
        },
        plan: { confirmations: 12 },
        is: { kind, hash: HASH },
      };
    }),
    {
      title:
        "settle is unconfirmed, and names the transaction, if another one used its nonce",
      start: "find",
      answers: usedBy(rival),
      is: { kind: "dropped", status: "unconfirmed", hash: HASH },
      says: new RegExp(
        `^It was replaced: transaction ${OTHER} .* nonce 7`,
        "u",
      ),
    },
    {
      title:
        "settle is unconfirmed for good if no transaction of any block used its nonce",
      start: "find",
      answers: usedBy(),
      is: { kind: "dropped", status: "unconfirmed", hash: HASH },
      says: /^It was replaced: no transaction of \S+ has its nonce 7, which is used/u,
    },
    {
      title:
        "settle follows its settlement under the new hash if a wallet sped it up",
      start: "find",
      answers: {
        ...usedBy({ ...pooled, hash: OTHER }),
        eth_getTransactionReceipt: (_, [hash]) =>
          hash === OTHER ? { ...minedIn6, transactionHash: OTHER } : null,
      },
      // The journal keeps the hash of the signed bytes.
      changes: () => ({
        record: async () => await Promise.reject(new Error("written")),
      }),
      is: { kind: "mined", hash: OTHER },
      troubles: [new RegExp(`replaced by ${OTHER}`, "u")],
      then: (_, all) => {
        expect(all.at(-2)).to.deep.equal({ type: "hash", hash: OTHER });
      },
    },
    {
      title:
        "settle names account and nonce if the time is over without a hash",
      start: "send",
      answers: { [ASK]: () => null },
      changes: soon,
      followed: unsigned,
      is: { kind: "open", status: "unconfirmed" },
      says: /^The time is over for the transaction of 0x\S+ with nonce 7: the node does not have it, and sending it failed: /u,
      sends: "any",
    },
    {
      title:
        "settle is unconfirmed in time if the node or the wallet that signs does not answer",
      start: "send",
      answers: { [ASK]: async () => await never },
      changes: soon,
      followed: unsigned,
      is: { kind: "open", status: "unconfirmed" },
      says: /with nonce 7/u,
      sends: 1,
      troubles: [/no answer in time/u, /^the node did not answer in time$/u],
    },
  ]);

  it("settle emits each confirmation once, and again after a re-org, of which it warns", async () => {
    const minedIn = (block: string): unknown => ({
      ...minedIn6,
      blockNumber: block,
      blockHash: `0x${block.slice(2).repeat(64)}`,
    });
    // Each look asks for the newest block, and then for the receipt.
    const looks: ReadonlyArray<readonly [head: string, receipt: unknown]> = [
      ["0x6", minedIn("0x6")],
      ["0x6", minedIn("0x6")],
      // A look that fails, which changes nothing.
      ["0x6", "no receipt"],
      ["0x7", minedIn("0x6")],
      ["0x7", null],
      ["0x8", minedIn("0x8")],
      ["0x9", minedIn("0x8")],
      ["0xb", minedIn("0x8")],
    ];
    const end = await run({
      title: "",
      start: "find",
      answers: {
        eth_blockNumber: (occurrence) => looks[occurrence]?.[0],
        eth_getTransactionReceipt: (occurrence) => looks[occurrence]?.[1],
        eth_getTransactionByHash: () => pooled,
      },
      plan: { confirmations: 3 },
      is: {},
    });
    expect(end).to.include(mined);
    const [block, one, failure, ...others] = told();
    expect(failure).to.include("eth_getTransactionReceipt");
    expect([block, one, ...others]).to.deep.equal([
      "in 6",
      "1 of 3",
      "2 of 3",
      "a re-org took the transaction out of block 6",
      "in 8",
      "1 of 3",
      "2 of 3",
      "3 of 3",
    ]);
  });

  it("settle warns of a re-org that moves it to another block of the same height, and counts again", async () => {
    const inBlock = (digit: string): unknown => ({
      ...minedIn6,
      blockHash: `0x${digit.repeat(64)}`,
    });
    // Each look asks for the newest block, and then for the receipt.
    const looks: ReadonlyArray<readonly [head: string, receipt: unknown]> = [
      ["0x7", inBlock("a")],
      ["0x7", inBlock("b")],
      ["0x8", inBlock("b")],
    ];
    const end = await run({
      title: "",
      start: "find",
      answers: {
        eth_blockNumber: (occurrence) => looks[occurrence]?.[0],
        eth_getTransactionReceipt: (occurrence) => looks[occurrence]?.[1],
      },
      plan: { confirmations: 3 },
      is: {},
    });
    expect(end).to.include(mined);
    expect(told()).to.deep.equal([
      "in 6",
      "2 of 3",
      "a re-org took the transaction out of block 6",
      "in 6",
      "2 of 3",
      "3 of 3",
    ]);
  });

  describe("if the node does not have it and the round forbids another send", () => {
    const over: Stopped = {
      kind: "stopped",
      status: "nothing-to-do",
      reason: "The round is settled.",
      code: "VAULT_WRONG_CHAIN",
    };
    const forbid = (): Partial<Means> => ({
      checkRound: async () => await Promise.resolve(check(over)),
    });
    /** It is mined two looks after the round was checked. */
    const minedLater = (
      answers: Answers,
      obstacleAt: (block?: number) => Stopped | undefined,
    ): Pick<Way, "answers" | "changes"> => {
      let isChecked = false;
      let looks = 0;
      return {
        answers: {
          eth_getTransactionReceipt: () => {
            looks += isChecked ? 1 : 0;
            return looks > 1 ? minedIn6 : null;
          },
          ...answers,
        },
        changes: () => ({
          checkRound: async (block) => {
            isChecked = true;
            return await Promise.resolve(check(obstacleAt(block)));
          },
        }),
      };
    };

    itGoes([
      {
        title: "settle ends with the reason if this process sent nothing",
        start: "find",
        changes: forbid,
        is: {
          kind: "dropped",
          hash: HASH,
          status: "nothing-to-do",
          code: "VAULT_WRONG_CHAIN",
        },
        says: /^The round is settled\. .* is not sent again\. .* nonce 7, takes its place\.$/u,
      },
      {
        title: "settle stays open if this process sent it",
        start: "send",
        changes: forbid,
        is: open,
        says: /^The round .* it is not sent again\.$/u,
        sends: 1,
      },
      {
        title:
          "resume is mined if the node has the transaction only once the round, which it settled, was read",
        start: "find",
        answers: {
          eth_getTransactionReceipt: () =>
            asked.includes("eth_blockNumber") ? minedIn6 : null,
        },
        changes: forbid,
        is: mined,
      },
      {
        title:
          "settle goes on if its nonce is used at the block of the obstacle",
        start: "find",
        ...minedLater(
          {
            eth_getTransactionCount: (_, [, tag]) =>
              String(tag).startsWith("0x") ? "0x8" : "0x7",
          },
          () => over,
        ),
        is: mined,
      },
      {
        title: "settle goes on if that block has no obstacle",
        start: "find",
        ...minedLater({}, (block) => (block === undefined ? over : undefined)),
        is: mined,
      },
    ]);
  });

  it("settle warns of a re-org after which the node has lost the transaction", async () => {
    await run({
      title: "",
      start: "find",
      plan: { confirmations: 3 },
      answers: {
        eth_getTransactionReceipt: (occurrence) =>
          occurrence === 0
            ? minedIn6
            : occurrence > 1
              ? { ...minedIn6, blockNumber: "0x7", blockHash: OTHER }
              : null,
        eth_blockNumber: (occurrence) => (occurrence < 2 ? "0x6" : "0x9"),
      },
      is: {},
    });
    expect(told().slice(2, 4)).to.deep.equal([
      "a re-org took the transaction out of block 6",
      "the node dropped the transaction",
    ]);
  });

  it("resume sends only after another look at the round if the answer to the first took longer than five seconds", async () => {
    let checks = 0;
    const checksAtSend: number[] = [];
    await run({
      title: "",
      start: "find",
      answers: {
        [SEND]: () => {
          checksAtSend.push(checks);
          endDeadlines();
          return HASH;
        },
      },
      changes: () => ({
        checkRound: async () => {
          checks += 1;
          suspended += checks === 1 ? 6_000 : 0;
          return await Promise.resolve(check());
        },
      }),
      is: {},
    });
    expect(checksAtSend).to.deep.equal([2]);
  });

  it("resume searches the blocks on from where it was after a look that failed", async () => {
    const searched: number[] = [];
    const end = await run({
      title: "",
      start: "find",
      answers: {
        ...usedBy(),
        eth_blockNumber: () => toQuantity(100),
        eth_getTransactionReceipt: (occurrence) => {
          if (occurrence === 1) {
            throw new Error("cut");
          }
          return null;
        },
        eth_getBlockByNumber: (_, [tag]) => {
          searched.push(Number(tag));
          const transactions = Number(tag) === 100 ? [rival] : [];
          return { transactions };
        },
      },
      is: {},
    });
    expect(end).to.include({ kind: "dropped", status: "unconfirmed" });
    expect(searched).to.deep.equal(
      Array.from({ length: 95 }, (_, index) => index + 6),
    );
  });

  it("settle sends a replacement only after another look at the round if signing it took longer than five seconds", async () => {
    const raised = { ...transaction, raw: "0x03", hash: OTHER };
    let ahead = 0;
    const clock = mock.method(Date, "now", () => 1_700_000_000_000 + ahead);
    let checks = 0;
    let checksAtSend = 0;
    try {
      const end = await run({
        title: "",
        start: "find",
        plan: { requestedReplacement: "bump" },
        answers: {
          eth_getTransactionByHash: (_, [hash]) =>
            hash === HASH ? pooled : null,
          eth_sendRawTransaction: () => {
            checksAtSend = checks;
            return OTHER;
          },
          eth_getTransactionReceipt: (_, [hash]) =>
            hash === OTHER && sends() > 0
              ? { ...minedIn6, transactionHash: OTHER }
              : null,
        },
        changes: () => ({
          checkRound: async () => {
            checks += 1;
            return await Promise.resolve(check());
          },
          sign: async () => {
            ahead += 40_000;
            return await Promise.resolve(raised);
          },
        }),
        is: {},
      });
      expect(end).to.include({ kind: "mined", hash: OTHER });
      expect([sends(), checksAtSend]).to.deep.equal([1, 2]);
    } finally {
      clock.mock.restore();
    }
  });

  describe("if the node signs", () => {
    itGoes([
      {
        title:
          "resume gives a transaction up after six checks without it, and sends nothing",
        start: "find",
        followed: { ...unsigned, hash: HASH },
        is: {
          kind: "dropped",
          hash: HASH,
          status: "refused",
          code: "VAULT_SETTLEMENT_LOST",
        },
        says: /nonce 7/u,
      },
      {
        title:
          "resume keeps a transaction open while something with its nonce waits",
        start: "find",
        answers: {
          eth_getTransactionCount: (occurrence, [, tag]) => {
            if (occurrence > 20) {
              endDeadlines();
            }
            return tag === "pending" ? "0x8" : "0x7";
          },
          eth_getBlockByNumber: () => ({ transactions: [] }),
        },
        followed: unsigned,
        is: { kind: "open", status: "unconfirmed" },
      },
      {
        title: "settle asks once for what was taken, and notes its hash",
        start: "send",
        answers: { [ASK]: () => HASH },
        changes: () => ({
          ...soon(),
          record: async (transactions) => {
            const hash = `noted ${transactions[0].hash ?? "nothing"}`;
            events.push({ type: "hash", hash });
            return await Promise.resolve(transactions);
          },
        }),
        followed: unsigned,
        is: open,
        sends: 1,
        then: (_, all) => {
          expect(all).to.deep.equal([
            { type: "sending", hash: null, nonce: 7 },
            { type: "hash", hash: HASH },
            { type: "hash", hash: `noted ${HASH}` },
          ]);
        },
      },
      {
        title:
          "settle asks once, and stays open, if the answer was lost and nothing came",
        start: "send",
        answers: {
          [ASK]: () => null,
          eth_getTransactionCount: (occurrence) => {
            if (occurrence > 20) {
              endDeadlines();
            }
            return "0x7";
          },
        },
        followed: unsigned,
        is: { kind: "open", status: "unconfirmed" },
        says: /the node does not have it, and sending it failed/u,
        sends: 1,
      },
      {
        title: "settle asks once, and is refused, if a wallet says no",
        start: "send",
        answers: {
          [ASK]: () => {
            throw Object.assign(new Error("User rejected the request."), {
              code: 4001,
            });
          },
        },
        followed: unsigned,
        is: { kind: "dropped", status: "refused", mayStillArrive: true },
        says: /User rejected the request/u,
        sends: 1,
      },
    ]);
  });
});
