import { readFile, readdir, rm } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import { configVariable } from "hardhat/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import type { ScenarioName } from "../../src/mocks/index.js";
import type { VaultNetworkUserConfig } from "../../src/plugin/config-types.js";
import { useAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import type { CommandResult } from "../helpers/cli.js";
import { documentedContracts } from "../helpers/scripted-node.js";
import { fieldsOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import { everyTaskRun } from "../helpers/every-vault-task.js";
import type { TaskRun } from "../helpers/every-vault-task.js";
import { connectTo, createTestHre, hreOnLive } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import {
  parseDocument,
  runTyped,
  runVaultTask,
} from "../helpers/run-vault-task.js";

const OTHER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

/** A network with contracts of its own, and two instances. */
const settings = {
  contracts: documentedContracts,
  tokenDecimals: 18,
  displayDecimals: { pools: 18, volume: 18 },
  instances: {
    usdc: {
      contracts: { vault: OTHER },
      tokenDecimals: 6,
      displayDecimals: { volume: 6 },
    },
    dai: { contracts: { vault: configVariable("TEST_UNSET_ADDRESS") } },
  },
} as const;

const openLive = async (): Promise<HardhatRuntimeEnvironment> =>
  await hreOnLive("http://127.0.0.1:1", { vault: settings });

describe("instances", () => {
  it("an instance has its own contracts, and the network's for the rest", async () => {
    const hre = await openLive();
    const { vault } = await hre.network.create("live");
    const usdc = vault.instance("usdc");
    expect(usdc.instanceName).to.equal("usdc");
    expect(vault.instanceName).to.equal(undefined);
    expect(vault.instance("usdc")).to.equal(usdc);
    expect(usdc.instance("usdc")).to.equal(usdc);
    expect(await usdc.addressOf("vault")).to.deep.equal({
      address: OTHER,
      source: "networks.live.vault.instances.usdc.contracts.vault",
    });
    expect(await usdc.addressOf("trading")).to.deep.equal({
      address: documentedContracts.trading,
      source: "networks.live.vault.contracts.trading",
    });
    expect((await vault.addressOf("vault")).address).to.equal(
      documentedContracts.vault,
    );
    // Never those of the network in its place.
    await expectVaultError(
      vault.instance("dai").addressOf("vault"),
      "VAULT_CONFIG_VARIABLE",
    );
    const at = usdc.at({ trading: OTHER });
    expect((await at.addressOf("trading")).address).to.equal(OTHER);
    expect(at.instanceName).to.equal("usdc");
    const both = at.at({ publicPool: documentedContracts.vault });
    expect((await both.addressOf("trading")).address).to.equal(OTHER);
  });

  it("an instance has its own scales, and the network's for the rest", async () => {
    const hre = await openLive();
    const { vault } = await hre.network.create("live");
    expect(vault.settings).to.deep.equal({
      tokenDecimals: 18,
      displayDecimals: { pools: 18, volume: 18 },
    });
    expect(vault.instance("usdc").settings).to.deep.equal({
      tokenDecimals: 6,
      displayDecimals: { pools: 18, volume: 6 },
    });
    expect(vault.instance("dai").settings).to.deep.equal(vault.settings);
    const pool = (10n ** 18n).toString(16).padStart(64, "0").repeat(3);
    const { stdout } = await runTyped(hre, `decode 0x${pool} --instance usdc`);
    expect(stdout).to.match(/Deposited +1 as configured/u);
  });

  it("the API and tasks fail with VAULT_UNKNOWN_INSTANCE, which lists the instances", async () => {
    const hre = await openLive();
    const { vault } = await hre.network.create("live");
    const lazy = (await createTestHre()).vault;
    for (const [of, name, listed] of [
      [vault, "usdt", "usdc, dai"],
      [vault, "toString", "usdc, dai"],
      [vault, "", "usdc, dai"],
      [lazy, "usdt", "instances (none)"],
    ] as const) {
      const { message } = await expectVaultError(
        async () => await of.instance(name).addressOf("vault"),
        "VAULT_UNKNOWN_INSTANCE",
      );
      expect(message).to.include(listed);
    }
    // Before a connection is opened.
    for (const task of [
      "round",
      "decode 0x",
      "request queryVolume",
      "settle --yes",
    ]) {
      const { stderr } = await runTyped(hre, `${task} --instance usdt`);
      expect(stderr).to.include("(VAULT_UNKNOWN_INSTANCE)");
    }
  });

  it("mocks in process are those of one instance", async () => {
    const instances = { usdc: {}, dai: {} };
    const hre = await createTestHre({
      networks: { local: { type: "edr-simulated", vault: { instances } } },
    });
    const { vault } = await hre.network.create("local");
    const usdc = vault.instance("usdc");
    await vault.deployMocks({ overrides: { volume: 1n } });
    // What an instance leaves out is where the network's own is.
    expect(await usdc.queryVolume()).to.equal(1n);
    const mocks = await usdc.deployMocks({ overrides: { volume: 2n } });
    expect(await usdc.queryVolume()).to.equal(2n);
    expect(await mocks.vault.queryVolume()).to.equal(2n);
    expect(await vault.queryVolume()).to.equal(1n);
    expect(await vault.instance("dai").queryVolume()).to.equal(1n);
    await usdc.settleAll();
    expect(await usdc.getLatestRoundInfo()).to.have.property("settled", true);
    expect(await vault.getLatestRoundInfo()).to.have.property("settled", false);
  });

  describe("on a node", () => {
    const node = useAnvil();

    it("status --all reports each instance at one block, and names the setting of a wrong address", async () => {
      const live = await hreOnLive(node.url);
      const { vault } = await live.network.create("live");
      const deploy = async (volume: bigint) =>
        (await vault.deployMocks({ overrides: { volume } })).addresses;
      const [contracts, other] = [await deploy(1n), await deploy(2n)];
      const status = async (
        network: VaultNetworkUserConfig,
        options = "--json",
      ): Promise<CommandResult> =>
        await runTyped(
          await hreOnLive(node.url, { vault: network }),
          `status --all ${options}`,
        );
      const usdc = { contracts: { vault: other.vault } };
      const configured = {
        contracts,
        instances: { usdc, broken: { contracts: { vault: OTHER } } },
      };
      const all = parseDocument(await status(configured));
      expect(all).to.have.all.keys(
        ...["network", "chainId", "block", "status", "instances"],
      );
      expect(all).to.deep.nested.include({
        "status.volume": "1",
        "instances.usdc.volume": "2",
        // The contract is that of the network.
        "instances.usdc.round.strikePrice": `65000${"0".repeat(18)}`,
        "instances.broken.volume.error.code": "VAULT_NO_CODE",
      });
      // A network may have contracts in its instances alone.
      const apart = { instances: { usdc: { contracts: other } } };
      expect(parseDocument(await status(apart))).to.deep.nested.include({
        status: null,
        "instances.usdc.volume": "2",
      });
      const server = await startRpcServer({ upstream: node.url });
      const recorded = await hreOnLive(server.url, { vault: configured });
      await runTyped(recorded, `status --all --from ${OTHER}`);
      await server.stop();
      const senders = server.requests
        .filter(({ method }) => method === "eth_call")
        .map(({ params: [call] }) => fieldsOf(call)["from"]);
      expect(new Set(senders)).to.deep.equal(new Set([OTHER]));
      const { stdout } = await status(configured, "");
      expect(stdout).to.match(
        /^Volume +1 [^]*^Instance usdc\n[^]*^Volume +2 [^]*^Instance broken\n[^]*no contract code at 0x\w{40}.* \(address from networks\.live\.vault\.instances\.broken\.contracts\.vault\)/mu,
      );
      process.env["TEST_INSTANCE_VAULT"] = "0x12";
      const variable = configVariable("TEST_INSTANCE_VAULT");
      const malformed = { usdc: { contracts: { vault: variable } } };
      expect(
        (await status({ contracts, instances: malformed }, "")).stdout,
      ).to.include("networks.live.vault.instances.usdc.contracts.vault");
      delete process.env["TEST_INSTANCE_VAULT"];
    });

    it("every task with --instance does what it does on a network of those settings", async () => {
      const project = await useFixtureProject("plain");
      const { vault, provider } = await connectTo(node.url);
      const deploy = async (scenario: ScenarioName) =>
        (await vault.deployMocks({ scenario })).addresses;
      const usdc = {
        ...{ tokenDecimals: 6, displayDecimals: { pools: 6 } },
        contracts: await deploy("expired-round"),
      };
      const around = {
        ...{ tokenDecimals: 18, displayDecimals: { pools: 18 } },
        ...{ contracts: await deploy("full-round"), instances: { usdc } },
      };
      const written = path.join(project.path, "vault-deployments");
      const outcomeOf = async (
        network: VaultNetworkUserConfig,
        { task, args }: TaskRun,
      ): Promise<string> => {
        const hre = await hreOnLive(node.url, { vault: network }, project.path);
        const params = [await provider.request({ method: "evm_snapshot" })];
        const result = await runVaultTask(hre, task, args);
        await provider.request({ method: "evm_revert", params });
        await rm(written, { recursive: true, force: true });
        const named =
          /(?:(?: with)? --instance |\.instances\.|-)usdc|instance usdc, | {2}instance usdc(?!,)/gu;
        return JSON.stringify(result)
          .replaceAll(named, "")
          .replaceAll(/0x[\da-f]{64}|\d[\d.]{8,}|(?<=of )\d+(?=:)/gu, "#")
          .replaceAll(/(?:\d+\w? )+(?:s )?(?:ago|old)| {2,}/gu, "#")
          .replaceAll(/\d{4}(?:-\d\d){2}T[\d:]+Z/gu, "#");
      };
      for (const { task, args } of everyTaskRun()) {
        if (args["fork"] !== true && !("out" in args) && task !== "watch") {
          const wanted = await outcomeOf(usdc, { task, args });
          const ofInstance = { task, args: { ...args, instance: "usdc" } };
          expect(await outcomeOf(around, ofInstance), task).to.equal(wanted);
        }
      }
      await project.remove();
    });

    it("each instance has its own deployments, journals and forks", async () => {
      const project = await useFixtureProject("plain");
      try {
        const hre = await hreOnLive(
          node.url,
          { vault: { instances: { usdc: {} } } },
          project.path,
        );
        const run = async (typed: string): Promise<unknown> =>
          parseDocument(await runTyped(hre, `${typed} --json`));
        const deploy = async (typed: string): Promise<string> => {
          const { contracts } = fieldsOf(await run(typed));
          return String(fieldsOf(contracts)["vault"]);
        };
        const own = await deploy("deploy-mocks --scenario expired-round");
        expect(await run("round --instance usdc"))
          .to.have.nested.property("error.message")
          .that.includes("vault deploy-mocks --instance usdc --network live`");
        const other = await deploy("deploy-mocks --instance usdc");
        expect(own).not.to.equal(other);
        const folder = path.join(project.path, "vault-deployments");
        for (const [pattern, vault, scenario] of [
          [/^31337-[0-9a-f]{8}\.json$/u, own, "expired-round"],
          [/^31337-[0-9a-f]{8}-usdc\.json$/u, other, "open-round"],
        ] as const) {
          const [file = "", ...more] = (await readdir(folder)).filter((name) =>
            pattern.test(name),
          );
          expect(more).to.deep.equal([]);
          const saved = await readFile(path.join(folder, file), "utf8");
          expect(JSON.parse(saved))
            .to.deep.nested.include({ "contracts.vault": vault, scenario })
            .and.property("genesisHash")
            .to.include(`0x${file.slice(6, 14)}`);
        }
        await run("settle --yes --instance usdc");
        expect(await readdir(folder)).to.include(
          `settlement-31337-${other.toLowerCase()}.finished.json`,
        );
        const { vault } = await hre.network.create("live");
        const ofInstance = await vault.instance("usdc").fork();
        const { address } = await ofInstance.vault.addressOf("vault");
        expect(address).to.equal(other);
        await ofInstance.close();
        // The fork shows which round is settled.
        const fork = await vault.fork();
        const usdc = fork.vault.instance("usdc");
        expect((await usdc.addressOf("vault")).address).to.equal(other);
        expect((await usdc.getLatestRoundInfo()).settled).to.equal(true);
        expect((await fork.vault.getLatestRoundInfo()).settled).to.equal(false);
        await fork.close();
      } finally {
        await project.remove();
      }
    });
  });
});
