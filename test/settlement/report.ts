import { expect } from "chai";

import { encodeGuarded } from "../../src/guard/round-guard.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { getReceipt } from "../../src/rpc/transactions.js";
import type { Receipt } from "../../src/rpc/transactions.js";
import type { JournalEntry } from "../../src/settlement/journal-file.js";
import { describeEnd } from "../../src/settlement/report.js";
import type { SettlementResult } from "../../src/settlement/result.js";
import type { Settlement } from "../../src/types.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { fieldsOf } from "../helpers/fields.js";
import { GUARD, entry, unsigned } from "../helpers/keeper.js";
import { HASH, OTHER_HASH } from "../helpers/names.js";
import type { Waiting } from "../helpers/scripted-chain.js";
import {
  FACTORY,
  OPEN_ROUND,
  SETTLE,
  VAULT,
  nextRound,
  settledRound,
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

/** A mined transaction, and what is reported of it. */
type Row = readonly [
  title: string,
  given: () => void,
  is: Settlement["status"] | Partial<Settlement>,
  says?: RegExp,
  more?: {
    readonly receipt?: Partial<Receipt>;
    /** Default: true. */
    readonly isFinal?: boolean;
    readonly block?: SettlementResult["block"];
    /** Gas and block of the calls that ask for the reason of a revert. */
    readonly asked?: readonly unknown[];
  },
];

let chain: ScriptedNode;
function useChain(): void {
  speedUpTime();
  beforeEach(() => {
    chain = new ScriptedNode();
    chain.mines = false;
  });
}

function mine(...all: readonly Waiting[]): void {
  chain.pool.push(...all);
  chain.mine();
}
/** Mines ours into a block that leaves this round. */
function mineTo(round: typeof OPEN_ROUND, ...others: readonly Waiting[]): void {
  mine(ours, ...others);
  chain.rounds[6] = round;
}
/** The node has no state of a block, by number and by hash. */
function forget(block: number): void {
  chain.on("eth_call", async (params, answer) => {
    const { blockHash, blockNumber = params[1] } = fieldsOf(params[1]);
    const number = `0x${block.toString(16)}`;
    const { hash } = fieldsOf(
      await chain.answerTo("eth_getBlockByNumber", [number, false]),
    );
    if (blockNumber === number || blockHash === hash) {
      throw new Error("missing trie node");
    }
    return await answer();
  });
}
function revert(): void {
  chain.revertsWith = NOT_YET;
  mine(ours);
}
async function receiptOf(): Promise<Receipt> {
  const receipt = await getReceipt(new RpcClient(chain, "scripted"), HASH);
  if (receipt === undefined) {
    throw new Error("it is not mined");
  }
  return receipt;
}
function hostOf(type = "http") {
  return chain.host({ networkConfig: { type }, projectRoot: "" });
}
function itReports(rows: readonly Row[]): void {
  for (const [title, given, is, says = /(?:)/u, more = {}] of rows) {
    it(title, async () => {
      given();
      const receipt = { ...(await receiptOf()), ...more.receipt };
      const { settlement, isFinal, block } = await describeEnd(
        hostOf(),
        entry,
        { kind: "mined", hash: HASH, receipt, transaction },
        null,
      );
      expect(settlement).to.deep.include({
        ...{ hash: HASH, blockNumber: receipt.blockNumber },
        ...{ gasUsed: receipt.gasUsed, before: OPEN_ROUND, preview: null },
        ...(typeof is === "string" ? { status: is } : is),
      });
      expect(settlement.reason ?? "").to.match(says);
      expect(isFinal, "isFinal").to.equal(more.isFinal ?? true);
      if ("block" in more) {
        expect(block).to.deep.equal(more.block);
      }
      if (more.asked !== undefined) {
        const calls = chain.asked.filter(({ params: [call] }) =>
          JSON.stringify(call).includes(`"data":"${SETTLE}"`),
        );
        expect(
          calls.map(({ params: [call, at] }) => [fieldsOf(call)["gas"], at]),
        ).to.deep.equal(more.asked);
      }
    });
  }
}

describe("the report of a transaction that succeeded", () => {
  useChain();
  const settled = { status: "settled", code: null, reason: null } as const;

  itReports([
    [
      "is settled, with the round and the time of its block",
      () => {
        mine(ours);
        chain.mine(nextRound);
      },
      { ...settled, after: SETTLED },
      /(?:)/u,
      { block: { number: 6, timestamp: 1_700_000_006 } },
    ],
    ...[5, 6].map((block): Row => [
      `is settled if a node of another branch would answer for the number ${block}`,
      () => {
        mine(ours);
        chain.on("eth_call", async (params, answer) => {
          if (params[1] === `0x${block}`) {
            chain.rounds[block] = NEXT;
          }
          return await answer();
        });
      },
      settled,
    ]),
    [
      "is settled by the transaction that opened the next round",
      () => {
        mineTo(NEXT, { ...toVault, to: unsigned.from });
      },
      { ...settled, after: NEXT },
    ],
    [
      "is settled, not known by whom, if another transaction of its block goes to the vault",
      () => {
        mineTo(NEXT, toVault);
      },
      { status: "settled", code: null, after: NEXT },
      /^The round is settled, and the vault is in its next round, at the end of block 6, .* whose settlement it is cannot be known/u,
    ],
    [
      "is settled, not known by whom, if the node does not list logs",
      () => {
        mine(ours);
        chain.on("eth_getLogs", () => {
          throw Object.assign(new Error("no logs"), { code: -32_601 });
        });
      },
      { status: "settled", after: SETTLED },
      /whose settlement it is cannot be known/u,
    ],
    [
      "is not-settled if the round stays open",
      () => {
        mineTo(OPEN_ROUND);
      },
      { status: "not-settled", code: null, after: OPEN_ROUND },
      /^It was mined in block 6 without a revert, but the round from .* is not settled in that block\.$/u,
    ],
    [
      "is not-settled if the next round was there before, and is settled by it",
      () => {
        chain.mine(nextRound);
        chain.effect = settledRound;
        mine(ours);
      },
      { status: "not-settled", code: null, after: settledRound(NEXT) },
      /^MISMATCH: it was meant for the round from .* but in block 7 the vault is in another one, the round .*settled: yes\. Look at that block/u,
    ],
    [
      "is not-settled if a round takes its place that does not follow",
      () => {
        mineTo({ ...OPEN_ROUND, strikePrice: 1n });
      },
      { status: "not-settled", code: null },
      /the vault's round is another one, which does not follow the round from/u,
    ],
    [
      "is nothing-to-do, with the block that settled the round before it",
      () => {
        chain.mine();
        chain.mine(settledRound);
        chain.mine();
        mine(idle);
      },
      { status: "nothing-to-do", code: null, hashes: [HASH], after: SETTLED },
      /^The round was settled by somebody else, in block 7\. This transaction was mined after that, in block 9/u,
    ],
    [
      "is nothing-to-do, with the block that settled the round, if the next one was there before",
      () => {
        chain.mine(settledRound);
        chain.mine(nextRound);
        mine(idle);
      },
      { status: "nothing-to-do", code: null, after: NEXT },
      /settled by somebody else, in block 6\./u,
    ],
    [
      "is not-settled if the next round was there before, and nobody is seen to have settled the one that was meant",
      () => {
        chain.mine(nextRound);
        mine(idle);
      },
      { status: "not-settled", code: null, after: NEXT },
      /No transaction is seen that settled the one that was meant/u,
    ],
  ]);
});

describe("the report of a transaction whose state the node lacks", () => {
  useChain();
  const unread = [
    { status: "unconfirmed", after: null },
    /could not be read afterwards/u,
    { isFinal: false },
  ] as const;
  const ARCHIVE = /an archive node can show/u;

  itReports([
    [
      "is settled if the newest block has the same round",
      () => {
        mine(ours);
        chain.mine();
        forget(6);
      },
      { status: "settled", reason: null, after: SETTLED },
    ],
    [
      "is settled, not known by whom, if the state of the block before is gone",
      () => {
        mine(ours);
        forget(5);
      },
      { status: "settled", after: SETTLED },
      /^The round is settled at the end of block 6, but the node no longer has the state of the block before/u,
    ],
    [
      "is unconfirmed for good if so and the block ends with the next round",
      () => {
        mineTo(NEXT);
        forget(5);
      },
      { status: "unconfirmed", code: null, after: NEXT },
      ARCHIVE,
    ],
    [
      "is unconfirmed for good if the vault is in another round by now",
      () => {
        mine(ours);
        chain.mine(nextRound);
        forget(6);
      },
      { status: "unconfirmed", code: null, after: null },
      ARCHIVE,
    ],
    [
      "is nothing-to-do, by the last block before it, if the blocks in between are gone",
      () => {
        chain.mine(settledRound);
        chain.mine();
        mine(idle);
        forget(6);
      },
      "nothing-to-do",
      /settled by somebody else, in block 7 or before\./u,
    ],
    [
      "is open if the newest block is of another branch",
      () => {
        mine(ours);
        forget(6);
        chain.on("eth_getBlockByNumber", async ([tag], answer) => {
          if (tag === "latest") {
            chain.reorganise(6);
          }
          return await answer();
        });
      },
      ...unread,
    ],
    [
      "is open if the node has another block in the place of the receipt's",
      () => {
        mine(ours);
      },
      unread[0],
      unread[1],
      { isFinal: false, receipt: { blockHash: OTHER_HASH } },
    ],
    [
      "is open if the node is behind",
      () => {
        mine(ours);
        forget(6);
        chain.overrides = false;
        const behind = { number: "0x5", timestamp: "0x1" };
        chain.on("eth_getBlockByNumber", () => behind);
      },
      ...unread,
    ],
  ]);
});

describe("the report of a transaction that reverted", () => {
  useChain();
  const is = { status: "reverted", code: "VAULT_CALL_REVERTED" } as const;
  const outOfGas = { ...is, code: "VAULT_OUT_OF_GAS" } as const;
  const receipt = { gasUsed: 95_000n };

  itReports([
    [
      "has the reason at its block, with its gas, if it used less than 95 % of that",
      revert,
      { ...is, after: OPEN_ROUND },
      /not yet/u,
      { receipt: { gasUsed: 94_999n }, asked: [["0x186a0", "0x6"]] },
    ],
    [
      "has the reason with all gas of the block if it used nearly all of its own",
      revert,
      is,
      /not yet/u,
      { receipt, asked: [["0x1c9c380", "0x6"]] },
    ],
    [
      "ran out of gas if more gas is enough: VAULT_OUT_OF_GAS",
      () => {
        revert();
        chain.revertsWith = undefined;
      },
      outOfGas,
      /^out of gas: it uses all of the 100000 that it was given\..*gasMultiplier/u,
      { receipt },
    ],
    [
      "ran out of gas, or hit an invalid instruction, if the node has no state: VAULT_OUT_OF_GAS",
      () => {
        revert();
        forget(6);
      },
      outOfGas,
      /^out of gas, or an invalid instruction: it uses all of the 100000/u,
      { receipt },
    ],
    [
      "has no reason, and is final, if no state can be read",
      () => {
        revert();
        chain.on("eth_call", () => {
          throw new Error("nope");
        });
      },
      { ...is, after: null, reason: "the reason could not be found out" },
    ],
  ]);
});

describe("the report of a call through a guard, which reverts unless it settles", () => {
  useChain();
  const report = async (): Promise<SettlementResult> => {
    const data = encodeGuarded(VAULT, {
      ...{ factory: FACTORY, round: OPEN_ROUND },
      ...{ mustHaveEnded: false, mustSettle: true, tokens: [] },
    });
    const guarded = { ...transaction, to: GUARD, data };
    const guardedEntry: JournalEntry = {
      ...{ ...entry, guard: GUARD, transactions: [guarded] },
    };
    const receipt = await receiptOf();
    const end = { kind: "mined", hash: HASH, receipt } as const;
    const all = { ...end, transaction: guarded };
    return await describeEnd(hostOf(), guardedEntry, all, null);
  };

  it("is settled by itself, though another transaction went to the vault", async () => {
    mineTo(NEXT, toVault);
    const { settlement } = await report();
    expect(settlement).to.include({ status: "settled", reason: null });
  });

  it("is open if the node shows the round open in its block", async () => {
    mine(idle);
    const { settlement, isFinal } = await report();
    expect(settlement).to.include({ status: "unconfirmed", code: null });
    expect(settlement.reason).to.include("another branch of the chain");
    expect(isFinal).to.equal(false);
  });
});

describe("the report of a settlement that is not mined", () => {
  useChain();
  const undecided = {
    kind: "undecided",
    hash: HASH,
    status: "unconfirmed",
    reason: "Still.",
  } as const;

  it("is final if it was dropped", async () => {
    const { settlement, isFinal } = await describeEnd(
      hostOf(),
      entry,
      {
        ...{ kind: "dropped", hash: HASH, status: "refused", reason: "No." },
        code: "VAULT_RPC_ERROR",
      },
      null,
    );
    expect(isFinal).to.equal(true);
    expect(settlement).to.deep.include({
      ...{ status: "refused", code: "VAULT_RPC_ERROR", reason: "No." },
      ...{ hash: HASH, hashes: [HASH], blockNumber: null, after: null },
    });
  });

  it("says how to resume it, and keeps the reason for the task", async () => {
    const found = await describeEnd(hostOf(), entry, undecided, null, 3);
    expect(found).to.include({ isFinal: false, openReason: "Still." });
    expect(found.settlement.reason).to.equal(
      "Still. settleAll({ resume: true, confirmations: 3 }) takes it up again.",
    );
  });

  it("has its block, and no advice to resume, in process", async () => {
    mine(ours);
    const { settlement, ...more } = await describeEnd(
      hostOf("edr-simulated"),
      entry,
      { ...undecided, receipt: await receiptOf() },
      null,
    );
    expect(more).to.deep.equal({ isFinal: false, chainId: 31_337 });
    expect(settlement).to.include({
      ...{ reason: "Still.", blockNumber: 6, gasUsed: 60_000n, cost: 480_000n },
    });
  });
});
