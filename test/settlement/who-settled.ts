import { expect } from "chai";

import { encodeGuarded } from "../../src/guard/round-guard.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { getReceipt } from "../../src/rpc/transactions.js";
import type { Receipt } from "../../src/rpc/transactions.js";
import { describeEnd } from "../../src/settlement/report.js";
import { describeWhoSettled } from "../../src/settlement/who-settled.js";
import type { Settlement } from "../../src/types.js";
import { fieldsOf } from "../helpers/fields.js";
import type { Waiting } from "../helpers/scripted-chain.js";
import {
  FACTORY,
  OPEN_ROUND,
  VAULT,
  nextRound,
  settledRound,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import { HASH, OTHER_HASH, entry, unsigned } from "../helpers/keeper.js";

const NEXT = nextRound(OPEN_ROUND);
const GUARD = "0x00000000000000000000000000000000000000a7";
const [transaction] = entry.transactions;
const ours: Waiting = { ...unsigned, hash: HASH };
const THEIRS = `0x${"5".repeat(40)}`;
/** Settles the round in the scripted chain, as ours does. */
const theirs: Waiting = { ...ours, from: THEIRS, hash: OTHER_HASH };
const plain = (index: number): Waiting => ({
  ...ours,
  hash: `0x${String(index).padStart(64, "0")}`,
  to: THEIRS,
  data: "0x",
});

describe("who settled a round", () => {
  let chain: ScriptedNode;

  beforeEach(() => {
    chain = new ScriptedNode();
    chain.mines = false;
  });

  const mine = (...all: readonly Waiting[]): void => {
    chain.pool.push(...all);
    chain.mine();
  };
  const host = () =>
    chain.host({ networkConfig: { type: "http" }, projectRoot: "" });
  const receiptOf = async (hash = HASH): Promise<Receipt> => {
    const rpc = new RpcClient(chain.provider, "scripted");
    const receipt = await getReceipt(rpc, hash);
    if (receipt === undefined) {
      throw new Error("it is not mined");
    }
    return receipt;
  };
  const settlement = async (): Promise<Settlement> => {
    const receipt = await receiptOf();
    const mined = { kind: "mined", hash: HASH, receipt, transaction } as const;
    return (await describeEnd(host(), entry, mined, null)).settlement;
  };
  /** The same of a call through a guard, which reverts unless it settles the round. */
  const throughGuard = async () => {
    const data = encodeGuarded(VAULT, {
      factory: FACTORY,
      round: OPEN_ROUND,
      mustHaveEnded: false,
      mustSettle: true,
      tokens: [],
    });
    const guarded = { ...transaction, to: GUARD, data };
    const receipt = await receiptOf();
    return await describeEnd(
      host(),
      { ...entry, guard: GUARD, transactions: [guarded] },
      { kind: "mined", hash: HASH, transaction: guarded, receipt },
      null,
    );
  };

  describe("in the block of a transaction", () => {
    const log = (hash: string): object => ({ transactionHash: hash });
    const toVault: Waiting = { ...theirs, data: "0x12" };
    for (const [title, others, logs, isKnown] of [
      [
        "that transaction, if no other went to the vault",
        [plain(1)],
        [HASH],
        true,
      ],
      ["not known, if another went to the vault", [toVault], [HASH], false],
      [
        "not known, if the vault wrote a log in another",
        [plain(1)],
        [HASH, plain(1).hash],
        false,
      ],
      ["not known, if the node does not list logs", [], undefined, false],
    ] as const) {
      it(`is ${title}`, async () => {
        chain.on("eth_getLogs", ([filter]) => {
          const { address, blockHash } = fieldsOf(filter);
          expect([address, typeof blockHash]).to.deep.equal([VAULT, "string"]);
          if (logs === undefined) {
            throw Object.assign(new Error("no logs"), { code: -32_601 });
          }
          return logs.map(log);
        });
        mine(...others, ours);
        const { status, reason } = await settlement();
        expect(status).to.equal("settled");
        expect(reason ?? "").to.match(
          isKnown ? /^$/u : /whose settlement it is cannot be known/u,
        );
      });
    }

    it("is that transaction, though another went to the vault, if a guard made sure of it", async () => {
      mine(ours, toVault);
      chain.rounds[6] = NEXT;
      const { settlement: found } = await throughGuard();
      expect(found).to.include({ status: "settled", reason: null });
    });
  });

  for (const [title, isSettledBefore] of [
    ["open in its block", false],
    ["settled before its block", true],
  ] as const) {
    it(`is not known yet, and not final, if a call through a guard succeeded and the round is ${title}`, async () => {
      if (isSettledBefore) {
        chain.mine(settledRound);
      }
      mine({ ...ours, data: "0x12" });
      const { settlement: found, isFinal } = await throughGuard();
      expect(found).to.include({ status: "unconfirmed", code: null });
      expect(found.reason).to.include("another branch of the chain");
      expect(isFinal).to.equal(false);
    });
  }

  describe("when a guard refused the transaction that came too late", () => {
    const settler = async (
      entryChanges: Partial<typeof entry> = {},
    ): Promise<string | undefined> => {
      const receipt = await receiptOf();
      const guarded = { ...transaction, to: GUARD };
      return await describeWhoSettled(
        host(),
        { ...entry, ...entryChanges, transactions: [guarded] },
        { kind: "mined", hash: HASH, receipt, transaction: guarded },
      );
    };
    const late: Waiting = { ...ours, to: GUARD, data: "0x12" };

    it("is the account of the only call of the vault in the block that settled the round", async () => {
      chain.mine();
      mine(plain(1), theirs);
      mine({ ...theirs, hash: plain(2).hash, data: "0x12" });
      mine(late);
      expect(await settler()).to.equal(
        `${THEIRS} had settled the round in block 7 with transaction ${OTHER_HASH}.`,
      );
    });

    it("is the account of a call of the guard, too, in the same block", async () => {
      chain.pool.push({ ...theirs, to: GUARD, data: "0x12" }, late);
      chain.mine(settledRound);
      expect(await settler()).to.equal(
        `${THEIRS} had settled the round in block 6 with transaction ${OTHER_HASH}.`,
      );
    });

    for (const [title, others] of [
      ["none", [{ ...theirs, to: FACTORY }]],
      ["two", [theirs, { ...theirs, to: GUARD, hash: plain(1).hash }]],
    ] as const) {
      it(`is somebody else, in the block that settled the round, if ${title} of its transactions can have done it`, async () => {
        chain.pool.push(...others);
        chain.mine(settledRound);
        mine(late);
        expect(await settler()).to.equal(
          "somebody else had settled the round in block 6.",
        );
      });
    }

    it("is the account that settled it, though the vault is in its next round by then", async () => {
      chain.effect = nextRound;
      mine(theirs);
      mine(late);
      expect(await settler()).to.match(/^0x5+ .* in block 6 with/u);
    });

    it("is somebody else, if the node cannot show the transactions", async () => {
      mine(theirs);
      mine(late);
      chain.on("eth_getBlockByNumber", async ([tag, whole], answer) => {
        if (whole === true) {
          throw new Error(`no transactions of ${String(tag)}`);
        }
        return await answer();
      });
      expect(await settler()).to.equal("somebody else had settled the round.");
    });
  });

  describe("before another round took its place", () => {
    /** Settles nothing, as the other round is as it was. */
    const idle: Waiting = { ...ours, data: "0x" };

    it("is somebody else, in the block whose transaction settled it and opened the next one", async () => {
      chain.mine();
      chain.effect = nextRound;
      mine(theirs);
      mine(idle);
      const found = await settlement();
      expect(found).to.include({ status: "nothing-to-do" });
      expect(found.reason).to.include("by somebody else, in block 7.");
    });

    it("is nobody, if no transaction of the block that opened the next one settles", async () => {
      mine({ ...theirs, data: "0x12" });
      chain.mine(nextRound);
      mine(idle);
      expect(await settlement()).to.include({ status: "not-settled" });
    });
  });
});
