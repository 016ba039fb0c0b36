import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";

import { expect } from "chai";

import { expectVaultError } from "../helpers/assertions.js";
import { endDeadlines } from "../helpers/deadlines.js";
import { GENESIS, OPEN_ROUND } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import {
  JOURNAL_FILE,
  OTHER_HASH,
  keyOf,
  useStage,
} from "../helpers/settlement-stage.js";

const OTHER_KEY = `0x${"22".repeat(32)}`;

describe("the journal of a settlement on a live chain", () => {
  const stage = useStage();
  const text = async (): Promise<string> =>
    await readFile(stage.journalFile(), "utf8");

  beforeEach(() => {
    // A node may have pruned a first block that is so far back.
    stage.chain.rounds = Array.from({ length: 200 }, () => OPEN_ROUND);
  });

  for (const [title, genesis] of [
    ["another", OTHER_HASH],
    ["no", undefined],
  ] as const) {
    it(`keeps its lock, and refuses with VAULT_JOURNAL_OF_OTHER_CHAIN, if a node answers ${title} first block`, async () => {
      const { hash } = await stage.interrupt();
      const before = await text();
      stage.changeGenesis(genesis);
      for (const options of [{}, { resume: true }, { resumeFirst: true }]) {
        const { reason, ...settlement } = await stage.settle(options);
        expect(settlement).to.include({
          status: "refused",
          code: "VAULT_JOURNAL_OF_OTHER_CHAIN",
          hash,
        });
        expect(reason).to.include(JOURNAL_FILE).and.include("delete the file");
      }
      expect(await text()).to.equal(before);
      expect(stage.sends).to.equal(0);
      stage.changeGenesis(GENESIS);
      expect(await stage.settle({ resume: true })).to.include({
        status: "settled",
        hash,
      });
    });
  }

  /** A settlement that was sent, is finished, and may still arrive. */
  const leaveBehind = async (): Promise<void> => {
    await stage.interrupt();
    stage.chain.rounds.push({ ...OPEN_ROUND, startTime: 1n });
    expect((await stage.settle({ resume: true })).status).to.equal("refused");
    stage.chain.rounds.pop();
  };

  it("lets another account settle once the first one's settlement was given up", async () => {
    await leaveBehind();
    expect(await stage.settle({}, { accounts: [keyOf(OTHER_KEY)] })).to.include(
      { status: "settled" },
    );
  });

  it("stays finished if resume with cancel lacks the key of its account", async () => {
    await leaveBehind();
    stage.chain.on("eth_accounts", () => []);
    expect(
      await stage.settle(
        { resume: true, cancel: true },
        { accounts: [keyOf(OTHER_KEY)] },
      ),
    ).to.include({ status: "refused", code: "VAULT_UNKNOWN_SIGNER" });
    expect(existsSync(stage.journalFile())).to.equal(false);
  });

  it("is resumed on a node that has the first block if it was begun on one that has not", async () => {
    stage.changeGenesis(undefined);
    stage.loseTransactions(endDeadlines);
    const { hash } = await stage.settle();
    stage.restartNode();
    expect(await stage.settle()).to.include({
      code: "VAULT_SETTLEMENT_UNFINISHED",
    });
    expect(await stage.settle({ resume: true })).to.include({
      status: "settled",
      hash,
    });
  });

  it("is neither seen, finished nor released by a fork with its chain id and first block", async () => {
    const { hash } = await stage.interrupt();
    const before = await text();
    stage.makeDevelopmentNode();
    expect(await stage.settle({ resume: true })).to.include({
      code: "VAULT_NOTHING_TO_RESUME",
    });
    expect(await stage.settle()).to.include({ status: "settled" });
    expect(await text()).to.equal(before);
    expect(existsSync(stage.journalFile(".finished"))).to.equal(false);
    // The fork is discarded: the live chain is where it was.
    stage.chain = new ScriptedNode();
    expect(await stage.settle({ resume: true })).to.include({
      status: "settled",
      hash,
    });
    expect(stage.chain.mined).to.have.length(1);
  });

  it("settleAll throws VAULT_CHAIN_CHANGED, and sends nothing, if a live node takes the place of a fork while it asks", async () => {
    stage.makeDevelopmentNode();
    await expectVaultError(
      stage.settle({
        confirm: async () => {
          stage.chain.on("hardhat_metadata", () => ({}));
          return await Promise.resolve(true);
        },
      }),
      "VAULT_CHAIN_CHANGED",
    );
    expect(stage.sends).to.equal(0);
  });

  it("settleAll throws VAULT_CHAIN_CHANGED, and sends nothing, if a fork takes the place of a live node while it asks", async () => {
    await expectVaultError(
      stage.settle({
        confirm: async () => {
          stage.makeDevelopmentNode();
          return await Promise.resolve(true);
        },
      }),
      "VAULT_CHAIN_CHANGED",
    );
    expect(stage.sends).to.equal(0);
    expect(existsSync(stage.journalFile())).to.equal(false);
  });

  it("asks once which kind of chain it is after a person agreed, before it signs", async () => {
    const order: string[] = [];
    for (const method of ["hardhat_metadata", "eth_getTransactionCount"]) {
      stage.chain.on(method, async (_, answer) => {
        order.push(method);
        return await answer();
      });
    }
    await stage.settle({
      confirm: async () => {
        order.push("confirm");
        return await Promise.resolve(true);
      },
    });
    const after = order.slice(order.indexOf("confirm"));
    expect(after.filter((one) => one === "hardhat_metadata")).to.have.lengthOf(
      1,
    );
  });

  it("is not that of a fork that takes the place of the live node of a connection", async () => {
    const host = stage.host();
    stage.loseTransactions(endDeadlines);
    await stage.end({}, host);
    stage.makeDevelopmentNode();
    const { settlement } = await stage.end({ resume: true }, host);
    expect(settlement).to.include({ code: "VAULT_NOTHING_TO_RESUME" });
    expect(stage.sends).to.equal(1);
    expect(existsSync(stage.journalFile())).to.equal(true);
  });

  it("has nothing to resume of what was confirmed for a fork", async () => {
    stage.makeDevelopmentNode();
    stage.loseTransactions(endDeadlines);
    await stage.settle();
    expect(existsSync(stage.journalFile("", "development"))).to.equal(true);
    stage.chain = new ScriptedNode();
    expect(await stage.settle({ resumeFirst: true })).to.include({
      status: "settled",
    });
    expect(stage.types).not.to.include("resum");
  });
});
