import { expect } from "chai";

import { RpcClient } from "../../src/rpc/rpc-client.js";
import { noRetries } from "../../src/rpc/retry.js";
import type { CheckRound } from "../../src/settlement/check-round.js";
import { carryOut } from "../../src/settlement/carry-out.js";
import type { Means } from "../../src/settlement/carry-out.js";
import type { Outcome } from "../../src/settlement/result.js";
import { begin } from "../../src/settlement/state.js";
import type { Plan } from "../../src/settlement/state.js";
import { TimeLimit } from "../../src/settlement/time-limit.js";
import type {
  SentTransaction,
  SentTransactions,
} from "../../src/settlement/transaction.js";
import type { SettlementEvent } from "../../src/settlement/types.js";
import { endDeadlines } from "./deadlines.js";
import {
  HASH,
  OTHER_HASH as OTHER,
  sent as transaction,
} from "./settlement-stage.js";

/** What a node answers to a method, each time it is asked. */
export type Answers = Readonly<
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

export const minedIn6 = {
  transactionHash: HASH,
  blockNumber: "0x6",
  blockHash: HASH,
  gasUsed: "0x1",
  status: "0x1",
};

/** The transaction in the pool. */
export const pooled = {
  hash: HASH,
  from: transaction.from,
  to: transaction.to,
  input: transaction.data,
  nonce: "0x7",
  blockNumber: null,
};

/** What else the account sent with its nonce. */
export const rival = {
  ...pooled,
  hash: OTHER,
  to: transaction.from,
  input: "0x",
};

/** Its nonce is used, by these transactions of block 6. */
export const usedBy = (...transactions: readonly object[]): Answers => ({
  eth_getTransactionCount: () => "0x8",
  eth_getBlockByNumber: () => ({
    transactions: transactions.map((one) => ({ ...one, blockNumber: "0x6" })),
  }),
});

/** For what the time ends. */
export const soon = (): Partial<Means> => ({ limit: new TimeLimit(400) });

/** The round is open. */
export const readOpen: CheckRound = async () =>
  await Promise.resolve(undefined);

/** Signed by another process, which wrote it to the journal. */
export const cancels = {
  ...transaction,
  kind: "cancellation",
  raw: "0x04",
  hash: OTHER,
} as const;

export const never = new Promise<never>(() => undefined);

/** More requests than any test's way needs. */
const MOST_REQUESTS = 500;

/** One way of a transaction: what the node answers, and how it ends. */
export interface Way {
  readonly title: string;
  readonly start: "send" | "find";
  readonly answers?: Answers;
  readonly changes?: () => Partial<Means>;
  readonly plan?: Partial<Plan>;
  readonly followed?: SentTransaction;
  /** Those of the journal. Default: `followed`. */
  readonly transactions?: SentTransactions;
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

export const SEND = "eth_sendRawTransaction";
export const ASK = "eth_sendTransaction";
export const mined = { kind: "mined", hash: HASH };
export const undecided = {
  kind: "undecided",
  status: "unconfirmed",
  hash: HASH,
};
export const unsigned = { ...transaction, raw: undefined, hash: undefined };

interface WaysStage {
  /** Methods that the node was asked for. */
  asked: string[];
  events: SettlementEvent[];
}

interface Ways {
  readonly stage: WaysStage;
  readonly told: () => readonly string[];
  readonly run: (way: Way) => Promise<Outcome>;
  /** Number of requests that sent a transaction. */
  readonly sends: () => number;
  readonly itGoes: (ways: readonly Way[]) => void;
}

/** Ways of a transaction, each on a node of its own. */
export function useWays(): Ways {
  const stage: WaysStage = { asked: [], events: [] };

  beforeEach(() => {
    Object.assign(stage, { asked: [], events: [] });
  });

  /** The events of blocks and confirmations, and the warnings, in a few words each. */
  const told = (): readonly string[] =>
    stage.events.flatMap((event) =>
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
    transactions = [followed],
  }: Way): Promise<Outcome> => {
    const all = { ...unseen, ...answers };
    const rpc = new RpcClient(
      {
        request: async ({ method, params = [] }) => {
          if (stage.asked.length > MOST_REQUESTS) {
            endDeadlines();
          }
          const occurrence = stage.asked.filter((one) => one === method).length;
          stage.asked.push(method);
          return await Promise.resolve(all[method]?.(occurrence, [...params]));
        },
      },
      "test",
    );
    const { outcome } = await carryOut(
      {
        network: "test",
        sentAfterBlock: 5,
        isResumed: start === "find",
        confirmations: 1,
        maxFeeBumps: 4,
        ...plan,
      },
      begin(transactions),
      {
        rpc: rpc.withRetries(noRetries),
        limit: new TimeLimit(60_000),
        pollingIntervalMs: 5,
        firstCheckAfterMs: 0,
        checkRound: readOpen,
        sign: async () => await Promise.reject(new Error("no key")),
        record: async (known) => await Promise.resolve(known),
        emit: (event) => {
          stage.events.push(event);
        },
        ...changes(),
      },
    );
    return outcome;
  };
  const countOf = (method: string): number =>
    stage.asked.filter((one) => one === method).length;
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
        const troubles = stage.events.flatMap((event) =>
          event.type === "trouble" ? [event.message] : [],
        );
        // What became of a send is no news where `troubles` is left out.
        const expected =
          way.troubles ??
          troubles.map(
            () =>
              /^the (?:node answered|answer to sending was lost|transaction may not have left)/u,
          );
        expect(troubles, troubles.join()).to.have.lengthOf(expected.length);
        for (const [index, text] of expected.entries()) {
          expect(troubles[index]).to.match(text);
        }
        way.then?.(stage.asked, stage.events);
      });
    }
  };

  return { stage, told, run, sends, itGoes };
}
