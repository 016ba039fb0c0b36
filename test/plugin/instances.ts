import { rm } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

import type { ScenarioName } from "../../src/mocks/index.js";
import type { VaultNetworkUserConfig } from "../../src/plugin/config.js";
import { useAnvil } from "../helpers/anvil.js";
import { fieldsOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import { everyTaskRun } from "../helpers/every-vault-task.js";
import type { TaskRun } from "../helpers/every-vault-task.js";
import { connectTo, hreOnLive } from "../helpers/hre.js";
import {
  parseDocument,
  runTyped,
  runVaultTask,
} from "../helpers/run-vault-task.js";

// Which contracts, scales and mocks an instance has: addresses.ts here and in test/tasks/.
describe("instances", () => {
  const node = useAnvil();

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
      const other = await deploy("deploy-mocks --instance usdc");
      expect(own).not.to.equal(other);
      await run("settle --yes --instance usdc");
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
