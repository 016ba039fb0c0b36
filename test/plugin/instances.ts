import { access, readFile, readdir } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import { configVariable } from "hardhat/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import type { VaultNetworkUserConfig } from "../../src/plugin/config-types.js";
import { startAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import type { ServerProcess } from "../helpers/child-process.js";
import type { CommandResult } from "../helpers/cli.js";
import { documentedContracts } from "../helpers/scripted-node.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { parseDocument, runVaultTask } from "../helpers/run-vault-task.js";

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
    dai: {},
  },
} as const;

/** Nothing listens there. */
const NOWHERE = "http://127.0.0.1:1";

async function openLive(
  vault: VaultNetworkUserConfig,
  url = NOWHERE,
): Promise<HardhatRuntimeEnvironment> {
  return await createTestHre(
    { networks: { live: httpNetwork(url, { vault }) } },
    { network: "live" },
  );
}

describe("instances", () => {
  it("should have their own contracts, and the network's for the rest", async () => {
    const hre = await openLive(settings);
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
    const inherited = {
      address: documentedContracts.trading,
      source: "networks.live.vault.contracts.trading",
    };
    expect(await usdc.addressOf("trading")).to.deep.equal(inherited);
    expect((await vault.addressOf("vault")).address).to.equal(
      documentedContracts.vault,
    );
    // What is given replaces both.
    const at = usdc.at({ trading: OTHER });
    expect((await at.addressOf("trading")).address).to.equal(OTHER);
    expect(at.instanceName).to.equal("usdc");
    expect(await hre.vault.connect("live")).to.have.property("networkName");
  });

  it("should have their own scales, and the network's for the rest", async () => {
    const hre = await openLive(settings);
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
  });

  it("should name those there are when there is no such one", async () => {
    const hre = await openLive(settings);
    const { vault } = await hre.network.create("live");
    for (const name of ["usdt", "toString", ""]) {
      const { message } = await expectVaultError(
        async () => await vault.instance(name).addressOf("vault"),
        "VAULT_UNKNOWN_INSTANCE",
      );
      expect(message).to.include("usdc, dai");
    }
    const lazy = await expectVaultError(
      (await createTestHre()).vault.instance("usdt").addressOf("vault"),
      "VAULT_UNKNOWN_INSTANCE",
    );
    expect(lazy.message).to.include("instances (none)");
    // Before a connection is opened.
    for (const [task, args] of Object.entries({
      round: {},
      request: { operation: "queryVolume" },
      settle: { yes: true },
    })) {
      const result = await runVaultTask(hre, task, {
        ...args,
        instance: "usdt",
        json: true,
      });
      expect(result.exitCode).to.equal(1);
      expect(parseDocument(result)).to.have.nested.property(
        "error.code",
        "VAULT_UNKNOWN_INSTANCE",
      );
    }
  });

  it("should be asked by tasks with --instance", async () => {
    const hre = await openLive(settings);
    const requestOf = async (args: object): Promise<unknown> =>
      parseDocument(
        await runVaultTask(hre, "request", {
          operation: "queryVolume",
          json: true,
          ...args,
        }),
      );
    expect(await requestOf({ instance: "usdc" })).to.have.nested.property(
      "params[0].to",
      OTHER,
    );
    expect(await requestOf({})).to.have.nested.property(
      "params[0].to",
      documentedContracts.vault,
    );
  });

  it("should keep mocks in process apart", async () => {
    const hre = await createTestHre({
      networks: {
        local: {
          type: "edr-simulated",
          vault: { instances: { usdc: {}, dai: {} } },
        },
      },
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

  describe("on a network that persists", () => {
    let node: ServerProcess;
    before(async () => {
      node = await startAnvil();
    });
    after(async () => {
      await node.stop();
    });

    it("status --all should report each instance at one block, and name the address that is wrong", async () => {
      const live = await createTestHre({
        networks: { live: httpNetwork(node.url) },
      });
      const { vault } = await live.network.create("live");
      const { addresses: contracts } = await vault.deployMocks({
        overrides: { volume: 1n },
      });
      const { addresses: other } = await vault.deployMocks({
        overrides: { volume: 2n },
      });
      const statusOf = async (
        network: VaultNetworkUserConfig,
        args = {},
      ): Promise<CommandResult> => {
        const hre = await openLive(network, node.url);
        return await runVaultTask(hre, "status", { all: true, ...args });
      };
      const documentOf = async (
        network: VaultNetworkUserConfig,
        args = {},
      ): Promise<unknown> =>
        parseDocument(await statusOf(network, { json: true, ...args }));
      const usdc = { contracts: { vault: other.vault } };
      const configured = {
        contracts,
        instances: { usdc, broken: { contracts: { vault: OTHER } } },
      };
      const all = await documentOf(configured);
      expect(all).to.have.all.keys(
        ...["network", "chainId", "block", "status", "instances"],
      );
      expect(all).to.have.nested.property("status.volume", "1");
      expect(all).to.have.nested.property("instances.usdc.volume", "2");
      // What it shares with the network.
      expect(all).to.have.nested.property(
        "instances.usdc.round.strikePrice",
        (65_000n * 10n ** 18n).toString(),
      );
      expect(all).to.have.nested.property(
        "instances.broken.volume.error.code",
        "VAULT_NO_CODE",
      );
      // A network may have contracts in its instances alone.
      const apart = await documentOf({
        instances: { usdc: { contracts: other } },
      });
      expect(apart).to.have.property("status", null);
      expect(apart).to.have.nested.property("instances.usdc.volume", "2");
      expect(
        await documentOf({ instances: { usdc } }, { instance: "usdc" }),
      ).to.have.nested.property("error.code", "VAULT_INVALID_ARGUMENT");
      const { stdout } = await statusOf(configured);
      const [own = "", ofUsdc = "", ofBroken = ""] =
        stdout.split(/^Instance /mu);
      expect(own).to.match(/^Volume +1 /mu);
      expect(ofUsdc)
        .to.match(/^usdc\n/u)
        .and.match(/^Volume +2 /mu);
      expect(ofBroken)
        .to.match(/^broken\n/u)
        .and.match(
          /no contract code at 0x\w{40}.* \(address from networks\.live\.vault\.instances\.broken\.contracts\.vault\)/u,
        );
      process.env["TEST_INSTANCE_VAULT"] = "0x12";
      const { stdout: malformed } = await statusOf({
        contracts,
        instances: {
          usdc: {
            contracts: { vault: configVariable("TEST_INSTANCE_VAULT") },
          },
        },
      });
      delete process.env["TEST_INSTANCE_VAULT"];
      expect(malformed).to.include(
        "networks.live.vault.instances.usdc.contracts.vault",
      );
    });

    it("should keep deployments and journals apart", async () => {
      const project = await useFixtureProject("plain");
      try {
        const hre = await createTestHre(
          {
            networks: {
              live: httpNetwork(node.url, {
                vault: { instances: { usdc: {} } },
              }),
            },
          },
          { network: "live", projectRoot: project.path },
        );
        const run = async (task: string, args: object): Promise<unknown> =>
          parseDocument(await runVaultTask(hre, task, { json: true, ...args }));
        expect(await run("round", { instance: "usdc" }))
          .to.have.nested.property("error.message")
          .that.includes(
            "`npx hardhat vault deploy-mocks --instance usdc --network live` deploys mocks",
          );
        const own = await run("deploy-mocks", {});
        const other = await run("deploy-mocks", { instance: "usdc" });
        const addressOf = (deployed: unknown): string =>
          String(
            Reflect.get(
              Object(Reflect.get(Object(deployed), "contracts")),
              "vault",
            ),
          );
        expect(addressOf(own)).not.to.equal(addressOf(other));
        const folder = path.join(project.path, "vault-deployments");
        for (const [pattern, deployed] of [
          [/^31337-[0-9a-f]{8}\.json$/u, own],
          [/^31337-[0-9a-f]{8}-usdc\.json$/u, other],
        ] as const) {
          const [file = "", ...more] = (await readdir(folder)).filter((name) =>
            pattern.test(name),
          );
          expect(more).to.deep.equal([]);
          const saved: unknown = JSON.parse(
            await readFile(path.join(folder, file), "utf8"),
          );
          expect(saved).to.have.nested.property(
            "contracts.vault",
            addressOf(deployed),
          );
        }
        const settled = await runVaultTask(hre, "settle", {
          yes: true,
          instance: "usdc",
        });
        expect(settled.stderr).to.include(
          "`npx hardhat vault settle --resume --instance usdc --network live` goes on",
        );
        expect(
          await run("round", { instance: "usdc" }),
        ).to.have.nested.property("round.settled", true);
        expect(await run("round", {})).to.have.nested.property(
          "round.settled",
          false,
        );
        await access(
          path.join(
            folder,
            `settlement-31337-${addressOf(other).toLowerCase()}.finished.json`,
          ),
        );
        // Simulated where the instance is, on a fork.
        const { vault } = await hre.network.create("live");
        const fork = await vault.instance("usdc").fork();
        expect((await fork.vault.addressOf("vault")).address).to.equal(
          addressOf(other),
        );
        await fork.close();
        const whole = await vault.fork();
        expect(
          (await whole.vault.instance("usdc").addressOf("vault")).address,
        ).to.equal(addressOf(other));
        expect(
          await whole.vault.instance("usdc").getLatestRoundInfo(),
        ).to.have.property("settled", true);
        expect(await whole.vault.getLatestRoundInfo()).to.have.property(
          "settled",
          false,
        );
        await whole.close();
      } finally {
        await project.remove();
      }
    });
  });
});
