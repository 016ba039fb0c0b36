import { expect } from "chai";

import { encodeGuarded } from "../../src/guard/round-guard.js";
import { getReceipt } from "../../src/rpc/transactions.js";
import type { Receipt } from "../../src/rpc/transactions.js";
import type { JournalEntry } from "../../src/sending/journal.js";
import { readResult } from "../../src/settlement/effect.js";
import type { End } from "../../src/sending/job.js";
import { nothingToDo } from "../../src/sending/job.js";
import type { SettlementResult } from "../../src/settlement/effect.js";
import type { Settlement, VaultRound } from "../../src/types.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { fieldsOf } from "../helpers/fields.js";
import { GUARD, entry, unsigned } from "../helpers/keeper.js";
import { HASH, OTHER_HASH } from "../helpers/names.js";
import { transferLog } from "../helpers/scripted-chain.js";
import type { Waiting } from "../helpers/scripted-chain.js";
import {
  FACTORY,
  OPEN_ROUND,
  SETTLE,
  VAULT,
  nextRound,
  settledRound,
  word,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import { NOT_YET } from "../helpers/settlement-cases.js";

const NEXT = nextRound(OPEN_ROUND);
const SETTLED = settledRound(OPEN_ROUND);
const [transaction] = entry.transactions;
const ours: Waiting = { ...unsigned, hash: HASH };
/** Of ours, which settles nothing, and is no revert either. */
const idle: Waiting = { ...ours, data: "0x" };
const toVault: Waiting = { ...ours, hash: OTHER_HASH, data: "0x12" };
const nothing = (round: VaultRound): VaultRound => round;
const TOKEN = `0x${"44".repeat(20)}` as const;

const guarded = {
  ...{ ...transaction, to: GUARD },
  data: encodeGuarded(VAULT, {
    ...{ factory: FACTORY, round: OPEN_ROUND },
    ...{ mustHaveEnded: false, mustSettle: true, tokens: [] },
  }),
};
const guardedEntry: JournalEntry = {
  ...{ ...entry, guard: GUARD, transactions: [guarded] },
};

/** A mined transaction, and what is reported of it. */
interface Case {
  readonly title: string;
  /** From block 6 on: what others change, or transactions. Default: ours alone. */
  readonly blocks?: ReadonlyArray<typeof nothing | readonly Waiting[]>;
  /** The round that block 6 leaves, if not the settled one. */
  readonly leaves?: VaultRound;
  readonly reverts?: true;
  /** What is odd about the node once that is mined. */
  readonly node?: () => void;
  readonly receipt?: Partial<Receipt>;
  /** True if it goes through a guard. */
  readonly isGuarded?: true;
  /** True if it was sent as one of several steps. */
  readonly isStep?: true;
  readonly is: Settlement["status"] | Partial<Settlement>;
  readonly says?: RegExp;
  /** Default: true. */
  readonly isFinal?: boolean;
  readonly block?: SettlementResult["block"];
  /** Gas and block of the calls that ask for the reason of a revert. */
  readonly asked?: readonly unknown[];
}

let chain: ScriptedNode;
/** The node has no state of a block, by number and by hash; the guard has that much of the token. */
const forgets = (block: number, held?: bigint) => (): void => {
  chain.on("eth_call", async (params, answer) => {
    const { blockHash, blockNumber = params[1] } = fieldsOf(params[1]);
    const number = `0x${block.toString(16)}`;
    const { hash } = fieldsOf(
      await chain.answerTo("eth_getBlockByNumber", [number, false]),
    );
    if (blockNumber === number || blockHash === hash) {
      throw new Error("missing trie node");
    }
    return held !== undefined && fieldsOf(params[0])["to"] === TOKEN
      ? `0x${word(held)}`
      : await answer();
  });
};
/** A node of another branch answers for this number. */
const forks = (block: number) => (): void => {
  chain.on("eth_call", async (params, answer) => {
    if (params[1] === `0x${block}`) {
      chain.rounds[block] = NEXT;
    }
    return await answer();
  });
};
async function receiptOf(): Promise<Receipt> {
  const receipt = await getReceipt(chain.host().rpc, HASH);
  if (receipt === undefined) {
    throw new Error("it is not mined");
  }
  return receipt;
}
async function reportOf(
  outcome: End,
  host = hostOf(),
  of = entry,
): Promise<SettlementResult> {
  return await readResult(host, of, outcome, null, 10_000);
}
function hostOf(type = "http") {
  return chain.host({ settings: { type } });
}

const settled = { status: "settled", code: null, reason: null } as const;
const notSettled = {
  status: "not-settled",
  code: "VAULT_WOULD_NOT_SETTLE",
} as const;
const otherRound = { ...notSettled, code: "VAULT_ROUND_CHANGED" } as const;
const noState = {
  status: "unconfirmed",
  code: "VAULT_ARCHIVE_NODE_NEEDED",
} as const;
const late = { status: "nothing-to-do", code: null } as const;
const unread = {
  is: { status: "unconfirmed", after: null, blockNumber: null, gasUsed: null },
  says: /^The node showed it in block \d+, but the round in that block could not be read: what it settled is not known, and it may still be mined/u,
  isFinal: false,
} as const;
const ARCHIVE = /an archive node can show/u;
const reverted = { status: "reverted", code: "VAULT_CALL_REVERTED" } as const;
const outOfGas = { ...reverted, code: "VAULT_OUT_OF_GAS" } as const;
/** 95 % of its gas. */
const usedUp = { gasUsed: 95_000n };

const cases: Readonly<Record<string, readonly Case[]>> = {
  "a transaction that succeeded": [
    {
      title: "is settled, with the round and the time of its block",
      blocks: [[ours], nextRound],
      is: { ...settled, after: SETTLED },
      block: { number: 6, timestamp: 1_700_000_006 },
    },
    ...[5, 6].map((block) => ({
      title: `is settled if a node of another branch would answer for the number ${block}`,
      node: forks(block),
      is: settled,
    })),
    {
      title: "is settled if its receipt has no status",
      receipt: { succeeded: undefined },
      is: settled,
    },
    {
      title: "is settled if the node that is asked first lacks its block",
      node: () => {
        let isBehind = true;
        chain.on("eth_getBlockByNumber", async (_, answer) => {
          const block = isBehind ? null : await answer();
          isBehind = false;
          return block;
        });
      },
      is: settled,
    },
    {
      title: "is settled by the transaction that opened the next round",
      blocks: [[ours, { ...toVault, to: unsigned.from }]],
      leaves: NEXT,
      is: { ...settled, after: NEXT },
    },
    {
      title: "is not-settled if the round stays open",
      leaves: OPEN_ROUND,
      is: { ...notSettled, after: OPEN_ROUND },
      says: /^It was mined in block 6 without a revert, but the round from .* is not settled by it\. The latest in that block is the round from .*, settled: no\.$/u,
    },
    {
      title: "is not-settled, without a code, if it was sent as a step",
      leaves: OPEN_ROUND,
      isStep: true,
      is: { ...notSettled, code: null },
    },
    {
      title: "is not-settled if another round comes in place of a step",
      leaves: { ...OPEN_ROUND, strikePrice: 1n },
      isStep: true,
      is: otherRound,
    },
    {
      title:
        "is not-settled if the next round was there before, and is settled by it",
      blocks: [nextRound, [ours]],
      is: { ...otherRound, after: settledRound(NEXT) },
      says: /^MISMATCH: it was meant for the round from .* but in block 7 the vault is in another one, the round .*settled: yes\. Look at that block/u,
    },
    {
      title:
        "is not-settled if the next round was there before, and is settled in part by it",
      blocks: [nextRound, [idle]],
      node: () => {
        chain.rounds[7] = { ...NEXT, settledAmount: 1n };
      },
      is: otherRound,
      says: /^MISMATCH/u,
    },
    {
      title:
        "is not-settled if the round was settled before, and the next one comes with it",
      blocks: [settledRound, [idle]],
      node: () => {
        chain.rounds[7] = NEXT;
      },
      is: otherRound,
      says: /^MISMATCH/u,
    },
    {
      title: "is not-settled if a round takes its place that does not follow",
      leaves: { ...OPEN_ROUND, strikePrice: 1n },
      is: otherRound,
      says: /is not settled by it\. The latest in that block is the round from/u,
    },
    {
      title: "is nothing-to-do if the round was settled before its block",
      blocks: [nothing, settledRound, nothing, [idle]],
      is: { ...late, after: SETTLED },
      says: /^The round was settled by somebody else before block 9, in which this transaction was mined/u,
    },
    {
      title: "is nothing-to-do if the next round was there before its block",
      blocks: [settledRound, nextRound, [idle]],
      is: { ...late, after: NEXT },
      says: /settled by somebody else before block 8/u,
    },
  ],
  "a transaction whose state the node lacks": [
    {
      title: "is settled if the newest block has the same round",
      blocks: [[ours], (same) => same],
      node: forgets(6),
      is: { ...settled, after: SETTLED },
    },
    {
      title:
        "is settled, not known by whom, if the state of the block before is gone",
      node: forgets(5),
      is: { status: "settled", after: SETTLED },
      says: /^The round is settled at the end of block 6, but the node no longer has the state of the block before/u,
    },
    {
      title:
        "is unconfirmed for good if so and the block ends with the next round",
      leaves: NEXT,
      node: forgets(5),
      is: { ...noState, after: NEXT },
      says: ARCHIVE,
    },
    {
      title: "is unconfirmed for good if the vault is in another round by now",
      blocks: [[ours], nextRound],
      node: forgets(6),
      is: { ...noState, after: null },
      says: ARCHIVE,
    },
    {
      title: "is open if the newest block is of another branch",
      node: () => {
        forgets(6)();
        chain.on("eth_getBlockByNumber", async ([tag], answer) => {
          if (tag === "latest") {
            chain.reorganise(6);
          }
          return await answer();
        });
      },
      ...unread,
    },
    {
      title:
        "is open if its block is replaced while a node that takes no hashes is read",
      node: () => {
        chain.on("eth_call", async (params, answer) => {
          if (typeof params[1] === "object") {
            throw Object.assign(new Error("no hashes"), { code: -32_602 });
          }
          const answered = await answer();
          if (params[1] === "0x6") {
            chain.reorganise(6);
          }
          return answered;
        });
      },
      ...unread,
    },
    {
      title:
        "is open if the node has another block in the place of the receipt's",
      receipt: { blockHash: OTHER_HASH },
      ...unread,
    },
    {
      title: "is open if the node is behind",
      node: () => {
        forgets(6)();
        chain.overrides = false;
        const behind = { number: "0x5", timestamp: "0x1" };
        chain.on("eth_getBlockByNumber", () => behind);
      },
      ...unread,
    },
  ],
  "a transaction that reverted": [
    {
      title: "has the reason of its call, at its block and with its gas",
      reverts: true,
      receipt: { gasUsed: 94_999n },
      is: { ...reverted, after: OPEN_ROUND },
      says: /not yet/u,
      asked: [["0x186a0", "0x6"]],
    },
    {
      title: "has the reason also if it used nearly all of its gas",
      reverts: true,
      receipt: usedUp,
      is: reverted,
      says: /not yet/u,
    },
    {
      title:
        "ran out of gas, or hit an invalid instruction, if the call has no reason: VAULT_OUT_OF_GAS",
      reverts: true,
      node: () => {
        chain.revertsWith = undefined;
      },
      receipt: usedUp,
      is: outOfGas,
      says: /^out of gas, or an invalid instruction: it uses all of the 100000 that it was given\..*gasMultiplier/u,
    },
    {
      title:
        "ran out of gas, or hit an invalid instruction, if the node has no state: VAULT_OUT_OF_GAS",
      reverts: true,
      node: forgets(6),
      receipt: usedUp,
      is: outOfGas,
      says: /^out of gas, or an invalid instruction: it uses all of the 100000/u,
    },
    {
      title: "has no reason, and is final, if no state can be read",
      reverts: true,
      node: () => {
        chain.on("eth_call", () => {
          throw new Error("nope");
        });
      },
      is: { ...reverted, reason: "the reason could not be found out" },
    },
  ],
  "a call through a guard, which reverts unless it settles": [
    {
      title: "is settled by itself, though another went to the vault",
      isGuarded: true,
      blocks: [[ours, toVault]],
      leaves: NEXT,
      is: settled,
    },
    {
      title: "is settled, though the state of the block before is gone",
      isGuarded: true,
      leaves: NEXT,
      node: forgets(5),
      is: { ...settled, after: NEXT },
    },
    {
      title:
        "is settled, and says that a token may stay in the guard, if it was transferred there and the state of the block before is gone: VAULT_GUARD_KEEPS_TOKENS",
      isGuarded: true,
      node: forgets(5, 7n),
      receipt: { logs: [transferLog(TOKEN, GUARD)] },
      is: { status: "settled", code: "VAULT_GUARD_KEEPS_TOKENS" },
      says: new RegExp(`tokens stay in the guard .*: ${TOKEN}\\.`, "u"),
    },
    {
      title:
        "is settled, and nothing stays, if the guard has none of a token that was transferred there, and the state of the block before is gone",
      isGuarded: true,
      node: forgets(5, 0n),
      receipt: { logs: [transferLog(TOKEN, GUARD)] },
      is: settled,
    },
    {
      title:
        "is reverted in the guard's words, which claim no more than it did",
      isGuarded: true,
      receipt: { succeeded: false },
      node: () => {
        chain.on("eth_call", async ([call], answer) => {
          if (fieldsOf(call)["to"] !== GUARD) {
            return await answer();
          }
          // RoundNotSettled()
          const data = "0x4704860a";
          throw Object.assign(new Error("reverted"), { code: 3, data });
        });
      },
      is: { status: "reverted", code: "VAULT_WOULD_NOT_SETTLE" },
      says: /pass the option `partial`\.$/u,
    },
    {
      title: "is open if the node shows the round open in its block",
      isGuarded: true,
      blocks: [[idle]],
      is: { status: "unconfirmed", code: null },
      says: /another branch of the chain/u,
      isFinal: false,
    },
    {
      title: "is open if the node shows the round settled before its block",
      isGuarded: true,
      blocks: [settledRound, [idle]],
      is: { status: "unconfirmed", code: null },
      says: /another branch of the chain/u,
      isFinal: false,
    },
  ],
};

describe("the end of a settlement", () => {
  speedUpTime();
  beforeEach(() => {
    chain = new ScriptedNode();
    chain.mines = false;
  });
  const mine = ({ blocks = [[ours]], leaves, reverts }: Case): void => {
    chain.revertsWith = reverts === true ? NOT_YET : undefined;
    for (const block of blocks) {
      if (typeof block === "function") {
        chain.mine(block);
      } else {
        chain.pool.push(...block);
        chain.mine();
      }
    }
    if (leaves !== undefined) {
      chain.rounds[6] = leaves;
    }
  };

  for (const [subject, ofSubject] of Object.entries(cases)) {
    for (const one of ofSubject) {
      it(`${subject}: ${one.title}`, async () => {
        mine(one);
        one.node?.();
        const receipt = { ...(await receiptOf()), ...one.receipt };
        const isGuarded = one.isGuarded === true;
        const { settlement, isFinal, block } = await reportOf(
          {
            kind: "mined",
            hash: HASH,
            receipt,
            transaction: isGuarded ? guarded : transaction,
          },
          hostOf(),
          { ...(isGuarded ? guardedEntry : entry), partial: one.isStep },
        );
        expect(settlement).to.deep.include({
          ...{ hash: HASH, blockNumber: receipt.blockNumber },
          ...{ gasUsed: receipt.gasUsed, before: OPEN_ROUND, preview: null },
          ...(typeof one.is === "string" ? { status: one.is } : one.is),
        });
        expect(settlement.reason ?? "").to.match(one.says ?? /(?:)/u);
        expect(isFinal, "isFinal").to.equal(one.isFinal ?? true);
        if (one.block !== undefined) {
          expect(block).to.deep.equal(one.block);
        }
        if (one.asked !== undefined) {
          const calls = chain.asked.filter(({ params: [call] }) =>
            JSON.stringify(call).includes(`"data":"${SETTLE}"`),
          );
          expect(
            calls.map(({ params: [call, at] }) => {
              expect(fieldsOf(call)["from"]).to.equal(transaction.from);
              return [fieldsOf(call)["gas"], at];
            }),
          ).to.deep.equal(one.asked);
        }
      });
    }
  }

  const undecided: End = {
    kind: "undecided",
    hash: HASH,
    status: "unconfirmed",
    reason: "Still.",
  };

  it("is final if it was dropped, with every hash that it had", async () => {
    const [first] = entry.transactions;
    const earlier = { ...first, hash: OTHER_HASH };
    const { settlement, isFinal } = await reportOf(
      {
        kind: "dropped",
        hash: HASH,
        status: "refused",
        reason: "No.",
        code: "VAULT_RPC_ERROR",
      },
      hostOf(),
      { ...entry, transactions: [earlier] },
    );
    expect(isFinal).to.equal(true);
    expect(settlement).to.deep.include({
      status: "refused",
      code: "VAULT_RPC_ERROR",
      reason: "No.",
      hash: HASH,
      hashes: [OTHER_HASH, HASH],
      blockNumber: null,
      after: null,
    });
  });

  it("has no hash if it stopped before it was sent", async () => {
    const { settlement } = await reportOf(nothingToDo("settled meanwhile"));
    expect(settlement).to.deep.include({
      status: "nothing-to-do",
      hash: null,
      hashes: [],
    });
  });

  it("is left to resume, with its hash, if its end cannot be described", async () => {
    mine({ title: "", is: "unconfirmed" });
    const receipt = await receiptOf();
    const host = hostOf();
    host.withOptions = () => {
      throw new Error("a bug");
    };
    const mined = { kind: "mined", hash: HASH, receipt, transaction } as const;
    const { settlement, isFinal } = await reportOf(mined, host);
    expect(isFinal).to.equal(false);
    expect(settlement).to.include({ status: "unconfirmed", hash: HASH });
  });

  it("has the block of one that is open", async () => {
    mine({ title: "", is: "unconfirmed" });
    const outcome = { ...undecided, receipt: await receiptOf() };
    const found = await reportOf(outcome);
    expect(found.isFinal).to.equal(false);
    expect(found.settlement).to.include({
      reason: "Still.",
      blockNumber: 6,
      gasUsed: 60_000n,
      cost: 480_000n,
    });
  });
});
