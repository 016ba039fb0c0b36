import { expect } from "chai";

import { RpcClient } from "../../src/rpc/rpc-client.js";
import { getReceipt } from "../../src/rpc/transactions.js";
import type { Receipt } from "../../src/rpc/transactions.js";
import { describeEnd } from "../../src/settlement/report.js";
import type { SettlementResult } from "../../src/settlement/result.js";
import type { Settlement } from "../../src/types.js";
import type { BareHost } from "../helpers/bare-host.js";
import type { Waiting } from "../helpers/scripted-chain.js";
import {
  OPEN_ROUND,
  SETTLE,
  nextRound,
  settledRound,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import { fieldsOf } from "../helpers/fields.js";
import { NOT_YET } from "../helpers/settlement-cases.js";
import { HASH, OTHER_HASH, entry, unsigned } from "../helpers/keeper.js";

const NEXT = nextRound(OPEN_ROUND);
const [transaction] = entry.transactions;
const ours: Waiting = { ...unsigned, hash: HASH };

/** A mined transaction, and what is reported of it. */
interface Case {
  readonly title: string;
  readonly given: () => void;
  readonly receipt?: Partial<Receipt>;
  readonly is: Partial<Settlement>;
  readonly says?: RegExp;
  /** Default: true. */
  readonly isFinal?: boolean;
  readonly block?: SettlementResult["block"];
  readonly then?: () => void;
}

const settled = {
  status: "settled",
  code: null,
  reason: null,
  after: settledRound(OPEN_ROUND),
} as const;
const reverted = {
  status: "reverted",
  code: "VAULT_CALL_REVERTED",
  after: OPEN_ROUND,
} as const;
const WHOSE_IS_GONE =
  "The round is settled at the end of block 6, but the node no longer has the state of the block before: whose settlement it is is not known.";
const unread = {
  is: { status: "unconfirmed", after: null },
  says: /could not be read afterwards/u,
  isFinal: false,
} as const;

describe("the report of a settlement that was followed", () => {
  let chain: ScriptedNode;

  beforeEach(() => {
    chain = new ScriptedNode();
    chain.mines = false;
  });

  const hostOf = (type = "http"): BareHost =>
    chain.host({ networkConfig: { type }, projectRoot: "" });
  const receiptOf = async (): Promise<Receipt> => {
    const rpc = new RpcClient(chain.provider, "scripted");
    const receipt = await getReceipt(rpc, HASH);
    if (receipt === undefined) {
      throw new Error("it is not mined");
    }
    return receipt;
  };
  const mine = (...all: readonly Waiting[]): void => {
    chain.pool.push(...all);
    chain.mine();
  };
  const forget = (block: number): void => {
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
  };
  const revert = (): void => {
    chain.revertsWith = NOT_YET;
    mine(ours);
  };
  const isSettlement = ([call]: readonly unknown[]): boolean =>
    JSON.stringify(call).includes(`"data":"${SETTLE}"`);

  const cases: readonly Case[] = [
    ...[true, false].map((overrides) => ({
      title: `is settled if the round is, read ${overrides ? "in one request" : "call by call"}`,
      given: () => {
        chain.overrides = overrides;
        mine(ours);
        chain.mine(nextRound);
      },
      is: settled,
      block: { number: 6, timestamp: 1_700_000_006 },
    })),
    ...[5, 6].map((block) => ({
      title: `is settled if another node, on another branch, answers for number ${block}, of ${block === 5 ? "the block before" : "its block"}`,
      given: () => {
        mine(ours);
        chain.on("eth_call", async (params, answer) => {
          if (params[1] === `0x${block}`) {
            chain.rounds[block] = NEXT;
          }
          return await answer();
        });
      },
      is: settled,
    })),
    {
      title:
        "is a mismatch, not-settled and final, if another round was current before, and is settled",
      given: () => {
        chain.mine(nextRound);
        chain.effect = settledRound;
        mine(ours);
      },
      is: { status: "not-settled", code: null, after: settledRound(NEXT) },
      says: /^MISMATCH: it was meant for the round from .* but in block 7 the vault is in another one, the round .*settled: yes\. Look at that block/u,
    },
    {
      title:
        "is not-settled and final if another round was current before and is as it was, and nobody is seen to have settled the one that was meant",
      given: () => {
        chain.mine(nextRound);
        chain.effect = (round) => round;
        mine(ours);
      },
      is: { status: "not-settled", code: null, after: NEXT },
      says: /but another round had taken the place of the round from .* No transaction is seen that settled the one that was meant/u,
    },
    {
      title:
        "is nothing-to-do, with the block that settled the round, if another round was current before and is as it was",
      given: () => {
        chain.mine(settledRound);
        chain.mine(nextRound);
        chain.effect = (round) => round;
        mine(ours);
      },
      is: { status: "nothing-to-do", code: null, after: NEXT },
      says: /settled by somebody else, in block 6\./u,
    },
    {
      title:
        "is settled if the block ends with the next round, and its other transaction does not go to the vault",
      given: () => {
        mine(ours, {
          ...ours,
          hash: OTHER_HASH,
          to: unsigned.from,
          data: "0x",
        });
        chain.rounds[6] = NEXT;
      },
      is: { status: "settled", code: null, reason: null, after: NEXT },
    },
    ...[NEXT, settledRound(OPEN_ROUND)].map((after) => ({
      title: `is settled, not known by whom, if another transaction of its block goes to the vault, settled: ${after.settled}`,
      given: () => {
        mine(ours, { ...ours, hash: OTHER_HASH, data: "0x12" });
        chain.rounds[6] = after;
      },
      is: { status: "settled" as const, code: null, after },
      says: /^The round is settled.* at the end of block 6, .* whose settlement it is cannot be known/u,
    })),
    ...[
      { ...OPEN_ROUND, strikePrice: OPEN_ROUND.strikePrice + 1n },
      ...[0n].map((startTime) => ({
        ...OPEN_ROUND,
        ...{ startTime, strikePrice: 0n, endTime: 0n },
      })),
    ].map((after) => ({
      title: `is not-settled, and says so, if its block ends with a round that does not follow, start ${after.startTime === 0n ? "zero" : "the same, another strike price"}`,
      given: () => {
        mine(ours);
        chain.rounds[6] = after;
      },
      is: { status: "not-settled" as const, code: null, after },
      says: /the vault's round is another one, which does not follow the round from/u,
    })),
    {
      title:
        "is nothing-to-do, with the block that settled the round, if that is an earlier one",
      given: () => {
        chain.mine();
        chain.mine(settledRound);
        chain.mine();
        // It settles nothing here, and is no revert either.
        mine({ ...ours, data: "0x" });
      },
      is: {
        status: "nothing-to-do",
        code: null,
        hashes: [HASH],
        after: settledRound(OPEN_ROUND),
      },
      says: /^The round was settled by somebody else, in block 7\. This transaction was mined after that, in block 9/u,
    },
    {
      title:
        "is not-settled if the block ends with the next round, and began with the round settled",
      given: () => {
        chain.mine(settledRound);
        // It settles nothing here, and is no revert either.
        chain.pool.push({ ...ours, data: "0x" });
        chain.mine(() => NEXT);
      },
      is: { status: "not-settled" },
      says: /^MISMATCH/u,
    },
    {
      title:
        "is unconfirmed and final if the block ends with the next round, and the one before cannot be read",
      given: () => {
        chain.effect = nextRound;
        mine(ours);
        forget(5);
      },
      is: { status: "unconfirmed", code: null, after: NEXT },
      says: /an archive node can show/u,
    },
    {
      title:
        "is settled if the state of its block is gone, and the newest block has the same round",
      given: () => {
        mine(ours);
        chain.mine();
        forget(6);
      },
      is: settled,
      block: undefined,
    },
    {
      title:
        "is unconfirmed and not final if the state of its block is gone, and the newest block is of another branch",
      given: () => {
        chain.effect = (round) => round;
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
    },
    {
      title:
        "is settled if the state of its block can be read only as that of the newest one",
      given: () => {
        mine(ours);
        forget(6);
      },
      is: settled,
    },
    {
      title:
        "is nothing-to-do, with the last block before its own, if the blocks that may have settled the round are gone",
      given: () => {
        chain.mine(settledRound);
        chain.mine();
        mine({ ...ours, data: "0x" });
        forget(6);
      },
      is: { status: "nothing-to-do", code: null },
      says: /settled by somebody else, in block 7 or before\./u,
    },
    {
      title:
        "is settled, not known by whom, if the state of the block before is gone",
      given: () => {
        mine(ours);
        forget(5);
      },
      is: { ...settled, reason: WHOSE_IS_GONE },
    },
    {
      title:
        "is unconfirmed and final, for an archive node, if the state of its block is gone, and the vault is in another round by now",
      given: () => {
        mine(ours);
        chain.mine(nextRound);
        forget(6);
      },
      is: { status: "unconfirmed", code: null, after: null },
      says: /an archive node can show/u,
    },
    {
      title:
        "is unconfirmed and not final if the node has another block in the place of the receipt's",
      given: () => {
        chain.effect = (round) => round;
        mine(ours);
      },
      receipt: { blockHash: OTHER_HASH },
      ...unread,
    },
    {
      title: "is unconfirmed and not final if nothing can be read",
      given: () => {
        mine(ours);
        chain.on("eth_call", () => {
          throw new Error("nope");
        });
      },
      ...unread,
    },
    {
      title:
        "is unconfirmed and not final if the state of its block is gone, and the node is behind",
      given: () => {
        mine(ours);
        forget(6);
        chain.overrides = false;
        const behind = { number: "0x5", timestamp: "0x1" };
        chain.on("eth_getBlockByNumber", () => behind);
      },
      ...unread,
    },
    {
      title:
        "is reverted with VAULT_CALL_REVERTED and the reason at its block if it reverted",
      given: revert,
      is: reverted,
      says: /not yet/u,
      then: () => {
        const calls = chain.asked.filter(({ params }) => isSettlement(params));
        const { from, to, data } = ours;
        expect(calls.map(({ params }) => params)).to.deep.equal([
          [{ from, to, data, gas: "0x186a0" }, "0x6"],
        ]);
      },
    },
    {
      title:
        "is reverted with VAULT_CALL_REVERTED, the reason unknown, if its block's state is gone",
      given: () => {
        revert();
        chain.on("eth_call", async (params, answer) => {
          if (isSettlement(params)) {
            throw new Error("missing trie node");
          }
          return await answer();
        });
      },
      is: { ...reverted, reason: "the reason could not be found out" },
    },
    {
      title:
        "is reverted with VAULT_CALL_REVERTED and the contract's reason if it used nearly all of its gas, and has that reason with all of its block",
      given: () => {
        revert();
        chain.on("eth_getBlockByNumber", async ([tag], answer) => {
          const block = fieldsOf(await answer());
          return tag === "0x6" ? block : { ...block, gasLimit: "0x1" };
        });
      },
      receipt: { gasUsed: 95_000n },
      is: reverted,
      says: /not yet/u,
      then: () => {
        const calls = chain.asked.filter(({ params }) => isSettlement(params));
        expect(calls.map(({ params: [call] }) => fieldsOf(call)["gas"])).to.eql(
          ["0x1c9c380"],
        );
      },
    },
    {
      title:
        "is reverted with VAULT_OUT_OF_GAS if it used nearly all of its gas, and more is enough",
      given: () => {
        revert();
        chain.revertsWith = undefined;
      },
      receipt: { gasUsed: 95_000n },
      is: { ...reverted, code: "VAULT_OUT_OF_GAS" },
      says: /^out of gas: it uses all of the 100000 that it was given\..*gasMultiplier/u,
    },
    {
      title:
        "is reverted with VAULT_OUT_OF_GAS, or an invalid instruction, if it used nearly all of its gas, and the node cannot be asked why",
      given: () => {
        revert();
        forget(6);
      },
      receipt: { gasUsed: 95_000n },
      is: { ...reverted, code: "VAULT_OUT_OF_GAS" },
      says: /^out of gas, or an invalid instruction: it uses all of the 100000/u,
    },
    {
      title: "is reverted for good also if no state can be read afterwards",
      given: () => {
        revert();
        chain.on("eth_call", () => {
          throw new Error("nope");
        });
      },
      is: { status: "reverted", after: null },
    },
    {
      title: "is reverted with VAULT_CALL_REVERTED if it used less of its gas",
      given: revert,
      receipt: { gasUsed: 94_999n },
      is: reverted,
    },
  ];

  for (const one of cases) {
    it(one.title, async () => {
      one.given();
      const receipt = { ...(await receiptOf()), ...one.receipt };
      const { settlement, isFinal, block } = await describeEnd(
        hostOf(),
        entry,
        { kind: "mined", hash: HASH, receipt, transaction },
        null,
      );
      expect(settlement).to.deep.include({
        hash: HASH,
        blockNumber: receipt.blockNumber,
        gasUsed: receipt.gasUsed,
        before: OPEN_ROUND,
        preview: null,
        ...one.is,
      });
      expect(settlement.reason ?? "").to.match(one.says ?? /(?:)/u);
      expect(isFinal, "isFinal").to.equal(one.isFinal ?? true);
      if ("block" in one) {
        expect(block).to.deep.equal(one.block);
      }
      one.then?.();
    });
  }

  it("has hash, status and reason of a transaction that is not mined", async () => {
    const hash = HASH;
    const undecided = {
      hash,
      status: "unconfirmed",
      reason: "Still.",
    } as const;
    const refusal = { status: "refused", code: "VAULT_RPC_ERROR" } as const;
    const dropped = { hash, ...refusal, reason: "No." } as const;
    mine(ours);
    const receipt = await receiptOf();
    const advice = "settleAll({ resume: true }) takes it up again.";
    for (const [type, end, settlement, more] of [
      ["http", { kind: "dropped", ...dropped }, dropped, { isFinal: true }],
      [
        "http",
        { kind: "undecided", ...undecided },
        { ...undecided, reason: `Still. ${advice}` },
        { isFinal: false, openReason: "Still." },
      ],
      [
        "edr-simulated",
        { kind: "undecided", ...undecided, receipt },
        { ...undecided, blockNumber: 6, gasUsed: 60_000n, cost: 480_000n },
        { isFinal: false },
      ],
    ] as const) {
      expect(await describeEnd(hostOf(type), entry, end, null)).to.deep.equal({
        settlement: {
          ...{ code: null, blockNumber: null, gasUsed: null, after: null },
          cost: null,
          ...{ before: OPEN_ROUND, preview: null, differences: null },
          ...{ guard: null, hashes: [hash] },
          ...settlement,
        },
        chainId: 31_337,
        ...more,
      });
    }
  });
});
