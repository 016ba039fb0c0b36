import { expect } from "chai";
import { Interface, ZeroAddress } from "ethers";

import { takeSnapshotWithBalances } from "../../src/client/snapshot.js";
import { vaultError } from "../../src/errors.js";
import { operations } from "../../src/protocol/index.js";
import { Chain } from "../../src/rpc/node.js";
import type { Receipt } from "../../src/rpc/node.js";
import { report } from "../../src/settlement/report.js";
import type { Report, SeeBlock } from "../../src/settlement/report.js";
import type { JournalEntry } from "../../src/settlement/journal.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import {
  FACTORY,
  MemoryChain,
  OPEN_ROUND,
  SETTLE,
  SETTLER,
  VAULT,
  nextRound,
  settledRound,
} from "../helpers/memory-chain.js";
import type { Waiting } from "../helpers/memory-chain.js";

const HASH = `0x${"ab".repeat(32)}`;
const STRANGER = "0x00000000000000000000000000000000000000b7";
const NEXT = nextRound(OPEN_ROUND);
const NOT_YET = new Interface(["error Error(string)"]).encodeErrorResult(
  "Error",
  ["not yet"],
);

const entry: JournalEntry = {
  finished: false,
  chainId: 31_337,
  genesisHash: "unknown",
  vault: VAULT,
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
let others = 0;
const other = (data: string): Waiting => {
  others += 1;
  return {
    ...ours,
    hash: `0x${others.toString(16).padStart(64, "0")}`,
    from: STRANGER,
    to: STRANGER,
    data,
  };
};
const pays = (): Waiting => other("0x");
const calls = (): Waiting => other("0x12345678");

describe("what is said of a settlement that was followed", () => {
  let chain: MemoryChain;

  beforeEach(() => {
    chain = new MemoryChain();
    chain.mines = false;
  });

  const receiptOf = async (): Promise<Receipt> => {
    const receipt = await new Chain(chain.provider, "scripted").receipt(HASH);
    if (receipt === undefined) {
      throw new Error("it is not mined");
    }
    return receipt;
  };
  const see: SeeBlock = async (of, blockTag) =>
    await takeSnapshotWithBalances(of, { blockTag }, []);

  const reportMined = async ({
    how,
    changes = {},
    type = "http",
  }: {
    how?: SeeBlock;
    changes?: Partial<Receipt>;
    type?: string;
  } = {}): Promise<Report> => {
    const receipt = { ...(await receiptOf()), ...changes };
    const said = await report(
      chain.host({ networkConfig: { type }, projectRoot: "" }),
      entry,
      { kind: "mined", hash: HASH, receipt },
      how,
    );
    expect(said.receipt).to.equal(receipt);
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
  /** Status, code and reason. */
  const words = ({
    settlement: { status, code, reason },
  }: Report): readonly unknown[] => [status, code, reason];

  for (const overrides of [true, false]) {
    const where = overrides ? "in one request" : "call by call";
    it(`should be settled where the round is, read ${where}`, async () => {
      chain.overrides = overrides;
      mine(ours);
      chain.mine(nextRound);
      for (const how of [see, undefined]) {
        const said = await reportMined(how === undefined ? {} : { how });
        expect(words(said)).to.deep.equal(["settled", null, null]);
        expect(said.settlement.after).to.deep.equal(settledRound(OPEN_ROUND));
        expect(said.isFinal).to.equal(true);
        expect(said.minedBlock).to.deep.equal(
          overrides || how !== undefined
            ? { number: 6, timestamp: 1_700_000_006 }
            : undefined,
        );
        expect(said.seen === undefined).to.equal(how === undefined);
      }
    });
  }

  it("should be looked for by itself where all of the block cannot be seen", async () => {
    mine(ours);
    const round = {
      error: vaultError("VAULT_NO_SIGNER", { network: "scripted" }),
    };
    const said = await reportMined({
      how: async (of, blockTag) => {
        const all = await see(of, blockTag);
        return { ...all, snapshot: { ...all.snapshot, round } };
      },
    });
    expect(words(said)).to.deep.equal(["settled", null, null]);
    expect(said.seen).to.equal(undefined);
    expect(
      words(
        await reportMined({
          how: async () => await Promise.reject(new Error("nope")),
        }),
      ),
    ).to.deep.equal(["settled", null, null]);
  });

  it("should be a mismatch where it left the round as it was", async () => {
    chain.effect = (round) => round;
    mine(ours);
    const said = await reportMined();
    expect(words(said).slice(0, 2)).to.deep.equal(["unconfirmed", null]);
    expect(words(said)[2]).to.match(
      /^MISMATCH: it was mined in block 6 without a revert, but the round from .* is not settled in that block\.$/u,
    );
    expect(said.settlement.after).to.deep.equal(OPEN_ROUND);
    expect(said.isFinal).to.equal(true);
    expect(said.seen).to.equal(undefined);
  });

  for (const [settled, effect] of [
    ["no", nextRound],
    ["yes", (round: typeof OPEN_ROUND) => settledRound(nextRound(round))],
  ] as const) {
    it(`should be a mismatch where another round is settled: ${settled}`, async () => {
      // The round before it was another one already.
      chain.mine(nextRound);
      chain.effect = () => (settled === "no" ? NEXT : settledRound(NEXT));
      mine(ours);
      const said = await reportMined();
      expect(said.settlement.status).to.equal("unconfirmed");
      expect(said.settlement.reason)
        .to.match(/^MISMATCH: it was meant for the round from /u)
        .and.include("but in block 7 the vault is in another one, the round")
        .and.include(`settled: ${settled}. Look at that block`);
      expect(effect(OPEN_ROUND)).to.deep.equal(said.settlement.after);
    });
  }

  describe("where the block ends with the next round", () => {
    const isSettled = async (
      changes: Partial<Receipt> = {},
    ): Promise<boolean> => {
      const said = await reportMined({ changes });
      expect(said.settlement.after).to.deep.equal(NEXT);
      const isProven = said.settlement.status === "settled";
      expect(said.settlement).to.include(
        isProven
          ? { status: "settled", code: null, reason: null }
          : { status: "unconfirmed", code: null },
      );
      return isProven;
    };
    const alone = (): void => {
      chain.overrides = false;
      chain.effect = nextRound;
    };

    it("should be settled where nothing else ran code, replayed or not", async () => {
      for (const all of [
        [ours],
        [pays(), ours],
        [ours, pays()],
        [pays(), pays(), ours, pays()],
      ]) {
        chain = new MemoryChain();
        chain.mines = false;
        alone();
        mine(...all);
        expect(await isSettled(), `${all.length}`).to.equal(true);
        expect(chain.count("eth_simulateV1")).to.equal(0);
      }
    });

    it("should not be settled for sure beside what ran code, where nothing is replayed", async () => {
      for (const all of [
        [calls(), ours],
        [ours, calls()],
        [pays(), ours, calls()],
      ]) {
        chain = new MemoryChain();
        chain.mines = false;
        alone();
        mine(...all);
        expect(await isSettled()).to.equal(false);
      }
    });

    it("should not be settled for sure where its place in the block is not known", async () => {
      alone();
      mine(ours);
      expect(await isSettled({ place: undefined })).to.equal(false);
      chain.overrides = true;
      expect(await isSettled({ place: undefined })).to.equal(false);
      // Nor where the block has another transaction in that place.
      const place = { index: 0, gasBefore: 1n };
      expect(await isSettled({ place })).to.equal(false);
    });

    it("should not be settled where the round before it was another one, or settled", async () => {
      for (const change of [nextRound, settledRound]) {
        chain = new MemoryChain();
        chain.mines = false;
        alone();
        chain.mine(change);
        chain.effect = () => NEXT;
        chain.revertsWith = undefined;
        // It was settled by somebody else, and opens the next round all the same.
        chain.pool.push({ ...ours, data: "0x" });
        chain.mine(() => NEXT);
        expect(await isSettled()).to.equal(false);
      }
    });

    it("should be settled where a replay goes the same way", async () => {
      const list = [{ address: STRANGER, storageKeys: [] }];
      const extras = [{ to: null, accessList: list }, {}, { accessList: null }];
      for (const fee of ["0x7", undefined]) {
        chain = new MemoryChain();
        chain.mines = false;
        chain.effect = nextRound;
        mine(calls(), calls(), ours, calls());
        chain.on("eth_getBlockByNumber", async ([, whole], answer) => {
          const block = fieldsOf(await answer());
          return {
            ...block,
            miner: STRANGER,
            mixHash: HASH,
            baseFeePerGas: fee,
            transactions: listOf(block["transactions"]).map((one, index) =>
              whole === true ? { ...fieldsOf(one), ...extras[index] } : one,
            ),
          };
        });
        expect(await isSettled()).to.equal(true);
        const [request, base, ...more] =
          chain.asked.find(({ method }) => method === "eth_simulateV1")
            ?.params ?? [];
        expect([base, ...more]).to.deep.equal(["0x5"]);
        const [simulated, ...blocks] = listOf(
          fieldsOf(request)["blockStateCalls"],
        );
        expect(blocks).to.deep.equal([]);
        const { blockOverrides, calls: made } = fieldsOf(simulated);
        expect(blockOverrides).to.deep.equal({
          number: "0x6",
          time: "0x6553f106",
          gasLimit: `0x${(30_000_000 + 20_000_000).toString(16)}`,
          feeRecipient: STRANGER,
          prevRandao: HASH,
          ...(fee === undefined ? {} : { baseFeePerGas: fee }),
        });
        const common = { value: "0x0", gas: "0xfffff" };
        const reads = {
          from: ZeroAddress,
          to: FACTORY,
          input: operations.getLatestRoundInfo.selector,
          gas: "0x989680",
        };
        expect(made).to.deep.equal([
          { from: STRANGER, input: "0x12345678", ...common, accessList: list },
          { from: STRANGER, to: STRANGER, input: "0x12345678", ...common },
          reads,
          { from: SETTLER, to: VAULT, input: SETTLE, ...common },
          reads,
        ]);
      }
    });

    const changed = (
      change: (calls: Array<Record<string, unknown>>) => object | undefined,
    ): void => {
      chain.on("eth_simulateV1", async (_, answer) => {
        const block = fieldsOf(listOf(await answer())[0]);
        const all = listOf(block["calls"]).map((call) => ({
          ...fieldsOf(call),
        }));
        return [{ ...block, calls: all, ...change(all) }];
      });
    };
    const set =
      (index: number, values: object) =>
      (all: Array<Record<string, unknown>>): undefined => {
        Object.assign(all[index] ?? {}, values);
      };
    const failed = {
      status: "0x0",
      error: { code: 3, message: "execution reverted" },
    };
    const cases: ReadonlyArray<
      readonly [name: string, change: Parameters<typeof changed>[0]]
    > = [
      ["an earlier one used other gas", set(0, { gasUsed: "0xea61" })],
      ["it used other gas itself", set(2, { gasUsed: "0xea61" })],
      ["it left other logs", set(2, { logs: [] })],
      ["it failed", set(2, failed)],
      ["the round before cannot be read", set(1, failed)],
      ["the round after cannot be read", set(3, failed)],
      ["the block has another number", () => ({ number: "0x7" })],
      ["there is one call too many", (all) => ({ calls: [...all, all[3]] })],
      ["a call is missing", (all) => ({ calls: all.slice(0, 3) })],
      [
        "the round before was another one",
        (all) => set(1, { returnData: all[3]?.["returnData"] })(all),
      ],
      [
        "the round after is the same, and open",
        (all) => set(3, { returnData: all[1]?.["returnData"] })(all),
      ],
    ];
    for (const [name, change] of cases) {
      it(`should not believe a replay in which ${name}`, async () => {
        chain.effect = nextRound;
        mine(calls(), ours);
        changed(change);
        expect(await isSettled()).to.equal(false);
        expect(chain.count("eth_simulateV1")).to.be.greaterThan(0);
      });
    }

    it("should believe one in which the round is settled after it", async () => {
      chain.effect = nextRound;
      mine(calls(), ours);
      changed((all) => {
        const data = String(all[1]?.["returnData"]);
        // Its last word says whether it is settled.
        set(3, { returnData: data.replace(/0$/u, "1") })(all);
      });
      expect(await isSettled()).to.equal(true);
    });

    it("should replay no block that has what a call cannot be given, or not this transaction", async () => {
      for (const odd of [{ type: "0x3" }, { type: "0x7e" }]) {
        chain = new MemoryChain();
        chain.mines = false;
        chain.effect = nextRound;
        mine(calls(), ours, calls());
        chain.on("eth_getBlockByNumber", async ([, whole], answer) => {
          const block = fieldsOf(await answer());
          const [first, ...rest] = listOf(block["transactions"]);
          return whole === true
            ? {
                ...block,
                transactions: [{ ...fieldsOf(first), ...odd }, ...rest],
              }
            : block;
        });
        expect(await isSettled()).to.equal(false);
        expect(chain.count("eth_simulateV1")).to.equal(0);
      }
    });

    it("should replay no block that the node does not give, or not as one", async () => {
      for (const odd of [{ gasLimit: "all" }, { number: "0x5" }, undefined]) {
        chain = new MemoryChain();
        chain.mines = false;
        chain.effect = nextRound;
        mine(calls(), ours, calls());
        chain.on("eth_getBlockByNumber", async ([, whole], answer) => {
          const block = await answer();
          return whole !== true
            ? block
            : odd === undefined
              ? null
              : { ...fieldsOf(block), ...odd };
        });
        expect(await isSettled()).to.equal(false);
        expect(chain.count("eth_simulateV1")).to.equal(0);
      }
    });
  });

  describe("where the state of its block is gone", () => {
    const forget = (block: number): void => {
      chain.on("eth_call", async (params, answer) => {
        if (params[1] === `0x${block.toString(16)}`) {
          throw new Error("missing trie node");
        }
        return await answer();
      });
    };

    it("should be settled where the newest block has the same round", async () => {
      mine(ours);
      chain.mine();
      forget(6);
      const said = await reportMined();
      expect(words(said)).to.deep.equal(["settled", null, null]);
      expect(said.isFinal).to.equal(true);
      expect(said.minedBlock).to.equal(undefined);
    });

    it("should be left to an archive node where the vault is in another round by now", async () => {
      mine(ours);
      chain.mine(nextRound);
      forget(6);
      const said = await reportMined();
      expect(said.settlement).to.include({
        status: "unconfirmed",
        code: null,
        after: null,
      });
      expect(said.settlement.reason).to.include("an archive node can tell");
      expect(said.isFinal).to.equal(true);
    });

    it("should be asked for again where nothing can be read, or the node is behind", async () => {
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
      await isUnread();
      chain.on("eth_getBlockByNumber", () => ({
        number: "0x5",
        timestamp: "0x1",
      }));
      await isUnread();
    });
  });

  describe("where it reverted", () => {
    const reverted = async (
      changes: Partial<Receipt> = {},
    ): Promise<readonly unknown[]> => {
      chain.revertsWith = NOT_YET;
      mine(ours);
      const said = await reportMined({ changes });
      expect(said.settlement.after).to.deep.equal(OPEN_ROUND);
      expect(said.isFinal).to.equal(true);
      return words(said);
    };

    it("should say why, as it is at its block", async () => {
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
            JSON.stringify({ from: SETTLER, to: VAULT, data: SETTLE }),
      );
      expect(simulated.map(({ params: [, tag] }) => tag)).to.deep.equal([
        "0x6",
      ]);
    });

    it("should say why, as it was before its block, or that it is not known", async () => {
      const settles = (call: unknown): boolean =>
        JSON.stringify(call).includes(`"data":"${SETTLE}"`);
      chain.on("eth_call", async ([call, tag], answer) =>
        settles(call) && tag === "0x6" ? "0x" : await answer(),
      );
      expect((await reverted())[2]).to.include("not yet");

      chain = new MemoryChain();
      chain.mines = false;
      chain.on("eth_call", async ([call], answer) => {
        if (settles(call)) {
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

    it("should name a want of gas where it used nearly all", async () => {
      for (const [gasUsed, code] of [
        [95_000n, "VAULT_OUT_OF_GAS"],
        [94_999n, "VAULT_CALL_REVERTED"],
      ] as const) {
        chain = new MemoryChain();
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

  it("should be what is known of one that is not mined", async () => {
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
    ): Promise<Report> =>
      await report(
        chain.host({ networkConfig: { type }, projectRoot: "" }),
        entry,
        end,
        see,
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
    });
    const dropped = await say({
      kind: "dropped",
      hash: undefined,
      status: "unconfirmed",
      reason: "No.",
    });
    expect(dropped.settlement).to.include({ code: null, hash: null });
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
        reason: "Still. The option `resume` of settleAll() takes it up again.",
      },
      isFinal: false,
    });
    mine(ours);
    const receipt = await receiptOf();
    const { settlement, ...rest } = await say(
      { ...open, receipt },
      "edr-simulated",
    );
    expect(rest).to.deep.equal({ isFinal: false });
    expect(settlement).to.include({
      reason: "Still.",
      blockNumber: 6,
      gasUsed: 60_000n,
      after: null,
    });
  });
});
