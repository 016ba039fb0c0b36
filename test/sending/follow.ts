import { expect } from "chai";
import { Transaction, toQuantity } from "ethers";

import { vaultError } from "../../src/errors.js";
import { noRetries } from "../../src/rpc/rpc-client.js";
import { Following } from "../../src/sending/follow.js";
import { TimeLimit, nothingToDo } from "../../src/sending/job.js";
import type { Job, Replacing, End } from "../../src/sending/job.js";
import type { SentTransaction } from "../../src/sending/transaction.js";
import type { SettlementEvent } from "../../src/settlement/options.js";
import { endDeadlines, speedUpTime } from "../helpers/deadlines.js";
import {
  itSettles,
  remote,
  sent as ours,
  useKeeper,
} from "../helpers/keeper.js";
import { HASH, OTHER_HASH } from "../helpers/names.js";
import { recording } from "../helpers/recording-node.js";

const SEND = "eth_sendRawTransaction";
const RECEIPT = "eth_getTransactionReceipt";

const higher = { ...ours, raw: "0x03", hash: OTHER_HASH } as const;
const cancellation = { ...higher, kind: "cancellation", raw: "0x04" } as const;
const unsigned = { ...ours, raw: undefined, hash: undefined };
const inBlock6 = {
  ...{ transactionHash: HASH, blockNumber: "0x6", blockHash: HASH },
  ...{ gasUsed: "0x1", status: "0x1" },
};
const closed = {
  kind: "stopped",
  status: "refused",
  reason: "Changed.",
} as const;

const notEnded = { ...nothingToDo("It has not ended."), isEarly: true };

/** The round as a node shows it that is asked first, and as one behind it does. */
function earlyAfterSend(): Job["checkRound"] {
  let reads = 0;
  return async () => {
    reads += 1;
    return await Promise.resolve(reads === 1 ? undefined : notEnded);
  };
}

interface Case {
  readonly title: string;
  readonly plan?: Partial<Job & Replacing>;
  /** Oldest first. Default: the signed settlement. */
  readonly transactions?: readonly [SentTransaction, ...SentTransaction[]];
  /** By method; the node gets how often it was asked before. */
  readonly answers?: Readonly<
    Record<string, (before: number, params: readonly unknown[]) => unknown>
  >;
  readonly means?: Partial<Job & Replacing>;
  readonly is: object;
  readonly says?: RegExp;
  /** The bytes that are sent. */
  readonly sends?: readonly unknown[];
  readonly troubles?: readonly RegExp[];
  /** The step right before each of a kind: a request, `round` or `sign`. */
  readonly before?: Readonly<Record<string, readonly string[]>>;
}

const resumed = { isResumed: true } as const;
const HEAD = 1_300_000;
/** As a node returns it. */
const seen = {
  ...{ hash: HASH, from: ours.from, to: ours.to },
  ...{ input: ours.data, nonce: "0x7", blockNumber: null },
};
const pending = { eth_getTransactionByHash: () => seen };
const minedAfter =
  (looks: number) =>
  (before: number): unknown =>
    before < looks ? null : inBlock6;
const mined = { kind: "mined", hash: HASH };
const undecided = { kind: "undecided", status: "unconfirmed", hash: HASH };
const signing =
  (transaction: typeof cancellation | typeof higher): Replacing["sign"] =>
  async () =>
    await Promise.resolve(transaction);
const forbids: Replacing["sign"] = async () =>
  await Promise.reject(new Error("1 wei"));
const NOBODY_SEEN =
  /^It was replaced: nonce 7 of \S+ is used, and no block that the node shows has the transaction/u;
const stale = vaultError("VAULT_STALE_HEAD", {
  ...{ network: "test", block: 1, age: 301, limit: 300 },
});
const unreachable = vaultError("VAULT_NETWORK_UNREACHABLE", {
  ...{ network: "test", problem: "no route", remedy: "Look." },
});
const fullDisk = vaultError("VAULT_JOURNAL_NOT_WRITTEN", {
  ...{ file: "a.json", problem: "no space left" },
});
const failsToRead: Case["means"] = {
  checkRound: async () => await Promise.reject(new Error("no state")),
};

describe("Following", () => {
  // Time passes by itself: a limit is over once nothing else is left to do.
  speedUpTime();
  let did: string[];
  let sends: unknown[];
  let events: SettlementEvent[];

  const run = async ({
    plan = {},
    transactions = [ours],
    answers = {},
    means = {},
  }: Omit<Case, "is" | "title">): Promise<End> => {
    did = [];
    sends = [];
    events = [];
    const all: Case["answers"] = {
      [SEND]: () => HASH,
      eth_getTransactionCount: () => "0x7",
      eth_blockNumber: () => "0x6",
      ...answers,
    };
    const node = recording((method, params) => {
      const before = did.filter((one) => one === method).length;
      did.push(method);
      if (method === SEND) {
        sends.push(params[0]);
      }
      return all[method]?.(before, params) ?? null;
    });
    const { checkRound, sign, record, ...others } = means;
    const following = new Following({
      rpc: node.rpc.withRetries(noRetries),
      transactions,
      ...{ sentAfterBlock: 5, confirmations: 1, isResumed: false },
      limit: new TimeLimit(2_000, node.rpc),
      pollingIntervalMs: 10,
      emit: (event) => events.push(event),
      ...plan,
      ...others,
      checkRound: async (at) => {
        did.push("round");
        return await checkRound?.(at);
      },
      record: record ?? (async () => await Promise.resolve(true)),
      replacing: {
        maxFeeBumps: 4,
        ...plan,
        sign: async (...asked) => {
          did.push("sign");
          return await (sign?.(...asked) ??
            Promise.reject(new Error("no key")));
        },
      },
    });
    return await following.toEnd();
  };
  const troubles = (): readonly string[] =>
    events.flatMap((event) => (event.type === "trouble" ? event.message : []));

  const cases: readonly Case[] = [
    {
      title: "keeps the hash of what it sent if its own code fails",
      answers: { [RECEIPT]: () => inBlock6 },
      means: {
        emit: ({ type }) => {
          if (type === "mined") {
            throw new Error("a bug");
          }
        },
      },
      is: undecided,
      says: /a bug/u,
      sends: ["0x02"],
    },
    {
      title:
        "names the one that is mined, not the newest, if the time is over before it has its confirmations",
      plan: resumed,
      transactions: [ours, higher],
      answers: {
        [RECEIPT]: (_, [hash]) => (hash === HASH ? inBlock6 : null),
      },
      means: { confirmations: 3 },
      is: undecided,
      says: /The time is over/u,
    },
    {
      title: "looks at once, however long its polling interval",
      plan: resumed,
      answers: { [RECEIPT]: () => inBlock6 },
      means: { pollingIntervalMs: 3_600_000 },
      is: mined,
    },
    {
      title: "sends nothing if the time is over when the round is read",
      means: {
        checkRound: async () => {
          endDeadlines();
          await Promise.resolve();
          return undefined;
        },
      },
      is: { kind: "stopped", code: "VAULT_RPC_TIMEOUT" },
    },
    {
      title: "sends nothing while the round cannot be read, and warns once",
      means: failsToRead,
      is: { kind: "stopped", code: "VAULT_RPC_TIMEOUT" },
      says: /so nothing was sent: the node did not answer in time\.$/u,
      troubles: [/no state/u],
    },
    {
      title:
        "sends nothing, and says so at once, if the newest block is too old",
      means: { checkRound: async () => await Promise.reject(stale) },
      is: { kind: "stopped", status: "refused", code: "VAULT_STALE_HEAD" },
      says: /^(?!.*in time).* is 301 s old/u,
      troubles: [/is 301 s old/u],
    },
    {
      title: "sends nothing, and says why, while the node cannot be reached",
      means: { checkRound: async () => await Promise.reject(unreachable) },
      is: { kind: "stopped", code: "VAULT_NETWORK_UNREACHABLE" },
      says: /so nothing was sent: .*no route/u,
      troubles: [/no route/u],
    },
    {
      title:
        "says that nothing was sent if the journal cannot be written before the first send",
      means: { record: async () => await Promise.reject(fullDisk) },
      is: {
        ...{ kind: "stopped", status: "refused" },
        code: "VAULT_JOURNAL_NOT_WRITTEN",
      },
      says: /no space left.*Without a journal nothing is sent\.$/u,
    },
    {
      title:
        "says why the node refused it, also if the time is over while it is sent again",
      answers: {
        [SEND]: async (before) => {
          if (before > 0) {
            await new Promise(() => undefined);
          }
          throw Object.assign(new Error("nonce too low"), { code: -32_000 });
        },
      },
      is: undecided,
      says: /the node does not have it.*; sending it failed: .*nonce too low/u,
      sends: ["0x02", "0x02"],
      troubles: [/nonce too low/u, /no answer in time/u],
    },
    {
      title:
        "leaves what another process may have sent open if the journal cannot be written",
      plan: resumed,
      means: { record: async () => await Promise.reject(fullDisk) },
      is: undecided,
      says: /no space left/u,
    },
    {
      title:
        "leaves what another process may have sent open if a node that is behind shows that the round has not ended",
      plan: resumed,
      means: { checkRound: async () => await Promise.resolve(notEnded) },
      is: undecided,
      says: /The time is over/u,
    },
    {
      title:
        "leaves what another process may have sent open if a node that is behind shows another round",
      plan: { ...resumed, sentAfterBlock: 7 },
      means: { checkRound: async () => await Promise.resolve(closed) },
      is: undecided,
      says: /The time is over/u,
    },
    {
      title:
        "does not say that it waits in the pool of a node that gives no answer since",
      plan: resumed,
      answers: {
        ...pending,
        [RECEIPT]: (before) => {
          if (before > 1) {
            throw unreachable;
          }
          return null;
        },
      },
      is: undecided,
      says: /waits in the node's pool, as last seen; since then .*no route/u,
      troubles: [/no route/u],
    },
    {
      title:
        "cancels nothing that is mined when the key turns out to be missing",
      plan: { ...resumed, requested: "cancel" },
      answers: { ...pending, [RECEIPT]: minedAfter(1) },
      is: mined,
      troubles: [/not cancelled: no key/u],
    },
    {
      title:
        "waits for the confirmations of what is mined when the key for its cancellation turns out to be missing",
      plan: { ...resumed, requested: "cancel", confirmations: 2 },
      answers: {
        ...pending,
        [RECEIPT]: minedAfter(1),
        eth_blockNumber: (before) => (before < 3 ? "0x6" : "0x7"),
      },
      is: mined,
      troubles: [/not cancelled: no key/u],
    },
    {
      title: "sends a higher fee again if the node has the earlier one alone",
      plan: resumed,
      transactions: [ours, higher],
      answers: {
        eth_getTransactionByHash: (_, [hash]) => (hash === HASH ? seen : null),
        [RECEIPT]: (_, [hash]) =>
          hash === OTHER_HASH && sends.length > 0
            ? { ...inBlock6, transactionHash: hash }
            : null,
      },
      is: { kind: "mined", hash: OTHER_HASH },
      sends: ["0x03"],
    },
    {
      title:
        "is not misled by a node of another branch that shows once another transaction with its nonce",
      plan: resumed,
      answers: {
        eth_getTransactionCount: () => "0x8",
        eth_getBlockByNumber: () => ({
          transactions: [{ ...seen, input: "0x", hash: OTHER_HASH }],
        }),
        [RECEIPT]: minedAfter(1),
      },
      is: mined,
    },
    {
      title:
        "reads the round as the last request before it sends again, and not the journal",
      plan: resumed,
      answers: { [RECEIPT]: () => (sends.length > 1 ? inBlock6 : null) },
      means: {
        record: async () => await Promise.resolve(sends.length === 0),
      },
      is: mined,
      sends: ["0x02", "0x02"],
      before: { [SEND]: ["round", "round"] },
    },
    {
      title: "reads the round before it signs and sends a higher fee",
      plan: { ...resumed, timeBeforeBumpingFees: 1 },
      answers: {
        ...pending,
        [RECEIPT]: (_, [hash]) =>
          hash === OTHER_HASH ? { ...inBlock6, transactionHash: hash } : null,
      },
      means: { sign: signing(higher) },
      is: { kind: "mined", hash: OTHER_HASH },
      sends: ["0x03"],
      before: { sign: ["round"], [SEND]: ["round"] },
    },
    {
      title:
        "looks on if a node that is behind shows after the send that the round has not ended",
      answers: { [RECEIPT]: minedAfter(5) },
      means: { checkRound: earlyAfterSend() },
      is: mined,
      sends: ["0x02"],
    },
    {
      title: "warns once that the round forbids a higher fee",
      plan: { ...resumed, timeBeforeBumpingFees: 0 },
      answers: { ...pending, [RECEIPT]: minedAfter(5) },
      means: { checkRound: async () => await Promise.resolve(closed) },
      is: mined,
      troubles: [/not replaced at a higher fee: Changed\.$/u],
    },
    {
      title: "signs no higher fee while the newest block is too old",
      plan: { ...resumed, timeBeforeBumpingFees: 0 },
      answers: { ...pending, [RECEIPT]: minedAfter(5) },
      means: { checkRound: async () => await Promise.reject(stale) },
      is: mined,
      troubles: [/is 301 s old/u],
      before: { sign: [] },
    },
    {
      title: "sends a cancellation as soon as it is signed, whatever the round",
      plan: { ...resumed, requested: "cancel" },
      answers: { ...pending, [SEND]: () => OTHER_HASH },
      means: { sign: signing(cancellation), ...failsToRead },
      is: { kind: "undecided", hash: OTHER_HASH },
      sends: ["0x04"],
      before: { [SEND]: ["sign"] },
    },
    ...(
      [
        ["the key is missing", {}, /not cancelled: no key$/u],
        ["a limit forbids it", { sign: forbids }, /not cancelled: 1 wei$/u],
        [
          "another process goes on with the settlement",
          {
            sign: signing(cancellation),
            record: async () => await Promise.resolve(false),
          },
          /not cancelled: another process goes on with this settlement, or has finished it$/u,
        ],
        [
          "the time is over when a person has signed it",
          {
            sign: async (...asked: Parameters<Replacing["sign"]>) => {
              endDeadlines();
              return await signing(cancellation)(...asked);
            },
          },
          /not cancelled: the node did not answer in time$/u,
        ],
      ] as const
    ).map(([why, means, trouble]): Case => ({
      title: `sends no cancellation, and says once why, if ${why}`,
      plan: { ...resumed, requested: "cancel" },
      answers: pending,
      means,
      is: undecided,
      says: /^It is not mined yet, and the transaction is not cancelled/u,
      troubles: [trouble],
    })),
    ...[true, false].map((isResumed): Case => ({
      title: `sends nothing if another process has finished the settlement, resumed: ${isResumed}`,
      plan: { isResumed },
      means: { record: async () => await Promise.resolve(false) },
      is: undecided,
      says: /another process goes on with this settlement, or has finished it/u,
    })),
    {
      title: "follows its settlement under the hash that a wallet gave it",
      plan: resumed,
      answers: {
        eth_getTransactionCount: () => "0x8",
        eth_getBlockByNumber: () => ({
          transactions: [{ ...seen, hash: OTHER_HASH, blockNumber: "0x6" }],
        }),
        [RECEIPT]: (_, [hash]) =>
          hash === OTHER_HASH ? { ...inBlock6, transactionHash: hash } : null,
      },
      is: { kind: "mined", hash: OTHER_HASH },
      troubles: [new RegExp(`replaced by ${OTHER_HASH}`, "u")],
    },
    ...(
      [
        ["keeps the state of all blocks", 700_000, 0],
        ["has pruned it", HEAD - 30, HEAD - 20],
      ] as const
    ).map(([title, usedAt, oldest]): Case => ({
      title: `finds in a month of blocks what used the nonce, if the node ${title}`,
      plan: resumed,
      answers: {
        eth_blockNumber: () => toQuantity(HEAD),
        eth_getTransactionCount: (_, [, block]) => {
          const number = block === "latest" ? HEAD : Number(block);
          if (number < oldest) {
            throw Object.assign(new Error("missing trie node"), {
              code: -32_000,
            });
          }
          return number >= usedAt ? "0x8" : "0x7";
        },
        eth_getBlockByNumber: (before, [block]) => {
          expect(before).to.be.below(64);
          return {
            transactions:
              Number(block) === usedAt
                ? [{ ...seen, input: "0x", hash: OTHER_HASH }]
                : [],
          };
        },
      },
      is: { kind: "dropped", status: "unconfirmed" },
      says: new RegExp(
        `transaction ${OTHER_HASH} of \\S+ used its nonce 7`,
        "u",
      ),
    })),
    {
      title:
        "says that the user of the nonce cannot be seen if the node has pruned its block's state",
      plan: resumed,
      answers: {
        eth_blockNumber: () => toQuantity(HEAD),
        eth_getTransactionCount: (_, [, block]) => {
          if (block !== "latest" && Number(block) < HEAD - 20) {
            throw Object.assign(new Error("missing trie node"), {
              code: -32_000,
            });
          }
          return "0x8";
        },
        eth_getBlockByNumber: () => ({ transactions: [] }),
      },
      is: { kind: "dropped", status: "unconfirmed" },
      says: NOBODY_SEEN,
    },
    {
      title: "searches again after a look, until it was searched for twice",
      plan: resumed,
      answers: {
        eth_getTransactionCount: () => "0x8",
        eth_getBlockByNumber: () => ({ transactions: [] }),
      },
      is: { kind: "dropped", status: "unconfirmed" },
      says: NOBODY_SEEN,
    },
  ];
  for (const one of cases) {
    it(one.title, async () => {
      const outcome = await run(one);
      expect(outcome).to.include(one.is);
      const reason = outcome.kind === "mined" ? "" : outcome.reason;
      expect(reason).to.match(one.says ?? /(?:)/u);
      expect(sends).to.deep.equal(one.sends ?? []);
      const { troubles: expected = [] } = one;
      expect(troubles(), troubles().join()).to.have.lengthOf(expected.length);
      expected.forEach((text, index) => {
        expect(troubles()[index]).to.match(text);
      });
      for (const [step_, before] of Object.entries(one.before ?? {})) {
        expect(
          did.flatMap((done, at) => (done === step_ ? did[at - 1] : [])),
        ).to.deep.equal(before);
      }
    });
  }

  it("asks for a higher fee again only after timeBeforeBumpingFees", async () => {
    let tries = 0;
    await run({
      plan: { ...resumed, timeBeforeBumpingFees: 60_000 },
      answers: { ...pending, [RECEIPT]: minedAfter(6) },
      means: {
        sign: async () => {
          tries += 1;
          return await Promise.reject(new Error("declined"));
        },
      },
    });
    expect(tries).to.equal(1);
  });

  it("emits the hash that a node gives, and warns if the journal cannot take it", async () => {
    const recorded: unknown[] = [];
    await run({
      transactions: [unsigned],
      answers: { eth_sendTransaction: () => HASH },
      means: {
        record: async ([{ hash }]) => {
          recorded.push(hash);
          return await (hash === undefined
            ? Promise.resolve(true)
            : Promise.reject(new Error("disk full")));
        },
      },
    });
    expect(events).to.deep.equal([
      { type: "sending", hash: null, nonce: 7 },
      { type: "hash", hash: HASH },
      { type: "trouble", message: "Error: disk full" },
    ]);
    expect(recorded).to.deep.equal([undefined, HASH]);
  });

  /** One look: the transaction in a block of this branch, while `head` is the newest. */
  const at = (blockNumber: number, head: number, branch = "ab") => ({
    head,
    receipt: {
      ...inBlock6,
      ...{ blockNumber, blockHash: `0x${branch.repeat(32)}` },
    },
  });
  const pool = { transaction: seen } as const;
  const gone = {} as const;
  const failed = { problem: "cut" } as const;
  const CUT = "Network testnet refused eth_getTransactionReceipt: cut.";
  const REORG = "a re-org took the transaction out of block 6";
  const DROPPED = "the node dropped the transaction";

  interface Look {
    readonly head?: number;
    readonly receipt?: object;
    readonly transaction?: object;
    readonly problem?: string;
  }
  const courses: ReadonlyArray<
    readonly [string, readonly Look[], readonly string[]]
  > = [
    [
      "tells the block and each confirmation once",
      [at(6, 6), at(6, 6), at(6, 7), at(6, 9)],
      ["in 6", "1 of 3", "2 of 3", "3 of 3"],
    ],
    [
      "tells of a re-org to a later block, and counts again",
      [at(6, 7), pool, at(8, 8)],
      ["in 6", "2 of 3", REORG, "in 8", "1 of 3"],
    ],
    [
      "tells of a re-org to another block of the same height",
      [at(6, 7), at(6, 7, "cd"), at(6, 8, "cd")],
      ["in 6", "2 of 3", REORG, "in 6", "2 of 3", "3 of 3"],
    ],
    [
      "tells of a re-org after which the node has lost the transaction",
      [at(6, 6), gone],
      ["in 6", "1 of 3", REORG, DROPPED],
    ],
    [
      "tells once that a transaction that waited is gone",
      [pool, gone, gone],
      [DROPPED],
    ],
    [
      "tells once of looks that fail, which change nothing",
      [at(6, 6), failed, at(6, 6), failed, at(6, 7)],
      ["in 6", "1 of 3", CUT, "2 of 3"],
    ],
  ];
  for (const [title, looks, news] of courses) {
    it(title, async () => {
      const left: Look[] = [...looks];
      let now: Look = {};
      await run({
        plan: { ...resumed, confirmations: 3 },
        answers: {
          eth_blockNumber: () => {
            now = left.shift() ?? now;
            return toQuantity(now.head ?? 6);
          },
          [RECEIPT]: () => {
            if (now.problem !== undefined) {
              throw new Error(now.problem);
            }
            return now.receipt ?? null;
          },
          eth_getTransactionByHash: () => now.transaction ?? null,
        },
      });
      expect(
        // It is also sent again.
        events
          .filter(({ type }) => type !== "sending")
          .map((event) =>
            event.type === "confirmed"
              ? `${event.confirmations} of ${event.wanted}`
              : event.type === "trouble"
                ? event.message
                : event.type === "mined"
                  ? `in ${event.blockNumber}`
                  : event.type,
          ),
      ).to.deep.equal(news);
    });
  }
});

describe("settleAll, with a transaction that is not mined", () => {
  const keeper = useKeeper();
  const bump = { resume: true, bump: true } as const;
  const cancel = { resume: true, cancel: true } as const;
  const ended = async (_: unknown, answer: () => Promise<unknown>) =>
    await answer();
  const bumping = { vault: { timeBeforeBumpingFees: 0, maxFeeBumps: 2 } };

  /** It waits in the pool; the next run ends at its fifth look. */
  const wait = async (): Promise<void> => {
    keeper.stopMining();
    await keeper.settle();
    keeper.chain.asked.length = 0;
    keeper.endAtLook(5);
  };
  /** Refused by the node however often it was sent. */
  const refuseForGood = async (): Promise<void> => {
    keeper.chain.on(SEND, () => {
      throw Object.assign(new Error("no"), { code: -32_000 });
    });
    keeper.endAtLook(6);
    expect(await keeper.settle()).to.include({ status: "unconfirmed" });
    keeper.chain.on("eth_getTransactionReceipt", ended);
    keeper.chain.on(SEND, ended);
    keeper.chain.asked.length = 0;
  };

  itSettles(keeper, [
    {
      title: "settleAll raises its fees as often as the settings allow",
      given: ({ chain }) => {
        chain.mines = false;
        keeper.endAtLook(20);
      },
      network: bumping,
      is: "unconfirmed",
      sends: 3,
      then: ({ chain }, settlement) => {
        const all = chain.asked
          .filter(({ method }) => method === SEND)
          .map(({ params: [raw] }) => Transaction.from(String(raw)));
        expect(all.map(({ hash }) => hash)).to.deep.equal(settlement.hashes);
        const calls = all.map(({ to, data, nonce }) => [to, data, nonce]);
        expect(new Set(calls.map(String))).to.have.property("size", 1);
        const tips = all.map((one) => one.maxPriorityFeePerGas);
        expect(tips).to.deep.equal([1n, 2n, 3n]);
      },
    },
    {
      title: "resume raises no fee by itself, whatever the settings are",
      given: wait,
      network: bumping,
      options: { resume: true },
      is: "unconfirmed",
      sends: 0,
    },
    {
      title:
        "settleAll with resumeFirst raises the fees of an earlier run as often as the settings allow",
      given: async (on) => {
        await wait();
        on.endAtLook(20);
      },
      network: bumping,
      options: { resumeFirst: true },
      is: "unconfirmed",
      sends: 2,
    },
    {
      title:
        "settleAll raises its fees four times if no setting says how often",
      given: ({ chain }) => {
        chain.mines = false;
        keeper.endAtLook(40);
      },
      network: { vault: { timeBeforeBumpingFees: 0 } },
      is: "unconfirmed",
      sends: 5,
      events: `preflight sending${" replacing".repeat(4)}`,
    },
    {
      title: "resume with bump asks a person, and raises no fee after No",
      given: wait,
      options: {
        ...bump,
        confirmReplacement: async () => await Promise.resolve("too much"),
      },
      is: "unconfirmed",
      says: ["too much"],
      sends: 0,
    },
    {
      title:
        "resume cancels a settlement whose bytes the node refuses for good",
      given: refuseForGood,
      options: cancel,
      is: "cancelled",
      sends: 1,
    },
    {
      title:
        "resume with cancel refuses without signed bytes, and keeps the journal: VAULT_CANNOT_REPLACE",
      given: async (on) => {
        await on.interrupt(remote);
      },
      network: remote,
      options: cancel,
      is: "refused VAULT_CANNOT_REPLACE",
      then: async () => {
        expect(await keeper.journal()).to.have.property("transactions");
      },
    },
  ]);

  it("resume with bump follows both transactions, and the one that is mined counts", async () => {
    await wait();
    const bumped = await keeper.settle(bump);
    expect(bumped).to.include({ status: "unconfirmed" });
    expect(bumped.hashes).to.have.length(2);
    keeper.chain.on("eth_getTransactionReceipt", ended);
    keeper.chain.mine();
    expect(await keeper.settle({ resume: true })).to.deep.include({
      ...{ status: "settled", hash: bumped.hashes[1], hashes: bumped.hashes },
    });
  });
});
