import type { Contract, Signer } from "ethers";
import type { NetworkConnection } from "hardhat/types/network";

import type {
  HardhatVault,
  SettleAllOptions,
  Settlement,
} from "../../src/types.js";
import type { TestNode } from "./every-node.js";
import { useFixtureProject } from "./fixture-project.js";
import { createTestHre, httpNetwork } from "./hre.js";
import { SENDS } from "./keeper.js";
import { deploySettlingVault } from "./settling-vaults.js";
import type { SettlingVaultName } from "./settling-vaults.js";

/** What others do right before and right after a settlement is sent. */
export interface Between {
  readonly beforeSending?: () => Promise<void>;
  readonly afterSending?: () => Promise<void>;
}

/** Vaults that settle on a node that mines only when it is told. */
export interface SettledWorld {
  deploy(
    name: SettlingVaultName,
  ): Promise<{ readonly vault: HardhatVault; readonly contract: Contract }>;
  signer(index: number): Promise<Signer>;
  settleBetween(
    vault: HardhatVault,
    between: Between,
    options?: SettleAllOptions,
  ): Promise<Settlement>;
  mine(): Promise<void>;
  /** Block of a transaction; undefined if it is not mined. */
  blockOf(hash: string): Promise<number | undefined>;
  close(): Promise<void>;
}

export async function openWorld(
  start: () => Promise<TestNode>,
): Promise<SettledWorld> {
  const node = await start();
  const project = await useFixtureProject("empty");
  const hre = await createTestHre(
    node.url === undefined ? {} : { networks: { live: httpNetwork(node.url) } },
    { projectRoot: project.path },
  );
  const connection: NetworkConnection = await hre.network.create(
    node.url === undefined ? "default" : "live",
  );
  const { provider, ethers, vault } = connection;
  const send = async (method: string, ...params: unknown[]): Promise<void> => {
    await provider.request({ method, params });
  };
  let between: Between | undefined;
  const request = provider.request.bind(provider);
  provider.request = async (args): Promise<unknown> => {
    if (between === undefined || !SENDS.includes(args.method)) {
      return await request(args);
    }
    const { beforeSending, afterSending } = between;
    // What the others send is not asked about again.
    between = undefined;
    await beforeSending?.();
    const hash: unknown = await request(args);
    await afterSending?.();
    return hash;
  };
  return {
    deploy: async (name) => {
      await send("evm_setAutomine", true);
      const { contract, contracts } = await deploySettlingVault(
        await ethers.provider.getSigner(0),
        name,
      );
      return { contract, vault: vault.at(contracts) };
    },
    signer: async (index) => await ethers.provider.getSigner(index),
    settleBetween: async (of, acts, options = {}) => {
      await send("evm_setAutomine", false);
      const settlement = await of.settleAll({
        ...options,
        pollingInterval: 20,
        onEvent: ({ type }) => {
          // A preview in process sends, too.
          between = type === "sending" ? acts : between;
        },
      });
      await send("evm_setAutomine", true);
      return settlement;
    },
    mine: async () => {
      await send("evm_mine");
    },
    blockOf: async (hash) =>
      (await ethers.provider.getTransactionReceipt(hash))?.blockNumber,
    close: async () => {
      await connection.close();
      await node.stop();
      await project.remove();
    },
  };
}
