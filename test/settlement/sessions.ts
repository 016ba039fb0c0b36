import { writeFile } from "node:fs/promises";

import { VaultError } from "../../src/client/index.js";
import type { SettleAllOptions, SettlementEvent } from "../../src/types.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import type { NetworkSettings } from "../helpers/hre.js";
import { recordCalls } from "../helpers/record-calls.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import * as scripted from "../helpers/scripted-node.js";
import { useStage } from "../helpers/settlement-stage.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";
import type { SettlingVaultName } from "../helpers/settling-vaults.js";

const START = 1_795_219_200;

describe("settleAll, call by call", () => {
  const stage = useStage();

  before(async () => {
    await writeFile(`${stage.projectRoot}/package.json`, "{}");
  });

  recordCalls("settlements", async () => {
    const server = await startRpcServer({
      handler: async (asked) => await scripted.handlerOf(stage.chain)(asked),
    });
    const { KEY, VAULT, FACTORY } = scripted;
    const contracts = { vault: VAULT, vaultFactory: FACTORY };
    // Blocks of a scripted node are old.
    const own = {
      accounts: [KEY],
      vault: { contracts, maxHeadAge: false as const },
    };
    const initialDate = new Date(START * 1_000).toISOString();
    const networkOf = async (settings: NetworkSettings) =>
      await createTestHre(
        {
          networks: {
            live: httpNetwork(server.url, { ...own, ...settings }),
            local: { type: "edr-simulated", initialDate },
          },
        },
        { network: "live", projectRoot: stage.projectRoot },
      );
    const hre = await networkOf({});
    const local = await hre.network.create("local");
    const deploy = async (name: SettlingVaultName, endTime: number) => {
      const signer = await local.ethers.provider.getSigner(0);
      const made = await deploySettlingVault(signer, name, { endTime });
      return { ...made, vault: local.vault.at(made.contracts) };
    };
    /** Settles on the scripted node, by a connection of its own. */
    const settle = async (
      { onEvent, ...options }: SettleAllOptions = {},
      settings?: NetworkSettings,
    ) => {
      const { network } =
        settings === undefined ? hre : await networkOf(settings);
      const { vault } = await network.create();
      const events: SettlementEvent[] = [];
      const settlement = await vault.settleAll({
        ...{ pollingInterval: 1, timeout: 60_000, ...options },
        onEvent: (event) => {
          events.push(event);
          onEvent?.(event);
        },
      });
      return { settlement, events };
    };
    /** The same on a new node, after a change to it. */
    const fresh = async (
      change: () => unknown,
      ...args: Parameters<typeof settle>
    ) => {
      await stage.reset();
      await change();
      return await settle(...args);
    };
    const names = { ...scripted, stage, settle, fresh, local, deploy, START };
    return {
      hre,
      names: { ...names, VaultError },
      close: async () => {
        await Promise.all([local.close(), server.stop()]);
      },
    };
  });
});
