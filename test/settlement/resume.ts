import { expect } from "chai";

import { VaultError } from "../../src/client/index.js";
import type { Settlement } from "../../src/types.js";
import { fieldsOf } from "../helpers/fields.js";
import {
  OPEN_ROUND,
  ScriptedNode,
  nextRound,
  settledRound,
} from "../helpers/scripted-node.js";
import {
  HASH,
  itSettles,
  remote,
  useStage,
} from "../helpers/settlement-stage.js";
import type { SettlementStage } from "../helpers/settlement-stage.js";

const resume = { resume: true } as const;
const TO_RESUME = {
  status: "refused",
  code: "VAULT_NOTHING_TO_RESUME",
} as const;

/** Changes a journal that settleAll left. */
const rewrite =
  (
    changes: (
      transaction: Readonly<Record<string, unknown>>,
    ) => Readonly<Record<string, unknown>>,
    end: "" | ".finished" = "",
  ) =>
  async (stage: SettlementStage): Promise<void> => {
    await (end === "" ? stage.interrupt() : stage.settle());
    const journal = await stage.journal(end);
    const transaction = fieldsOf(journal["transaction"]);
    await stage.writeJournal({ ...journal, ...changes(transaction) }, end);
    stage.restartNode();
  };

/** As written by someone without a key: without signed bytes. */
const forge = (changes: Readonly<Record<string, unknown>> = {}) =>
  rewrite((transaction) => ({
    transaction: {
      ...transaction,
      raw: undefined,
      hash: undefined,
      ...changes,
    },
  }));

/** The next settlement is not held up. */
const settlesNext = async (stage: SettlementStage): Promise<void> => {
  expect(await stage.settle()).to.include({ status: "settled" });
  expect(stage.chain.mined.at(-1)).to.include({ nonce: 0, succeeded: true });
};

describe("settleAll: resume", () => {
  const stage = useStage();

  itSettles(stage, [
    {
      title: "resume refuses with VAULT_NOTHING_TO_RESUME without a journal",
      options: resume,
      is: { ...TO_RESUME, before: null },
      says: ["vault-deployments/settlement-31337-", "scripted"],
      events: "",
    },
    ...(["", ".finished"] as const).map((end) => ({
      title: `resume refuses with VAULT_NOTHING_TO_RESUME if the node was started anew, and the next one settles (${end})`,
      given: rewrite(() => ({ genesisHash: HASH }), end),
      options: resume,
      is: TO_RESUME,
      then: async () => {
        stage.chain = new ScriptedNode();
        await settlesNext(stage);
      },
    })),
    {
      title:
        "resume refuses with VAULT_WRONG_CHAIN on another chain than the configured one",
      given: async () => {
        await stage.interrupt();
      },
      network: { chainId: 1 },
      options: resume,
      is: { status: "refused", code: "VAULT_WRONG_CHAIN" },
    },
    {
      title: "resume sends the very bytes that were signed, whoever signs now",
      given: async () => {
        await stage.interrupt();
      },
      network: remote,
      options: resume,
      is: { status: "settled", preview: null, before: OPEN_ROUND },
      sends: 1,
      events: "resuming sending mined",
      then: async ({ chain }) => {
        const { transaction } = await stage.journal(".finished");
        const { raw, hash } = fieldsOf(transaction);
        const sent = chain.asked.find(
          ({ method }) => method === "eth_sendRawTransaction",
        );
        expect(sent?.params).to.deep.equal([raw]);
        expect(chain.mined.map((one) => one.hash)).to.deep.equal([hash]);
      },
    },
    {
      title:
        "resume refuses with VAULT_ROUND_CHANGED in another round, and the next one settles",
      given: async () => {
        await stage.interrupt();
        await stage.openNextRound();
      },
      options: resume,
      is: {
        status: "refused",
        code: "VAULT_ROUND_CHANGED",
        before: OPEN_ROUND,
      },
      says: [
        "The round changed. Expected: the round from",
        "is not sent again",
      ],
      events: "resuming",
      then: async (after) => {
        await settlesNext(after);
      },
    },
    ...(
      [
        ["a key of the configuration", {}, 0],
        ["a key of the node", remote, 0],
        ["a key of the node, with a nonce that is not the next", remote, 3],
      ] as const
    ).map(([what, network, gap]) => ({
      title: `resume gets no signature from ${what} for unsigned bytes: VAULT_SETTLEMENT_LOST, and the next one settles`,
      given: forge({ nonce: gap }),
      network,
      options: resume,
      is: {
        status: "refused",
        code: "VAULT_SETTLEMENT_LOST",
        hash: null,
        before: OPEN_ROUND,
      } as const,
      then: async (after: SettlementStage) => {
        expect(after.chain.count("eth_signTransaction")).to.equal(0);
        await settlesNext(after);
      },
    })),
  ]);

  it("resume has nothing to do for a finished settlement, also on a node that lost its block and state", async () => {
    const { hash } = await stage.settle();
    stage.chain = new ScriptedNode();
    stage.chain.mine(nextRound);
    const resumed = async (): Promise<Settlement> => await stage.settle(resume);
    expect(await resumed()).to.deep.equal({
      status: "nothing-to-do",
      code: null,
      reason:
        "The settlement of the round from 2027-01-15T08:00:00Z to 2027-01-22T08:00:00Z with strike price 1900 is finished: settled in block 6. The current round is the round from 2027-01-22T08:00:00Z to 2027-01-29T08:00:00Z with strike price 1900, not settled.",
      hash,
      blockNumber: 6,
      gasUsed: null,
      before: OPEN_ROUND,
      after: null,
      preview: null,
    });
    stage.chain.mine(() => settledRound(OPEN_ROUND));
    expect((await resumed()).reason).to.include(
      "It is the current round still, settled.",
    );
    const { mined: _, ...unmined } = await stage.journal(".finished");
    await stage.writeJournal(unmined, ".finished");
    const { hash: unknown, reason } = await resumed();
    expect(unknown).to.equal(null);
    expect(reason).to.include("without a transaction that was mined");
    for (const { method } of stage.chain.asked) {
      expect(method).to.not.match(/^eth_send|Transaction/u);
    }
  });

  it("resume settles, or throws and keeps the journal, whatever request fails", async () => {
    await stage.interrupt();
    const unsent = await stage.journal();
    expect(await stage.settle(resume)).to.include({ status: "settled" });
    const requests = stage.chain.asked.length;
    for (let number = 1; number <= requests; number += 1) {
      await stage.reset();
      await stage.writeJournal(unsent);
      const { chain } = stage;
      const request = chain.request.bind(chain);
      let count = 0;
      chain.request = async (args) => {
        count += 1;
        return await (count === number
          ? Promise.reject(new Error("nope"))
          : request(args));
      };
      const { status } = await stage
        .settle(resume)
        .catch(async (error: unknown) => {
          expect(error).to.be.instanceOf(VaultError);
          expect(stage.sends).to.equal(0);
          expect(await stage.journal()).to.deep.equal(unsent);
          return await stage.settle(resume);
        });
      expect(status, `request ${number}`).to.equal("settled");
      expect(stage.chain.mined).to.have.length(1);
    }
  });
});
