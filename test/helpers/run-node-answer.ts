import { toQuantity } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { asRecord } from "../../src/json.js";
import { deployMocks } from "../../src/mocks/index.js";
import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import type { Settlement } from "../../src/settlement/options.js";
import { startAnvil } from "./anvil.js";
import type { ServerProcess } from "./child-process.js";
import { fetchProvider } from "./fetch-provider.js";
import { useFixtureProject } from "./fixture-project.js";
import { hreOnLive } from "./hre.js";
import { answerAs } from "./node-answer.js";
import type { Asked, NodeAnswerCase } from "./node-answer.js";
import { startRpcServer } from "./rpc-server.js";
import { devKey } from "./world.js";

const BLOCKS_LATER = 300;
/** Of an account that has sent nothing before. */
export const KEY = devKey(3);

/** A chain with an expired round, and a Hardhat project for it. */
export interface Lane {
  readonly node: ServerProcess;
  readonly hre: HardhatRuntimeEnvironment;
  readonly remoteHre: HardhatRuntimeEnvironment;
  readonly project: string;
  readonly close: () => Promise<void>;
}

/** What came of a case, with all that its `right` is held against. */
export interface Outcome {
  readonly values: readonly unknown[];
  readonly errors: readonly unknown[];
  readonly settlement?: Settlement;
  readonly asked: Asked;
}

export async function openLane(): Promise<Lane> {
  const node = await startAnvil();
  const folder = await useFixtureProject("plain");
  const { path: project } = folder;
  const provider = fetchProvider(node.url);
  const { addresses } = await deployMocks(provider, {
    scenario: "expired-round",
  });
  const params = [toQuantity(BLOCKS_LATER)];
  await provider.request({ method: "anvil_mine", params });
  const hreWith = async (accounts: [string] | "remote") => {
    const settings = { vault: { contracts: addresses }, accounts };
    return await hreOnLive(node.url, settings, project);
  };
  return {
    ...{ node, project },
    hre: await hreWith([KEY]),
    remoteHre: await hreWith("remote"),
    close: async () => {
      await node.stop();
      await folder.remove();
    },
  };
}

/** Runs a case against a server in front of the lane's node. */
export async function runCase(
  one: NodeAnswerCase,
  lane: Lane,
): Promise<Outcome> {
  const { node } = lane;
  const { when } = one;
  if (when.do === "snapshot after a settlement") {
    const connection = await lane.hre.network.create("live");
    await connection.vault.settleAll({ pollingInterval: 100 });
    await connection.close();
  }
  const { handler, asked } = answerAs(one, node.url, KEY);
  const server = await startRpcServer({ upstream: node.url, handler });
  const hre = when.stage === "accounts" ? lane.remoteHre : lane.hre;
  const connection = await hre.network.create({
    network: "live",
    override: { url: server.url },
  });
  const values: unknown[] = [];
  const errors: unknown[] = [];
  try {
    for (const work of worksOf(one, connection.vault)) {
      await work().then(
        (value) => values.push(value),
        (error: unknown) => errors.push(error),
      );
    }
    const settlement = values.find(isSettlement);
    return {
      values,
      errors,
      asked,
      ...(settlement === undefined ? {} : { settlement }),
    };
  } finally {
    // First, because closing waits for requests under way.
    await server.stop();
    await connection.close();
  }
}

function isSettlement(value: unknown): value is Settlement {
  return "blockNumber" in asRecord(value) && "preview" in asRecord(value);
}

export const settles = new Set([
  "settle",
  "text",
  "send",
  "receipt",
  "block",
  "search",
]);

/** What the user does: the words of `stage` and `do`. */
function worksOf(
  one: NodeAnswerCase,
  vault: HardhatVault,
): ReadonlyArray<() => Promise<unknown>> {
  const { stage, do: what = stage } = one.when;
  // A fork is executed in this process, which may share its processor with others.
  const isFork = stage === "simulate" || stage === "history";
  // A settlement that a node refuses is open until its time is over.
  const usual = one.right === "refused" ? 8 : 20;
  const { timeout: seconds = isFork ? 120 : usual } = one.when;
  const timeout = seconds * 1_000;
  const snapshot = async () => await vault.snapshot({ timeout });
  const settle = async () =>
    await vault.settleAll({ timeout, pollingInterval: 200 });
  const simulate = async (blockNumber?: number) =>
    await vault.simulateSettleAll({ timeout, blockNumber });
  const orders = async () =>
    await Array.fromAsync(vault.orders({ ids: [1, 2, 3], timeout }));
  switch (what) {
    case "head":
      return [
        async () => {
          const { block, ...rest } = await vault.snapshot({ timeout });
          const { number: blockTag } = block;
          const volume = await vault.queryVolume({ blockTag, timeout });
          return { block, ...rest, volumeAtBlock: volume };
        },
      ];
    case "history":
      return [
        async () => await Array.fromAsync(vault.rounds({ timeout })),
        async () => await simulate(8),
      ];
    case "overrides":
      return [snapshot, orders];
    case "simulate":
      return [simulate];
    case "orders":
      return [orders];
    case "any":
    case "snapshot":
    case "snapshot after a settlement":
      return [snapshot];
    default:
      return settles.has(what)
        ? [settle]
        : [async () => await vault.queryVolume({ timeout })];
  }
}
