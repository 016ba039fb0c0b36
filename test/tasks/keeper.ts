import { spawnSync } from "node:child_process";

import { expect } from "chai";
import { Wallet } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { parseOptions } from "../../tasks/parse-options.js";
import { watchTask } from "../../tasks/definitions/watch.js";
import { watch } from "../../tasks/watch.js";
import { useAnvil } from "../helpers/anvil.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import type { NetworkSettings } from "../helpers/hre.js";
import { parseDocument, runTyped } from "../helpers/run-vault-task.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";
import type { SettlingVaultName } from "../helpers/settling-vaults.js";
import { DEV_KEYS, directProvider } from "../helpers/world.js";
import { mined } from "../helpers/transactions.js";

const KEEPER = new Wallet(DEV_KEYS[0]).address;
const STRANGER = new Wallet(DEV_KEYS[1]).address;
const NOBODY = "0x0000000000000000000000000000000000000000";

const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;

describe("tasks of a keeper", () => {
  const anvil = useAnvil();
  let project: FixtureProject;

  beforeEach(async () => {
    project = await useFixtureProject("empty");
  });
  afterEach(async () => {
    await rpc("anvil_setAutomine", true);
    await rpc("evm_mine");
    await project.remove();
  });

  const rpc = async (method: string, ...params: unknown[]): Promise<unknown> =>
    await directProvider(anvil.url).send(method, params);

  const deploy = async (
    name: SettlingVaultName,
    options: Parameters<typeof deploySettlingVault>[2] = {},
  ) =>
    await deploySettlingVault(
      new Wallet(DEV_KEYS[0], directProvider(anvil.url)),
      name,
      { orders: 1, ...options },
    );

  const hreOf = async (
    vault: NonNullable<NetworkSettings["vault"]>,
    settings: NetworkSettings = {},
  ): Promise<HardhatRuntimeEnvironment> =>
    await createTestHre(
      {
        networks: {
          live: httpNetwork(anvil.url, { vault, ...settings }),
        },
      },
      { network: "live", projectRoot: project.path },
    );

  const json = async (
    hre: HardhatRuntimeEnvironment,
    typed: string,
  ): Promise<Readonly<Record<string, unknown>>> =>
    fieldsOf(parseDocument(await runTyped(hre, `${typed} --json`)));

  /** Sends a settlement that stays in the pool. */
  const leaveOpen = async (hre: HardhatRuntimeEnvironment): Promise<string> => {
    await rpc("anvil_setAutomine", false);
    const { vault } = await hre.network.create();
    const { status, hash } = await vault.settleAll({ timeout: 1_500 });
    expect(status).to.equal("unconfirmed");
    return String(hash);
  };

  const named = async (
    hre: HardhatRuntimeEnvironment,
    name: string,
    flags = "",
  ): Promise<Readonly<Record<string, unknown>>> => {
    const { checks } = await json(hre, `doctor${flags}`);
    const found = listOf(checks).map(fieldsOf);
    return found.find((check) => check["name"] === name) ?? expect.fail(name);
  };

  it("settle --calldata --safe warns if the sender is a contract, whose tx.origin is another account", async () => {
    const { contracts } = await deploy("OriginVault");
    const hre = await hreOf({ contracts });
    const { stderr: ofContract } = await runTyped(
      hre,
      `settle --calldata --safe --from ${contracts["vault"]}`,
    );
    expect(ofContract).to.include("Warning: The sender has code");
    const { stderr: ofAccount } = await runTyped(
      hre,
      `settle --calldata --safe --from ${STRANGER}`,
    );
    expect(ofAccount).to.equal("");
  });

  describe("of rounds that roll over", () => {
    let hre: HardhatRuntimeEnvironment;
    let fromBlock = 0;
    let settledIn = 0;

    beforeEach(async () => {
      const { contract, contracts } = await deploy("RollingVault");
      hre = await hreOf({ contracts });
      const { vault } = await hre.network.create();
      ({ number: fromBlock } = await vault.block());
      const sent = await contract.getFunction("settleAll").send();
      ({ blockNumber: settledIn } = await mined(sent));
      await rpc("evm_mine");
    });

    it("rounds counts a round as settled by the block that opened the next one, and its price as not seen", async () => {
      const typed = `rounds --from-block ${fromBlock}`;
      const { rounds } = await json(hre, typed);
      const [first, second] = listOf(rounds).map(fieldsOf);
      expect(first).to.include({
        settled: true,
        settledBlock: settledIn,
        lastBlock: settledIn - 1,
        settledPrice: null,
        settledAmount: null,
      });
      expect(second).to.include({
        settled: false,
        settledBlock: null,
        settledPrice: null,
      });
      const { stdout } = await runTyped(hre, typed);
      expect(stdout).to.include("2 rounds; 1 settled.");
      expect(stdout).to.match(/not seen/u);
      expect(stdout).to.match(/not yet/u);
      expect(stdout).to.not.match(/Settled price +0\b/u);
      const csv = await runTyped(hre, `${typed} --format csv`);
      expect(csv.stdout).to.match(/,,,true,/u);
    });

    it("report draws no settled price that was not seen, and says how many", async () => {
      const { vault } = await hre.network.create();
      const { strikesFigure } = await import("../../tasks/report/charts.js");
      const past = await Array.fromAsync(vault.rounds({ fromBlock }));
      const figure = strikesFigure(
        past.map((round) => ({
          ...round,
          settledTime: round.settledBlock === null ? undefined : 1_800_000_000,
        })),
        { chainTime: 0, raw: false },
      );
      expect(String(figure?.text)).to.include("not seen: 1");
      expect(String(figure?.text)).to.include("the price of 1 not seen");
      expect(String(figure?.text)).to.not.include("<circle");
    });
  });

  it("watch --until settled ends when the settlement opens the next round, and watch --from asks as that account", async () => {
    const { contract, contracts } = await deploy("RollingVault");
    const hre = await hreOf({ contracts });
    const { vault } = await hre.network.create();
    const args = parseOptions(
      watchTask.options,
      { until: "settled", from: STRANGER },
      hre,
    );
    let slept = 0;
    const events = await Array.fromAsync(
      watch(vault, args, {
        now: () => 0,
        sleep: async () => {
          slept += 1;
          if (slept === 2) {
            throw new Error("it did not end");
          }
          await contract.getFunction("settleAll").send();
          await rpc("evm_mine");
        },
      }),
    );
    expect(events.map(({ isLast }) => isLast)).to.deep.equal([false, true]);
    expect(events[0]).to.have.nested.property(
      "seen.keeper.canBeSettledBy",
      STRANGER,
    );
  });

  describe("of a vault with one settler", () => {
    let contracts: Readonly<Record<string, string>>;
    let end = 0;

    beforeEach(async () => {
      const block = await directProvider(anvil.url).getBlock("latest");
      end = (block?.timestamp ?? 0) + 3_600;
      ({ contracts } = await deploy("KeeperVault", { endTime: end }));
    });

    it("status says whether the account that would settle can, and when the round ends", async () => {
      const hre = await hreOf({ contracts });
      for (const [flags, expected] of [
        ["", { canBeSettled: true, canBeSettledBy: KEEPER }],
        [
          ` --from ${STRANGER}`,
          { canBeSettled: false, canBeSettledBy: STRANGER },
        ],
      ] as const) {
        const { status, block } = await json(hre, `status${flags}`);
        expect(status).to.include({
          ...expected,
          expired: false,
          openSettlement: null,
        });
        const { timestamp } = fieldsOf(block);
        const { secondsToEnd } = fieldsOf(status);
        expect(secondsToEnd).to.be.within(3_500, end - Number(timestamp));
      }
    });

    it("status and watch do not know whether it can be settled if only a key names the account, which they do not resolve", async () => {
      const hre = await hreOf({ contracts }, { accounts: [DEV_KEYS[0]] });
      const { status } = await json(hre, "status");
      expect(status).to.include({
        canBeSettled: null,
        canBeSettledBy: NOBODY,
      });
      const { stdout } = await runTyped(hre, "status");
      expect(stdout.replaceAll(/\s+/gu, " ")).to.include("name it with --from");
    });

    it("doctor simulates the settlement as the account that would settle, and warns with the reason", async () => {
      const hre = await hreOf({ contracts });
      expect(await named(hre, "settlement")).to.include({ status: "ok" });
      const found = await named(hre, "settlement", ` --from ${STRANGER}`);
      expect(found).to.include({ status: "warn" });
      expect(found["detail"]).to.include(`settleAll as ${STRANGER}: `);
    });

    it("status, doctor and settle --calldata name a settlement under way, with its age", async () => {
      const hre = await hreOf({ contracts, instances: { same: {} } });
      const before = Math.floor(Date.now() / 1_000);
      const hash = await leaveOpen(hre);
      const { status } = await json(hre, "status");
      const open = fieldsOf(fieldsOf(status)["openSettlement"]);
      expect(open).to.include({ hash });
      expect(open["since"]).to.be.within(before, before + 600);
      expect(open["nonce"]).to.be.a("number");
      const journal = await named(hre, "journal");
      expect(journal).to.include({ status: "warn" });
      expect(journal["detail"]).to.match(
        new RegExp(`under way: ${hash}, \\d+ s old`, "u"),
      );
      expect(journal["fix"]).to.match(/ settle --resume --network live`/u);
      expect(await named(hre, "journal", " --instance same"))
        .to.have.property("fix")
        .that.includes("--network live --instance same`");
      for (const flags of ["", " --safe"]) {
        const printed = await runTyped(hre, `settle --calldata${flags}`);
        expect(printed.stderr.replaceAll(/\s+/gu, " ")).to.include(
          `a settlement is under way already: ${hash}`,
        );
      }
    });
  });

  it("doctor finds a settlement in order that the contract refuses only before the round's end", async () => {
    const block = await directProvider(anvil.url).getBlock("latest");
    const endTime = (block?.timestamp ?? 0) + 3_600;
    const { contracts } = await deploy("ClockVault", { endTime });
    const found = await named(await hreOf({ contracts }), "settlement");
    expect(found).to.include({ status: "ok" });
    expect(found["detail"]).to.include("the round has not ended");
  });

  it("doctor warns of a factory that answers only zeros, and of an instance that names its vault and inherits vaultFactory", async () => {
    const { contracts } = await deploy("IdleVault");
    const zeros = "0x00000000000000000000000000000000000000f1";
    await rpc("anvil_setCode", zeros, "0x6101405ff3");
    const other = contracts["vault"];
    const hre = await hreOf({
      contracts: { ...contracts, vaultFactory: zeros },
      instances: {
        usdc: { contracts: { vault: other } },
        whole: { contracts: { vault: other, vaultFactory: other } },
      },
    });
    const { checks } = await json(hre, "doctor");
    const warned = listOf(checks)
      .map(fieldsOf)
      .filter(({ status }) => status === "warn")
      .map(({ name }) => name);
    expect(warned).to.include.members(["vault factory", "instance usdc"]);
    expect(warned).to.not.include("instance whole");
  });

  it("doctor --strict passes the configuration of the README: a chain id, a key, vault and vaultFactory", async () => {
    const { contracts } = await deploy("PayingVault");
    const { vault, vaultFactory } = contracts;
    const hre = await hreOf(
      { contracts: { vault, vaultFactory }, tokenDecimals: 18 },
      { accounts: [DEV_KEYS[0]], chainId: 31337 },
    );
    const { stdout, exitCode } = await runTyped(hre, "doctor --strict");
    expect(stdout).to.include(", 0 warnings, 0 failures.");
    expect(exitCode).to.equal(0);
  });

  it("status counts by the time of the next block, on a chain that makes blocks only with transactions", async () => {
    const block = await directProvider(anvil.url).getBlock("latest");
    const endTime = (block?.timestamp ?? 0) + 3_600;
    const { contracts } = await deploy("PayingVault", { endTime });
    await rpc("evm_increaseTime", 7_200);
    const { status } = await json(await hreOf({ contracts }), "status");
    expect(status).to.include({ expired: true });
    expect(fieldsOf(status)["secondsToEnd"]).to.be.within(-3_700, -3_500);
  });

  it("settle --json --yes writes the hash to stderr, and nothing else of a settlement that succeeds", async () => {
    const { contracts } = await deploy("PayingVault");
    const hre = await hreOf({ contracts });
    const result = await runTyped(hre, "settle --json --yes");
    const { hash } = fieldsOf(fieldsOf(parseDocument(result))["settlement"]);
    // The node signs, and names the hash once it has the transaction.
    expect(result.stderr.split("\n").at(-2)).to.equal(
      `Transaction ${String(hash)}`,
    );
    expect(result.stderr).to.match(/^(?:Transaction .*\n){1,2}$/u);
  });

  describe("status --format prometheus", () => {
    const samplesOf = (text: string): Map<string, string> =>
      new Map(
        text
          .split("\n")
          .filter((line) => line !== "" && !line.startsWith("#"))
          .map((line) => {
            const at = line.lastIndexOf(" ");
            return [line.slice(0, at), line.slice(at + 1)];
          }),
      );

    it("writes the readings and what a keeper asks, with the unit in each name, for every instance", async () => {
      const [own, other] = [
        await deploy("PayingVault"),
        await deploy("KeeperVault"),
      ];
      const hre = await hreOf({
        contracts: own.contracts,
        tokenDecimals: 3,
        instances: { usdc: { contracts: other.contracts } },
      });
      const { stdout, exitCode } = await runTyped(
        hre,
        `status --all --format prometheus --from ${STRANGER}`,
      );
      expect(exitCode).to.equal(0);
      const samples = samplesOf(stdout);
      const of = (name: string, instance: string, more = ""): unknown =>
        samples.get(
          `${name}{network="live",chain_id="31337",instance="${instance}"${more}}`,
        );
      expect(of("vault_up", "")).to.equal("1");
      expect(of("vault_can_be_settled", "")).to.equal("1");
      expect(of("vault_can_be_settled", "usdc")).to.equal("0");
      expect(of("vault_round_max_volume_tokens", "")).to.equal("1");
      expect(of("vault_round_apy_ratio", "")).to.equal("0.1");
      expect(of("vault_round_strike_price", "")).to.equal("1900");
      expect(of("vault_round_end_timestamp_seconds", "usdc")).to.equal(
        "1700000000",
      );
      expect(of("vault_round_expired", "")).to.equal("1");
      expect(of("vault_settlement_open", "")).to.equal("0");
      expect(of("vault_pools_locked_raw", "usdc", ',pool="public"')).to.equal(
        "10",
      );
      expect(
        of("vault_funding_fee_rate_ratio", "", ',contract_type="call"'),
      ).to.equal("0.00012345");
      // The round is not settled.
      expect(stdout).to.not.include("settled_price");
    });

    it("has no sample of what could not be read, and vault_up says so", async () => {
      const { contracts } = await deploy("PayingVault");
      const hre = await hreOf({
        contracts: { ...contracts, publicPool: STRANGER },
      });
      const partly = await runTyped(hre, "status --format prometheus");
      expect(partly.exitCode).to.equal(1);
      expect(partly.stdout).to.match(/^vault_up\{.*\} 0$/mu);
      expect(partly.stdout).to.match(
        /^vault_reading_up\{.*reading="pools\.public"\} 0$/mu,
      );
      expect(partly.stdout).to.not.include('pool="public"');
      expect(partly.stdout).to.include('pool="private"');
      const gone = await createTestHre(
        {
          networks: { live: httpNetwork("http://127.0.0.1:1", { chainId: 9 }) },
        },
        { network: "live" },
      );
      const down = await runTyped(gone, "status --format prometheus");
      expect(down.exitCode).to.equal(1);
      expect([...samplesOf(down.stdout)]).to.deep.equal([
        ['vault_up{network="live",chain_id="9",instance=""}', "0"],
      ]);
    });

    (hasPromtool ? it : it.skip)(
      `passes promtool check metrics${hasPromtool ? "" : " (promtool, of the package prometheus, is not installed)"}`,
      async () => {
        const { contracts } = await deploy("PayingVault");
        const hre = await hreOf({
          contracts,
          tokenDecimals: 3,
          displayDecimals: { pools: 2 },
          instances: { raw: { contracts } },
        });
        const { stdout } = await runTyped(
          hre,
          "status --all --format prometheus",
        );
        const checked = spawnSync("promtool", ["check", "metrics"], {
          input: stdout,
          encoding: "utf8",
        });
        expect(checked.stdout + checked.stderr).to.equal("");
        expect(checked.status).to.equal(0);
      },
    );
  });

  it("a settlement's differences leave out what only time moves", async () => {
    const { contracts } = await deploy("AccruingVault");
    const hre = await hreOf({ contracts });
    await rpc("evm_increaseTime", 600);
    const { settlement } = await json(hre, "settle --yes");
    expect(settlement).to.deep.include({ status: "settled", differences: [] });
  });
});
