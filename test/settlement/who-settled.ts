import { expect } from "chai";

import { encodeGuarded } from "../../src/guard/round-guard.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { getReceipt } from "../../src/rpc/transactions.js";
import type { Receipt } from "../../src/rpc/transactions.js";
import { describeEnd } from "../../src/settlement/report.js";
import { describeWhoSettled } from "../../src/settlement/who-settled.js";
import type { Settlement } from "../../src/types.js";
import type { Simulation } from "../../src/simulation/types.js";
import { fieldsOf } from "../helpers/fields.js";
import type { Waiting } from "../helpers/scripted-chain.js";
import {
  FACTORY,
  OPEN_ROUND,
  SETTLER,
  VAULT,
  nextRound,
  settledRound,
  valuesAnswer,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import {
  HASH,
  OTHER_HASH,
  entry,
  unsigned,
} from "../helpers/settlement-stage.js";

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

const preview: Simulation = {
  status: "settled",
  code: null,
  reason: null,
  engine: "simulateV1",
  guard: null,
  gasUsed: 60_000n,
  block: null,
  changes: [],
  balances: [],
  transfers: [],
  notes: [],
};

describe("who settled a round", () => {
  let chain: ScriptedNode;
  /** Of the vault from block 9 on; 1 before. */
  let volume: bigint;

  beforeEach(() => {
    volume = 1n;
    chain = new ScriptedNode({
      answerOf: ({ data, block }) =>
        valuesAnswer(data, {
          ...(chain.rounds[block] ?? OPEN_ROUND),
          volume: block < 9 ? 1n : volume,
        }),
    });
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
  const settlement = async (
    previewed: Simulation | null = null,
  ): Promise<Settlement> => {
    const receipt = await receiptOf();
    const mined = { kind: "mined", hash: HASH, receipt, transaction } as const;
    return (await describeEnd(host(), entry, mined, previewed)).settlement;
  };

  describe("in the block of a transaction", () => {
    it("is that transaction, if it is the only one but for twenty transfers", async () => {
      mine(ours, ...Array.from({ length: 20 }, (_, index) => plain(index)));
      expect(await settlement()).to.include({
        status: "settled",
        reason: null,
      });
    });

    it("is not known, and no receipt is asked for, if there are more than twenty others", async () => {
      mine(ours, ...Array.from({ length: 21 }, (_, index) => plain(index)));
      const { reason } = await settlement();
      expect(reason).to.include("whose settlement it is is not known");
      expect(
        chain.asked.filter(
          ({ method, params: [hash] }) =>
            method === "eth_getTransactionReceipt" && hash !== HASH,
        ),
      ).to.eql([]);
    });

    it("is that transaction, though another runs code, if a guard made sure of it", async () => {
      const data = encodeGuarded(VAULT, {
        factory: FACTORY,
        round: OPEN_ROUND,
        mustHaveEnded: false,
        mustSettle: true,
        tokens: [],
      });
      mine(ours, { ...theirs, data: "0x12" });
      chain.rounds[6] = NEXT;
      const guarded = { ...transaction, to: GUARD, data };
      const { settlement: found } = await describeEnd(
        host(),
        { ...entry, guard: GUARD, transactions: [guarded] },
        {
          ...{ kind: "mined", hash: HASH, transaction: guarded },
          receipt: await receiptOf(),
        },
        null,
      );
      expect(found).to.include({ status: "settled", reason: null });
    });

    it("is not known by the previewed gas, if the block ends with the next round and another transaction runs code before it", async () => {
      mine({ ...theirs, data: "0x12" }, ours);
      chain.rounds[6] = NEXT;
      expect((await settlement(preview)).reason).to.include("is not known");
    });

    it("is that transaction, if it used the previewed gas", async () => {
      mine({ ...theirs, data: "0x12" }, ours);
      expect(await settlement(preview)).to.include({
        status: "settled",
        reason: null,
      });
    });

    for (const [title, changes] of [
      ["used other gas", { gasUsed: 59_999n }],
      ["was not previewed to settle", { status: "not-settled" }],
    ] as const) {
      it(`is not known, if it ${title} and another runs code before it`, async () => {
        mine({ ...theirs, data: "0x12" }, ours);
        const { reason } = await settlement({ ...preview, ...changes });
        expect(reason).to.include("is not known");
      });
    }

    for (const [title, changes, reason] of [
      ["that transaction, if it was previewed to settle", {}, /^$/u],
      [
        "not known, if it was previewed to settle nothing",
        { status: "not-settled" },
        /is not known/u,
      ],
    ] as const) {
      it(`is ${title}, and another runs code after it`, async () => {
        mine(ours, { ...theirs, data: "0x12" });
        const previewed = { ...preview, gasUsed: 1n, ...changes };
        const found = await settlement(previewed);
        expect(found.reason ?? "").to.match(reason);
      });
    }

    it("is read with each slot of the trace as it was before, zero where the trace has no value", async () => {
      mine(ours, { ...theirs, data: "0x12" });
      const [was, is] = ["0x1", "0x2"].map((digit) => digit.padEnd(66, "0"));
      const [first, second, third] = ["a", "b", "c"].map((digit) =>
        `0x${digit}`.padEnd(66, digit),
      );
      const [before, after, before3] = [
        { storage: { [String(first)]: was, [String(third)]: "0x03" } },
        { storage: { [String(first)]: is, [String(second)]: is } },
        `0x${"3".padStart(64, "0")}`,
      ];
      chain.on("debug_traceTransaction", () => ({
        pre: { [VAULT]: before, [SETTLER]: { balance: "0x1" } },
        post: { [VAULT]: after, [SETTLER]: { balance: "0x0" } },
      }));
      await settlement();
      expect(
        chain.asked.filter(({ method }) => method === "debug_traceTransaction"),
      ).to.have.nested.property("[0].params[0]", HASH);
      const undone = chain.asked.flatMap(({ params: [, block, given] }) => {
        const { stateDiff } = fieldsOf(fieldsOf(given)[VAULT]);
        return stateDiff === undefined ? [] : [[block, stateDiff]];
      });
      const diff = {
        [String(first)]: was,
        [String(second)]: `0x${"0".repeat(64)}`,
        [String(third)]: before3,
      };
      expect(undone).to.eql([["0x6", diff]]);
    });
  });

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

    it("is nobody, if the round is open in its block", async () => {
      mine(late);
      chain.mine(settledRound);
      expect(await settler()).to.equal(undefined);
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

    it("is somebody else, but the transaction is not-settled, if it moved other values", async () => {
      chain.mine(settledRound);
      chain.mine();
      chain.mine(nextRound);
      mine(idle);
      const { reason } = await settlement(preview);
      expect(reason).to.include("settled by somebody else, in block 6.");
      volume = 2n;
      const moved = await settlement(preview);
      expect(moved).to.include({ status: "not-settled" });
      expect(moved.reason).to.include(
        "settled by somebody else, in block 6, but this transaction changed other values",
      );
    });
  });
});
