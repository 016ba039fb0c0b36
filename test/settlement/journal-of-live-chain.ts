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
  useKeeper,
} from "../helpers/keeper.js";

const OTHER_KEY = `0x${"22".repeat(32)}`;

describe("the journal of a settlement on a live chain", () => {
  const keeper = useKeeper();
  const text = async (): Promise<string> =>
    await readFile(keeper.journalFile(), "utf8");

  beforeEach(() => {
    // A node may have pruned a first block that is so far back.
    keeper.chain.rounds = Array.from({ length: 200 }, () => OPEN_ROUND);
  });

  for (const [title, genesis] of [
    ["another", OTHER_HASH],
    ["no", undefined],
  ] as const) {
    it(`keeps its lock, and refuses with VAULT_JOURNAL_OF_OTHER_CHAIN, if a node answers ${title} first block`, async () => {
      const { hash } = await keeper.interrupt();
      const before = await text();
      keeper.changeGenesis(genesis);
      for (const options of [{}, { resume: true }, { resumeFirst: true }]) {
        const { reason, ...settlement } = await keeper.settle(options);
        expect(settlement).to.include({
          status: "refused",
          code: "VAULT_JOURNAL_OF_OTHER_CHAIN",
          hash,
        });
        expect(reason).to.include(JOURNAL_FILE).and.include("delete the file");
      }
      expect(await text()).to.equal(before);
      expect(keeper.sends).to.equal(0);
      keeper.changeGenesis(GENESIS);
      expect(await keeper.settle({ resume: true })).to.include({
        status: "settled",
        hash,
      });
    });
  }

  /** A settlement that was sent, is finished, and may still arrive. */
  const leaveBehind = async (): Promise<void> => {
    await keeper.interrupt();
    keeper.chain.rounds.push({ ...OPEN_ROUND, startTime: 1n });
    expect((await keeper.settle({ resume: true })).status).to.equal("refused");
    keeper.chain.rounds.pop();
  };

  it("lets another account settle once the first one's settlement was given up", async () => {
    await leaveBehind();
    expect(
      await keeper.settle({}, { accounts: [keyOf(OTHER_KEY)] }),
    ).to.include({ status: "settled" });
  });

  it("stays finished if resume with cancel lacks the key of its account", async () => {
    await leaveBehind();
    keeper.chain.on("eth_accounts", () => []);
    expect(
      await keeper.settle(
        { resume: true, cancel: true },
        { accounts: [keyOf(OTHER_KEY)] },
      ),
    ).to.include({ status: "refused", code: "VAULT_UNKNOWN_SIGNER" });
    expect(existsSync(keeper.journalFile())).to.equal(false);
  });

  it("is resumed on a node that has the first block if it was begun on one that has not", async () => {
    keeper.changeGenesis(undefined);
    keeper.loseTransactions(endDeadlines);
    const { hash } = await keeper.settle();
    keeper.restartNode();
    expect(await keeper.settle()).to.include({
      code: "VAULT_SETTLEMENT_UNFINISHED",
    });
    expect(await keeper.settle({ resume: true })).to.include({
      status: "settled",
      hash,
    });
  });

  it("is neither seen, finished nor released by a fork with its chain id and first block", async () => {
    const { hash } = await keeper.interrupt();
    const before = await text();
    keeper.makeDevelopmentNode();
    expect(await keeper.settle({ resume: true })).to.include({
      code: "VAULT_NOTHING_TO_RESUME",
    });
    expect(await keeper.settle()).to.include({ status: "settled" });
    expect(await text()).to.equal(before);
    expect(existsSync(keeper.journalFile(".finished"))).to.equal(false);
    // The fork is discarded: the live chain is where it was.
    keeper.chain = new ScriptedNode();
    expect(await keeper.settle({ resume: true })).to.include({
      status: "settled",
      hash,
    });
    expect(keeper.chain.mined).to.have.length(1);
  });

  it("settleAll throws VAULT_CHAIN_CHANGED, and sends nothing, if a live node takes the place of a fork while it asks", async () => {
    keeper.makeDevelopmentNode();
    await expectVaultError(
      keeper.settle({
        confirm: async () => {
          keeper.chain.on("hardhat_metadata", () => ({}));
          return await Promise.resolve(true);
        },
      }),
      "VAULT_CHAIN_CHANGED",
    );
    expect(keeper.sends).to.equal(0);
  });

  it("settleAll throws VAULT_CHAIN_CHANGED, and sends nothing, if a fork takes the place of a live node while it asks", async () => {
    await expectVaultError(
      keeper.settle({
        confirm: async () => {
          keeper.makeDevelopmentNode();
          return await Promise.resolve(true);
        },
      }),
      "VAULT_CHAIN_CHANGED",
    );
    expect(keeper.sends).to.equal(0);
    expect(existsSync(keeper.journalFile())).to.equal(false);
  });

  it("asks once which kind of chain it is after a person agreed, before it signs", async () => {
    const order: string[] = [];
    for (const method of ["hardhat_metadata", "eth_getTransactionCount"]) {
      keeper.chain.on(method, async (_, answer) => {
        order.push(method);
        return await answer();
      });
    }
    await keeper.settle({
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
    const host = keeper.host();
    keeper.loseTransactions(endDeadlines);
    await keeper.end({}, host);
    keeper.makeDevelopmentNode();
    const { settlement } = await keeper.end({ resume: true }, host);
    expect(settlement).to.include({ code: "VAULT_NOTHING_TO_RESUME" });
    expect(keeper.sends).to.equal(1);
    expect(existsSync(keeper.journalFile())).to.equal(true);
  });

  it("has nothing to resume of what was confirmed for a fork", async () => {
    keeper.makeDevelopmentNode();
    keeper.loseTransactions(endDeadlines);
    await keeper.settle();
    expect(existsSync(keeper.journalFile("", "development"))).to.equal(true);
    keeper.chain = new ScriptedNode();
    expect(await keeper.settle({ resumeFirst: true })).to.include({
      status: "settled",
    });
    expect(keeper.types).not.to.include("resum");
  });
});
