import { readFile, readdir } from "node:fs/promises";

import { expect } from "chai";
import { Wallet, id } from "ethers";

import { hreOnLive, httpNetwork } from "../helpers/hre.js";
import type { NetworkSettings } from "../helpers/hre.js";
import { parseDocument, runTyped } from "../helpers/run-vault-task.js";
import { startKeeper } from "../helpers/keeper-on-node.js";
import type { KeeperWithNode } from "../helpers/keeper-on-node.js";
import { SENDS } from "../helpers/keeper.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";
import {
  squeezed,
  useTasks,
  networksWithInstances,
} from "../helpers/use-tasks.js";
import { DEV_KEYS, directProvider, openRound } from "../helpers/world.js";
import { createStyle } from "../../tasks/output/style.js";
import { settle } from "../../tasks/settle.js";
import { fieldsOf } from "../helpers/fields.js";

const HOLDER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const NOBODY = "0x00000000000000000000000000000000000000AA";

describe("vault settle", () => {
  let lane: KeeperWithNode;
  let restore: () => Promise<void>;

  before(async () => {
    lane = await startKeeper();
    restore = await lane.world.checkpoint();
  });
  beforeEach(async () => {
    lane.server.reset();
    await lane.removeJournals();
  });
  afterEach(async () => {
    await restore();
  });
  after(async () => {
    await lane.close();
  });

  const run = async (typed: string, settings: NetworkSettings = {}) => {
    const { contracts } = lane.world;
    const hre = await hreOnLive(
      lane.server.url,
      { accounts: [DEV_KEYS[0]], vault: { contracts }, ...settings },
      lane.project.path,
    );
    const result = await runTyped(hre, `settle ${typed} --json`);
    const document = fieldsOf(parseDocument(result));
    return { ...result, settlement: fieldsOf(document["settlement"]) };
  };
  const methods = (pattern: RegExp): string[] =>
    lane.server.requests
      .map(({ method }) => method)
      .filter((method) => pattern.test(method));

  it("settle asks, with a warning before the round's end and without a round, and sends nothing unless the answer is Yes", async () => {
    const questions: string[] = [];
    const none =
      "The simulation does NOT settle the round. There is no round yet. Call settleAll all the same?";
    const early = "This round has NOT ended. Settle it before its end?";
    for (const [question, answer, status, sent, warning] of [
      [early, false, "refused", 0, "this round has NOT ended"],
      ["Settle this round now?", false, "refused", 0, undefined],
      ["Settle this round now?", true, "settled", 1, undefined],
      [none, false, "refused", 1, "There is no round yet"],
    ] as const) {
      if (question === none) {
        const { vaultFactory } = lane.world.contracts;
        // Returns zeros.
        const code = [vaultFactory, "0x6101405ff3"];
        await lane.world.provider.send("anvil_setCode", code);
      } else if (question !== early) {
        const end = Number(openRound.endTime) + questions.length;
        await lane.world.provider.send("anvil_setNextBlockTimestamp", [end]);
        await lane.world.mine();
      }
      let shown = "";
      const { json } = await settle(
        lane.vault,
        { yes: false },
        { pollingInterval: 20 },
        {
          err: {
            style: createStyle({}),
            write: async (text) => {
              shown += text;
              return await Promise.resolve(true);
            },
          },
          ask: async (asked) => {
            questions.push(asked);
            return await Promise.resolve(answer);
          },
        },
      );
      expect(json).to.have.nested.property("settlement.status", status);
      expect(methods(/^eth_send/u)).to.have.lengthOf(sent);
      expect(questions.at(-1)).to.equal(question);
      expect(/WARNING: (.*?)[.:]/u.exec(shown)?.[1]).to.equal(warning);
    }
  });

  for (const [name, accounts, most] of [
    ["a local key", [DEV_KEYS[0]], 28],
    ["a key of the node", "remote", 30],
  ] satisfies ReadonlyArray<
    readonly [string, NetworkSettings["accounts"], number]
  >) {
    it(`settle --yes sends at most ${most} requests with ${name}`, async () => {
      for (const method of SENDS) {
        // Mined when it is answered: how often one looks until then is chance.
        lane.server.afterwards({ method, occurrence: 0 }, lane.world.mine);
      }
      expect((await run("--yes", { accounts })).exitCode).to.equal(0);
      const all = methods(/(?:)/u);
      expect(all.length, all.join(" ")).to.be.at.most(most);
    });
  }

  it("settle --yes finishes an interrupted settlement, and settle without --yes refuses with VAULT_SETTLEMENT_UNFINISHED", async () => {
    for (let occurrence = 0; occurrence < 50; occurrence += 1) {
      lane.server.inject({
        ...{ method: "eth_sendRawTransaction", occurrence },
        kind: "drop before forwarding",
      });
    }
    const interrupted = await lane.vault.settleAll({ timeout: 2_000 });
    expect(interrupted.status).to.equal("unconfirmed");
    lane.server.reset();

    const asked = await run("");
    expect(asked.exitCode).to.equal(1);
    expect(asked.settlement)
      .to.include({ status: "refused", code: "VAULT_SETTLEMENT_UNFINISHED" })
      .and.to.have.property("reason")
      .that.includes("`npx hardhat vault settle --resume --network live`");
    const { settlement, stderr, exitCode } = await run("--yes");
    expect(exitCode).to.equal(0);
    expect(settlement).to.include({
      status: "settled",
      hash: interrupted.hash,
    });
    expect(stderr)
      .to.include(
        `Following the interrupted settlement: transaction ${String(interrupted.hash)}`,
      )
      .and.include("The interrupted settlement is finished: settled");
    expect(await lane.world.settlers()).to.deep.equal([lane.settler]);
  });

  it("settle --resume --bump shows what it costs and asks: without a terminal it signs nothing, and with --yes it does", async () => {
    for (let occurrence = 0; occurrence < 50; occurrence += 1) {
      lane.server.inject({
        ...{ method: "eth_sendRawTransaction", occurrence },
        kind: "drop before forwarding",
      });
    }
    const { hash } = await lane.vault.settleAll({ timeout: 2_000 });
    const journaled = async (): Promise<unknown> =>
      fieldsOf(JSON.parse(await readFile(lane.journal, "utf8")))[
        "transactions"
      ];
    const before = await journaled();
    lane.server.reset();

    const asked = await run("--resume --bump");
    expect(asked.exitCode).to.equal(1);
    expect(asked.settlement)
      .to.include({ status: "unconfirmed", hash })
      .and.to.have.property("reason")
      .that.includes("there is no terminal to ask on; --yes raises it");
    expect(asked.stderr).to.match(
      /About to raise the fee of this settlement[^]*Cost until now[^]*Cost then/u,
    );
    expect(methods(/^eth_send/u)).to.deep.equal([]);
    expect(await journaled()).to.deep.equal(before);

    const { settlement } = await run("--resume --bump --yes");
    expect(settlement).to.include({ status: "settled" });
    expect(settlement["hashes"]).to.have.lengthOf(2);
  });

  for (const [typed, says] of [
    ["--bump", "--bump: it needs --resume"],
    ["--yes --cancel", "--cancel: it needs --resume"],
    ["--resume --bump --cancel", "exclude"],
  ] as const) {
    it(`settle ${typed} fails with VAULT_INVALID_ARGUMENT, and asks for nothing`, async () => {
      const { exitCode, stdout } = await run(typed);
      expect(exitCode).to.equal(1);
      expect(stdout).to.include("VAULT_INVALID_ARGUMENT").and.include(says);
      expect(methods(/(?:)/u)).to.deep.equal([]);
    });
  }
});

describe("what vault settle prints", () => {
  const contracts: Record<string, Readonly<Record<string, string>>> = {};
  const tasks = useTasks({
    networks: networksWithInstances(contracts, (url, vault) => ({
      keyed: httpNetwork(url, { accounts: [DEV_KEYS[2]], vault }),
      poor: httpNetwork(url, { accounts: [id("nothing")], vault }),
      nobody: httpNetwork(url, { from: NOBODY, vault }),
      pinned: httpNetwork(url, { chainId: 1, vault }),
    })),
    prepare: async (url) => {
      const deployer = new Wallet(DEV_KEYS[0], directProvider(url));
      for (const [name, kind] of [
        ["paying", "PayingVault"],
        ["rolling", "RollingVault"],
        ["idle", "IdleVault"],
      ] as const) {
        contracts[name] = (await deploySettlingVault(deployer, kind)).contracts;
      }
    },
  });
  const settlement = async (
    typed: string,
    exitCode = 0,
  ): Promise<Readonly<Record<string, unknown>>> =>
    fieldsOf(
      (await tasks.documentOf(`settle ${typed}`, exitCode))["settlement"],
    );

  it("settle --yes previews on stderr, prints the outcome with its changes on stdout, and exits with 0", async () => {
    const { stdout, stderr, exitCode } = await tasks.run("settle --yes");
    expect(exitCode).to.equal(0);
    expect(squeezed(stderr).split("\n")).to.include.members([
      "About to settle this round",
      "Strike price · 65,000",
      "Round settled price · 0 · 66,250",
      "Simulated · succeeds · by the node (eth_simulateV1)",
    ]);
    expect(stderr).to.match(/^WARNING: this round has NOT ended\. /mu);
    expect(stderr).to.match(/^Mined in block \d+$/mu);
    expect(squeezed(stdout).split("\n")).to.include.members([
      "Outcome · Settled",
      "Round settled · no · yes",
      "Readings and token transfers are as previewed.",
    ]);
  });

  it("settle without a terminal and without --yes sends nothing and exits with 1", async () => {
    expect(await settlement("", 1)).to.include({
      ...{ status: "refused", hash: null, gasUsed: null },
    });
    expect((await tasks.documentOf("round"))["round"]).to.include({
      settled: false,
    });
  });

  it("settle has nothing to do the second time, with --yes, --assert, --resume and --if-expired, and exits with 0", async () => {
    expect(await settlement("--yes")).to.include({ status: "settled" });
    for (const typed of ["--yes", "--assert", "--resume", "--if-expired"]) {
      expect(await settlement(typed), typed).to.include({
        status: "nothing-to-do",
        code: null,
      });
    }
  });

  it("settle --assert exits with 1 if there is a round to settle, with the command that settles it", async () => {
    const { trading } = tasks.mocks.addresses;
    for (const [options, command] of [
      ["", "settle --network live"],
      ["--instance paying", "settle --instance paying --network live"],
      [
        `--at 'trading=${trading}, vault=${tasks.mocks.addresses.vault}'`,
        `settle --at trading=${trading},vault=${tasks.mocks.addresses.vault} --network live`,
      ],
    ] as const) {
      const found = await settlement(`--assert ${options}`, 1);
      expect(found).to.include({ code: "VAULT_SETTLEMENT_NEEDED" });
      expect(found["reason"]).to.include(`\`npx hardhat vault ${command}\``);
    }
  });

  it("settle --if-expired has nothing to do one second before the round's end, and settles at it", async () => {
    const endTime = 1_990_000_000;
    await tasks.run(`mock set round.endTime=${endTime}`);
    await tasks.rpc("evm_setNextBlockTimestamp", endTime - 2);
    await tasks.rpc("evm_mine");
    // The next block is what counts.
    await tasks.rpc("evm_setNextBlockTimestamp", endTime - 1);
    expect(await settlement("--if-expired --yes")).to.include({
      status: "nothing-to-do",
      reason: "The round has not ended yet: it ends at 2033-01-22T09:46:40Z.",
    });
    await tasks.rpc("evm_setNextBlockTimestamp", endTime);
    await tasks.rpc("evm_mine");
    expect(await settlement("--if-expired --assert", 1)).to.include({
      code: "VAULT_SETTLEMENT_NEEDED",
    });
    expect(await settlement("--if-expired --yes")).to.include({
      status: "settled",
    });
  });

  it("settle --resume without a settlement under way refuses with VAULT_NOTHING_TO_RESUME, and names the command that starts one", async () => {
    const typed = "settle --resume --instance paying";
    const { settlement: value, ...rest } = await tasks.documentOf(typed, 1);
    const found = fieldsOf(value);
    expect(found).to.include({ code: "VAULT_NOTHING_TO_RESUME" });
    const { number, timestamp } = await tasks.mocks.vault.block();
    expect(rest).to.deep.equal({
      ...{ network: "live", chainId: 31_337, block: { number, timestamp } },
    });
    expect(found["reason"]).to.include(
      "`npx hardhat vault settle --instance paying --network live`",
    );
  });

  it("settle --calldata prints the call, with gas of --from only, and a warning if it would be refused", async () => {
    const { vault } = tasks.mocks.addresses;
    expect(await tasks.documentOf("settle --calldata")).to.include({
      ...{ to: vault, data: "0xa015aefe", value: "0", estimatedGas: null },
    });
    const ofContract = await tasks.run(`settle --calldata --from ${vault}`);
    expect(ofContract.stderr).to.include("Warning: The sender has code");
    const from = await tasks.documentOf(`settle --calldata --from ${HOLDER}`);
    expect(from["estimatedGas"]).to.match(/^\d{5,7}$/u);
    await tasks.mocks.fail("settleAll", "not\u001b[2J yet.");
    for (const [option, sender] of [
      ["", "the zero address"],
      [` --from ${HOLDER}`, HOLDER],
    ] as const) {
      const typed = `settle --calldata${option}`;
      const { stderr, exitCode } = await tasks.run(typed);
      expect(exitCode).to.equal(0);
      const { block } = await tasks.documentOf(typed);
      const { number, timestamp } = await tasks.mocks.vault.block();
      expect(block).to.deep.equal({ number, timestamp });
      expect(stderr).to.include(
        `Warning: ${sender} would see this call refused at block ${number}: not\\u{1b}[2J yet. The round`,
      );
    }
  });

  it("settle --calldata --safe prints a batch of Safe's Transaction Builder", async () => {
    const { stdout } = await tasks.run("settle --calldata --safe");
    const batch = fieldsOf(JSON.parse(stdout));
    expect(batch).to.include({ version: "1.0", chainId: "31337" });
    expect(batch["meta"]).to.have.property("checksum").that.matches(/^0x/u);
    expect(batch["transactions"]).to.deep.equal([
      {
        ...{ to: tasks.mocks.addresses.vault, value: "0", data: "0xa015aefe" },
        ...{ contractMethod: null, contractInputsValues: null },
      },
    ]);
  });

  for (const [typed, status, code, says] of [
    ["--yes --network pinned", "refused", "VAULT_WRONG_CHAIN", "chain id 1"],
    [
      "--yes --network nobody",
      "refused",
      "VAULT_UNKNOWN_SIGNER",
      `${NOBODY} is not an account of network nobody; its accounts are: 0xf39F`,
    ],
    [
      `--yes --network keyed --from ${HOLDER}`,
      "refused",
      "VAULT_UNKNOWN_SIGNER",
      "to networks.keyed.accounts",
    ],
    [
      "--yes --network poor",
      "refused",
      "VAULT_INSUFFICIENT_FUNDS",
      "has 0 wei on network poor, and the settlement may cost ",
    ],
    [
      "--yes --instance idle",
      "refused",
      "VAULT_WOULD_NOT_SETTLE",
      "networks.live.vault.instances.idle.contracts.vault",
    ],
  ] as const) {
    it(`settle ${typed} refuses with ${code}, sends nothing and exits with 1`, async () => {
      const found = await settlement(typed, 1);
      expect(found).to.include({ status, code, hash: null });
      expect(found["reason"]).to.include(says);
    });
  }

  it("settle --yes prints the contract's reason escaped if the simulation reverts, and sends nothing", async () => {
    await tasks.mocks.fail("settleAll", "not\u001b[2J yet");
    const { stdout, exitCode } = await tasks.run("settle --yes");
    expect(exitCode).to.equal(1);
    expect(squeezed(stdout)).to.include(
      "Outcome · Reverted\nReason · not\\u{1b}[2J yet",
    );
    expect(await settlement("--yes", 1)).to.include({
      ...{ status: "reverted", code: "VAULT_CALL_REVERTED", hash: null },
      reason: "not\u001b[2J yet",
    });
  });

  it("settle --yes shows payments before it sends, and that they came true", async () => {
    const typed = "settle --yes --instance paying";
    const { stdout, stderr } = await tasks.run(typed);
    expect(squeezed(stderr)).to.include(
      "0.00001 TST · vault contract · 0x00000000000000000000000000000000BEEF0001\n",
    );
    expect(stdout).to.include("Readings and token transfers are as previewed.");
  });

  it("settle --yes reports a settlement that begins the next round as settled", async () => {
    const found = await settlement("--yes --instance rolling");
    expect(found).to.include({ status: "settled" });
    expect(fieldsOf(found["before"])["startTime"]).to.not.equal(
      fieldsOf(found["after"])["startTime"],
    );
  });

  it("settle ends unconfirmed at --timeout, refuses a second settlement, and --resume follows the first one until it is mined", async () => {
    await tasks.rpc("evm_setAutomine", false);
    const sent = await settlement("--yes --network keyed --timeout 3", 1);
    expect(sent).to.include({ status: "unconfirmed" });
    expect(sent["reason"]).to.include(
      "To continue: npx hardhat vault settle --resume --network keyed",
    );
    expect(await settlement("--network keyed", 1)).to.include({
      ...{ status: "refused", code: "VAULT_SETTLEMENT_UNFINISHED" },
      hash: sent["hash"],
    });
    await tasks.rpc("evm_mine");
    // Reverting to a snapshot does not.
    await tasks.rpc("evm_setAutomine", true);
    const { stdout, stderr } = await tasks.run(
      "settle --resume --network keyed --json",
    );
    expect(stderr).to.match(
      /^Following the interrupted settlement: transaction 0x[\da-f]{64}\nMined in block \d+\n$/u,
    );
    expect(JSON.parse(stdout))
      .to.have.property("settlement")
      .that.includes({ status: "settled", hash: sent["hash"] });
    expect(await readdir("vault-deployments")).to.have.lengthOf(2);
  });

  it("settle --confirmations names how many a mined transaction has, and --resume finishes it once they are there", async () => {
    const sent = await settlement("--yes --confirmations 3 --timeout 1", 1);
    // Mined by now, so the first look finds it.
    const mined = await settlement("--resume --confirmations 3 --timeout 3", 1);
    expect(mined).to.include({ status: "unconfirmed", hash: sent["hash"] });
    expect(mined["reason"])
      .to.include(", with 1 of 3 confirmations.")
      .and.include(
        "To continue: npx hardhat vault settle --resume --confirmations 3 --network live",
      );
    await tasks.rpc("anvil_mine", "0x2");
    expect(await settlement("--resume --confirmations 3")).to.include({
      ...{ status: "settled", hash: sent["hash"] },
    });
  });

  for (const [title, code, shown] of [
    ["has no code", "0x", "VAULT_NO_CODE"],
    ["reverts without a reason", "0x60006000fd", "VAULT_CALL_REVERTED"],
    ["stops at once", "0x00", "VAULT_WOULD_NOT_SETTLE"],
    [
      "answers 1 to everything",
      "0x600160005260206000f3",
      "VAULT_WOULD_NOT_SETTLE",
    ],
    ["has an invalid opcode", "0xfe", "VAULT_CALL_REVERTED"],
  ] as const) {
    it(`settle --yes sends nothing to a vault that ${title}, and exits with 1`, async () => {
      const { vault } = tasks.mocks.addresses;
      await tasks.rpc("anvil_setCode", vault, code);
      const { stdout, exitCode } = await tasks.run("settle --yes --json");
      expect(exitCode).to.equal(1);
      expect(stdout).to.include(shown).and.not.include('"hash":"0x');
    });
  }
});
