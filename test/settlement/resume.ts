import { rename } from "node:fs/promises";

import { expect } from "chai";

import { VaultError } from "../../src/client/index.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { KEY, nextRound, settledRound } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import { itSettles, remote, useKeeper } from "../helpers/keeper.js";
import type { NetworkChanges, Keeper } from "../helpers/keeper.js";

const resume = { resume: true } as const;

describe("settleAll: resume", () => {
  const keeper = useKeeper();

  /** The next settlement is mined with this nonce. */
  const expectNext = async (nonce: number): Promise<void> => {
    expect((await keeper.settle()).status).to.equal("settled");
    expect(keeper.chain.mined.at(-1)).to.include({ nonce });
  };
  const notKnown = (): never => {
    throw Object.assign(new Error("nope"), { code: -32_000 });
  };

  it("has the block that it looked at if the transaction is not mined in time", async () => {
    await keeper.interrupt();
    await keeper.stopMining();
    const { settlement, block } = await keeper.end(resume);
    expect(settlement.status).to.equal("unconfirmed");
    expect(block).to.include({ number: 5 });
  });

  it("sends nothing if another process finishes the settlement as it takes it over", async () => {
    await keeper.interrupt();
    const finishesAtKey = async (): Promise<string> => {
      await rename(keeper.journalFile(), keeper.journalFile(".finished"));
      return KEY;
    };
    const accounts = [{ get: finishesAtKey, getHexString: finishesAtKey }];
    const taken = await keeper.settle({ ...resume, bump: true }, { accounts });
    expect(taken).to.include({ status: "nothing-to-do" });
    expect(keeper.sends).to.equal(0);
  });

  describe("after an interruption", () => {
    const interrupted = async (on: Keeper): Promise<void> => {
      await on.interrupt();
    };
    itSettles(keeper, [
      {
        title:
          "settleAll refuses to begin another, and names the transaction: VAULT_SETTLEMENT_UNFINISHED",
        given: interrupted,
        is: { status: "refused", code: "VAULT_SETTLEMENT_UNFINISHED" },
        says: ["transaction 0x"],
        events: "",
      },
      {
        title:
          "settleAll refuses to begin another, and names the nonce, if the node signed: VAULT_SETTLEMENT_UNFINISHED",
        given: async (on) => {
          await on.interrupt(remote);
        },
        network: remote,
        is: {
          status: "refused",
          code: "VAULT_SETTLEMENT_UNFINISHED",
          hash: null,
        },
        says: ["nonce 0, its hash not known"],
      },
      {
        title: "assertOnly sees the round, not the journal",
        given: interrupted,
        options: { assertOnly: true },
        is: { status: "refused", code: "VAULT_SETTLEMENT_NEEDED" },
      },
      {
        title: "resume sends the signed bytes, whoever signs by now",
        given: interrupted,
        network: remote,
        options: resume,
        is: { status: "settled", preview: null },
        events: "resuming sending mined",
        sends: 1,
        then: async ({ chain }) => {
          const sent = chain.asked.find(
            ({ method }) => method === "eth_sendRawTransaction",
          );
          const { transactions } = await keeper.journal(".finished");
          expect(fieldsOf(listOf(transactions)[0])["raw"]).to.equal(
            sent?.params[0],
          );
        },
      },
      {
        title:
          "resume sends nothing if somebody else settled the round meanwhile",
        given: async (on) => {
          await on.interrupt();
          await on.settleByOther();
        },
        options: resume,
        is: { status: "nothing-to-do", code: null },
        says: ["somebody else meanwhile", "the same nonce 0, takes its place"],
        events: "resuming",
      },
      {
        title:
          "resume sends nothing if the next round is current, which the next settlement settles: VAULT_ROUND_CHANGED",
        given: async (on) => {
          await on.interrupt();
          await on.openNextRound();
        },
        options: resume,
        is: { status: "refused", code: "VAULT_ROUND_CHANGED" },
        events: "resuming",
        then: async () => {
          await expectNext(0);
        },
      },
      {
        title:
          "resume is unconfirmed if the node has the nonce, but not the transaction, and the round is settled",
        given: async (on) => {
          await on.interrupt();
          await on.settleByOther();
          on.chain.on("eth_getTransactionCount", ([, tag]) =>
            String(tag).startsWith("0x") ? "0x1" : "0x0",
          );
          on.endAtLook(3);
        },
        options: resume,
        is: { status: "unconfirmed" },
        says: [
          "it may be what settled the round",
          "settleAll({ resume: true })",
        ],
      },
      {
        title:
          "resume is unconfirmed, and names the request, if the round cannot be checked before it sends again",
        given: async (on) => {
          await on.interrupt();
          on.endAtLook(3);
          on.chain.on("eth_call", async (_, answer, seen) =>
            seen > 0 ? notKnown() : await answer(),
          );
        },
        options: resume,
        is: { status: "unconfirmed" },
        says: ["could not be sent again", "refused eth_call: nope"],
        events: "resuming trouble",
      },
    ]);

    const unsigned: ReadonlyArray<
      readonly [title: string, nonce: number, network: NetworkChanges]
    > = [
      ["a key of the configuration", 0, {}],
      ["an account of the node", 0, remote],
      ["an account of the node, with a later nonce", 3, remote],
    ];
    itSettles(
      keeper,
      unsigned.map(([title, nonce, network]) => ({
        title: `resume signs nothing without signed bytes, for ${title}: VAULT_SETTLEMENT_LOST`,
        given: async (on: Keeper) => {
          await on.interrupt();
          const journal = await on.journal();
          const transaction = fieldsOf(listOf(journal["transactions"])[0]);
          const forged = { ...transaction, raw: undefined, hash: undefined };
          await on.writeJournal({
            ...journal,
            transactions: [{ ...forged, nonce }],
          });
        },
        network,
        options: resume,
        is: { status: "refused", code: "VAULT_SETTLEMENT_LOST", hash: null },
        says: [`nonce ${nonce}`],
        events: "resuming",
        then: async ({ chain }) => {
          expect(chain.count("eth_signTransaction")).to.equal(0);
          await expectNext(0);
        },
      })),
    );
  });

  describe("after the end of its time", () => {
    it("resume waits for its own number of confirmations, and names what there is", async () => {
      keeper.endAtLook(2);
      const first = await keeper.settle({ confirmations: 3 });
      expect(first).to.include({ status: "unconfirmed", blockNumber: 6 });
      expect(first.reason)
        .to.include("with 1 of 3 confirmations")
        .and.include("settleAll({ resume: true, confirmations: 3 })");
      const second = await keeper.settle({ ...resume, confirmations: 2 });
      expect(second.reason).to.include("with 1 of 2 confirmations");
      keeper.chain.on(
        "eth_getTransactionReceipt",
        async (_, answer) => await answer(),
      );
      keeper.chain.mine();
      const third = await keeper.settle({ ...resume, confirmations: 2 });
      expect(third).to.include({ status: "settled", blockNumber: 6 });
      expect(keeper.types).to.equal("resuming mined confirmed");
      expect(keeper.sends).to.equal(1);
    });

    it("resume settles what waited in the pool, and has nothing to do after that", async () => {
      await keeper.stopMining();
      const { hash } = await keeper.settle();
      keeper.chain.on(
        "eth_getTransactionReceipt",
        async (_, answer) => await answer(),
      );
      keeper.chain.mine();
      const resumed = await keeper.settle(resume);
      expect(resumed).to.include({ status: "settled", hash, preview: null });
      const again = await keeper.settle(resume);
      expect(again).to.deep.include({
        status: "nothing-to-do",
        hash,
        hashes: [],
      });
      expect(again.reason).to.include("finished: settled in block 6");
      expect(keeper.sends).to.equal(1);
    });
  });

  describe("after a finished settlement", () => {
    const finish = async (on: Keeper): Promise<void> => {
      await on.settle();
      // A node that lost the block: the journal has all that is known.
      on.chain = new ScriptedNode();
    };
    const noLookUp = ({ chain }: Keeper): void => {
      const methods = chain.asked.map(({ method }) => method);
      expect(methods.filter((method) => /Transaction/u.test(method))).to.eql(
        [],
      );
    };
    itSettles(keeper, [
      {
        title: "resume names its block, and that the round is still current",
        given: async (on) => {
          await finish(on);
          on.chain.mine(settledRound);
        },
        options: resume,
        is: { status: "nothing-to-do", code: null, after: null },
        says: ["settled in block 6", "the current round still, settled"],
        events: "",
        then: noLookUp,
      },
      {
        title: "resume names the round that is current by now",
        given: async (on) => {
          await finish(on);
          on.chain.mine(nextRound);
        },
        options: resume,
        is: { status: "nothing-to-do" },
        says: ["The current round is", "2027-01-29T08:00:00Z", "not settled"],
        then: noLookUp,
      },
      {
        title: "resume has no hash if none of its transactions was mined",
        given: async (on) => {
          await finish(on);
          const finished = await on.journal(".finished");
          await on.writeJournal({ ...finished, mined: undefined }, ".finished");
        },
        options: resume,
        is: { status: "nothing-to-do", hash: null },
        says: ["without a transaction that was mined"],
      },
      {
        title:
          "resume does not find that of a chain with another first block: VAULT_NOTHING_TO_RESUME",
        given: async (on) => {
          await finish(on);
          const genesisHash = `0x${"ab".repeat(32)}`;
          const finished = await on.journal(".finished");
          await on.writeJournal({ ...finished, genesisHash }, ".finished");
        },
        options: resume,
        is: { status: "refused", code: "VAULT_NOTHING_TO_RESUME", hash: null },
        then: async () => {
          await expectNext(0);
        },
      },
    ]);
  });

  it("resume settles, or throws and keeps the journal, whatever request fails", async () => {
    await keeper.interrupt();
    const unsent = await keeper.journal();
    expect(await keeper.settle(resume)).to.include({ status: "settled" });
    const requests = keeper.chain.asked.length;
    let thrown = 0;
    for (let number = 1; number <= requests; number += 1) {
      await keeper.reset();
      await keeper.writeJournal(unsent);
      const { chain } = keeper;
      const request = chain.request.bind(chain);
      let count = 0;
      chain.request = async (args) => {
        count += 1;
        return await (count === number
          ? Promise.reject(new Error("nope"))
          : request(args));
      };
      const { status } = await keeper
        .settle(resume)
        .catch(async (error: unknown) => {
          thrown += 1;
          expect(error).to.be.instanceOf(VaultError);
          expect(keeper.sends).to.equal(0);
          expect(await keeper.journal()).to.deep.equal(unsent);
          return await keeper.settle(resume);
        });
      expect(status, `request ${number}`).to.equal("settled");
      expect(keeper.chain.mined).to.have.length(1);
    }
    expect(thrown).to.be.above(0);
  });
});
