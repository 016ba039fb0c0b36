import { expect } from "chai";
import { Interface } from "ethers";

import { RpcClient } from "../../src/rpc/rpc-client.js";
import type { Receipt } from "../../src/rpc/rpc-client.js";
import { report } from "../../src/settlement/report.js";
import type { Ended } from "../../src/settlement/report.js";
import type { JournalEntry } from "../../src/settlement/journal.js";
import {
  ScriptedNode,
  OPEN_ROUND,
  SETTLE,
  SETTLER,
  VAULT,
  nextRound,
  settledRound,
} from "../helpers/scripted-node.js";
import type { Waiting } from "../helpers/scripted-node.js";

const HASH = `0x${"ab".repeat(32)}`;
const NEXT = nextRound(OPEN_ROUND);
const NOT_YET = new Interface(["error Error(string)"]).encodeErrorResult(
  "Error",
  ["not yet"],
);

const entry: JournalEntry = {
  sentAfterBlock: 5,
  round: OPEN_ROUND,
  transaction: {
    from: SETTLER,
    to: VAULT,
    data: SETTLE,
    chainId: 31_337,
    nonce: 0,
    gas: 100_000n,
    hash: HASH,
  },
};

const ours: Waiting = {
  hash: HASH,
  from: SETTLER,
  to: VAULT,
  data: SETTLE,
  nonce: 0,
};
describe("the report of a settlement that was followed", () => {
  let chain: ScriptedNode;

  beforeEach(() => {
    chain = new ScriptedNode();
    chain.mines = false;
  });

  const receiptOf = async (): Promise<Receipt> => {
    const receipt = await new RpcClient(chain.provider, "scripted").receipt(
      HASH,
    );
    if (receipt === undefined) {
      throw new Error("it is not mined");
    }
    return receipt;
  };
  const reportMined = async (
    changes: Partial<Receipt> = {},
  ): Promise<Ended> => {
    const receipt = { ...(await receiptOf()), ...changes };
    const said = await report(
      chain.host({ networkConfig: { type: "http" }, projectRoot: "" }),
      entry,
      { kind: "mined", hash: HASH, receipt },
      null,
    );
    expect(said.settlement).to.include({
      hash: HASH,
      blockNumber: receipt.blockNumber,
      gasUsed: receipt.gasUsed,
      before: OPEN_ROUND,
      preview: null,
    });
    return said;
  };
  const mine = (...all: readonly Waiting[]): void => {
    chain.pool.push(...all);
    chain.mine();
  };
  const forget = (block: number): void => {
    chain.on("eth_call", async (params, answer) => {
      if (params[1] === `0x${block.toString(16)}`) {
        throw new Error("missing trie node");
      }
      return await answer();
    });
  };

  /** Status, code and reason. */
  const words = ({
    settlement: { status, code, reason },
  }: Ended): readonly unknown[] => [status, code, reason];

  for (const overrides of [true, false]) {
    const where = overrides ? "in one request" : "call by call";
    it(`is settled if the round is, read ${where}`, async () => {
      chain.overrides = overrides;
      mine(ours);
      chain.mine(nextRound);
      const said = await reportMined();
      expect(words(said)).to.deep.equal(["settled", null, null]);
      expect(said.settlement.after).to.deep.equal(settledRound(OPEN_ROUND));
      expect(said.isFinal).to.equal(true);
      expect(said.block).to.deep.equal({ number: 6, timestamp: 1_700_000_006 });
    });
  }

  for (const [settled, effect] of [
    ["no", nextRound],
    ["yes", (round: typeof OPEN_ROUND) => settledRound(nextRound(round))],
  ] as const) {
    it(`is a mismatch, not-settled and final, if another round was current before, settled: ${settled}`, async () => {
      // The round before it was another one already.
      chain.mine(nextRound);
      chain.effect = () => (settled === "no" ? NEXT : settledRound(NEXT));
      mine(ours);
      const said = await reportMined();
      expect(said.settlement.status).to.equal("not-settled");
      expect(said.isFinal).to.equal(true);
      expect(said.settlement.reason)
        .to.match(/^MISMATCH: it was meant for the round from /u)
        .and.include("but in block 7 the vault is in another one, the round")
        .and.include(`settled: ${settled}. Look at that block`);
      expect(effect(OPEN_ROUND)).to.deep.equal(said.settlement.after);
    });
  }

  describe("if the block ends with the next round", () => {
    const statusOf = async (): Promise<string> => {
      const said = await reportMined();
      expect(said.settlement).to.deep.include({ after: NEXT, code: null });
      expect(said.isFinal).to.equal(true);
      expect(said.settlement.reason).to.match(
        said.settlement.status === "settled"
          ? /^The vault is in its next round already in block 6, .* cannot be seen: another one of that block/u
          : /an archive node can show/u,
      );
      return said.settlement.status;
    };

    it("is settled, with what cannot be known, if another transaction of the block opened it", async () => {
      const opened = { ...ours, hash: `0x${"cd".repeat(32)}`, data: "0x" };
      mine(ours, opened);
      chain.rounds[6] = NEXT;
      expect(await statusOf()).to.equal("settled");
    });

    it("is not settled if the round was another one before, or settled", async () => {
      for (const change of [nextRound, settledRound]) {
        chain = new ScriptedNode();
        chain.mines = false;
        chain.mine(change);
        // It settles nothing here, and is no revert either.
        chain.pool.push({ ...ours, data: "0x" });
        chain.mine(() => NEXT);
        const said = await reportMined();
        expect(said.settlement.status).to.equal("not-settled");
        expect(said.settlement.reason).to.match(/^MISMATCH/u);
      }
    });

    it("is unconfirmed and final if the block before cannot be read", async () => {
      chain.effect = nextRound;
      mine(ours);
      forget(5);
      expect(await statusOf()).to.equal("unconfirmed");
    });
  });

  describe("if the state of its block is gone", () => {
    it("is settled if the newest block has the same round", async () => {
      mine(ours);
      chain.mine();
      forget(6);
      const said = await reportMined();
      expect(words(said)).to.deep.equal(["settled", null, null]);
      expect(said.isFinal).to.equal(true);
      expect(said.block).to.equal(undefined);
    });

    it("is unconfirmed and final, for an archive node, if the vault is in another round by now", async () => {
      mine(ours);
      chain.mine(nextRound);
      forget(6);
      const said = await reportMined();
      expect(said.settlement).to.include({
        status: "unconfirmed",
        code: null,
        after: null,
      });
      expect(said.settlement.reason).to.include("an archive node can show");
      expect(said.isFinal).to.equal(true);
    });

    it("is unconfirmed and not final if nothing can be read, or the node is behind", async () => {
      mine(ours);
      const isUnread = async (): Promise<void> => {
        const said = await reportMined();
        expect(said.settlement).to.include({
          status: "unconfirmed",
          after: null,
        });
        expect(said.settlement.reason).to.include(
          "could not be read afterwards",
        );
        expect(said.isFinal).to.equal(false);
      };
      chain.on("eth_call", () => {
        throw new Error("nope");
      });
      await isUnread();
      forget(6);
      chain.overrides = false;
      chain.on("eth_getBlockByNumber", () => ({
        number: "0x5",
        timestamp: "0x1",
      }));
      await isUnread();
    });
  });

  describe("if it reverted", () => {
    const reverted = async (
      changes: Partial<Receipt> = {},
    ): Promise<readonly unknown[]> => {
      chain.revertsWith = NOT_YET;
      mine(ours);
      const said = await reportMined(changes);
      expect(said.settlement.after).to.deep.equal(OPEN_ROUND);
      expect(said.isFinal).to.equal(true);
      return words(said);
    };

    it("is reverted with VAULT_CALL_REVERTED and the reason at its block", async () => {
      const said = await reverted();
      expect(said.slice(0, 2)).to.deep.equal([
        "reverted",
        "VAULT_CALL_REVERTED",
      ]);
      expect(said[2]).to.include("not yet");
      const simulated = chain.asked.filter(
        ({ method, params: [call] }) =>
          method === "eth_call" &&
          JSON.stringify(call) ===
            JSON.stringify({
              from: SETTLER,
              to: VAULT,
              data: SETTLE,
              gas: "0x186a0",
            }),
      );
      expect(simulated.map(({ params: [, tag] }) => tag)).to.deep.equal([
        "0x6",
      ]);
    });

    it("says that the reason is not known if its block's state is gone", async () => {
      chain.on("eth_call", async ([call], answer) => {
        if (JSON.stringify(call).includes(`"data":"${SETTLE}"`)) {
          throw new Error("missing trie node");
        }
        return await answer();
      });
      expect(await reverted()).to.deep.equal([
        "reverted",
        "VAULT_CALL_REVERTED",
        "the reason could not be found out",
      ]);
    });

    it("is reverted with VAULT_OUT_OF_GAS if it used nearly all of its gas", async () => {
      for (const [gasUsed, code] of [
        [95_000n, "VAULT_OUT_OF_GAS"],
        [94_999n, "VAULT_CALL_REVERTED"],
      ] as const) {
        chain = new ScriptedNode();
        chain.mines = false;
        const said = await reverted({ gasUsed });
        expect(said.slice(0, 2)).to.deep.equal(["reverted", code]);
        if (code === "VAULT_OUT_OF_GAS") {
          expect(said[2]).to.match(
            /^out of gas: it uses all of the 100000 that it was given\..*gasMultiplier/u,
          );
        }
      }
    });
  });

  it("is what is known of a transaction that is not mined", async () => {
    const nothing = {
      hash: HASH,
      blockNumber: null,
      gasUsed: null,
      before: OPEN_ROUND,
      after: null,
      preview: null,
    };
    const say = async (
      end: Parameters<typeof report>[2],
      type = "http",
    ): Promise<Ended> =>
      await report(
        chain.host({ networkConfig: { type }, projectRoot: "" }),
        entry,
        end,
        null,
      );
    expect(
      await say({
        kind: "dropped",
        hash: HASH,
        status: "refused",
        code: "VAULT_RPC_ERROR",
        reason: "No.",
      }),
    ).to.deep.equal({
      settlement: {
        ...nothing,
        status: "refused",
        code: "VAULT_RPC_ERROR",
        reason: "No.",
      },
      isFinal: true,
      chainId: 31_337,
    });
    const open = {
      kind: "open",
      status: "unconfirmed",
      hash: HASH,
      reason: "Still.",
    } as const;
    expect(await say({ ...open, receipt: undefined })).to.deep.equal({
      settlement: {
        ...nothing,
        status: "unconfirmed",
        code: null,
        reason: "Still. settleAll({ resume: true }) takes it up again.",
      },
      openReason: "Still.",
      isFinal: false,
      chainId: 31_337,
    });
    mine(ours);
    const receipt = await receiptOf();
    const { settlement, ...rest } = await say(
      { ...open, receipt },
      "edr-simulated",
    );
    expect(rest).to.deep.equal({ isFinal: false, chainId: 31_337 });
    expect(settlement).to.include({
      reason: "Still.",
      blockNumber: 6,
      gasUsed: 60_000n,
      after: null,
    });
  });
});
