import { JsonRpcProvider } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import pLimit from "p-limit";

import { VaultClient } from "../../src/client/index.js";
import { asRecord } from "../../src/json.js";
import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import { contractRoleNames } from "../../src/protocol/index.js";
import type { ContractRole } from "../../src/protocol/index.js";
import type { Settlement } from "../../src/settlement/types.js";
import { startAnvil } from "./anvil.js";
import type { ServerProcess } from "./child-process.js";
import { fetchProvider } from "./fetch-provider.js";
import { useFixtureProject } from "./fixture-project.js";
import { hreOnLive } from "./hre.js";
import { answerAs } from "./node-answer.js";
import type { Asked, NodeAnswerCase } from "./node-answer.js";
import { startRpcServer } from "./rpc-server.js";
import { parseDocument, runVaultTask } from "./run-vault-task.js";
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
  readonly contracts: Readonly<Record<ContractRole, string>>;
  readonly close: () => Promise<void>;
}

/** What came of a case, with all that its `right` is held against. */
export interface Outcome {
  readonly values: readonly unknown[];
  readonly errors: readonly unknown[];
  readonly settlement?: Settlement;
  readonly asked: Asked;
  readonly seconds: number;
}

export async function openLane(): Promise<Lane> {
  const node = await startAnvil();
  const folder = await useFixtureProject("plain");
  const { path: project } = folder;
  const deploying = await hreOnLive(node.url, {}, project);
  const connection = await deploying.network.create();
  await connection.vault.deployMocks({ scenario: "expired-round" });
  const located = await Promise.all(
    contractRoleNames.map(async (role) => {
      const { address } = await connection.vault.addressOf(role);
      return [role, address] as const;
    }),
  );
  await connection.close();
  await fetchProvider(node.url).request({
    method: "anvil_mine",
    params: [`0x${BLOCKS_LATER.toString(16)}`],
  });
  // an address for each role
  const contracts = Object.fromEntries(located) as Lane["contracts"];
  const vault = { contracts };
  return {
    node,
    project,
    contracts,
    hre: await hreOnLive(node.url, { vault, accounts: [KEY] }, project),
    remoteHre: await hreOnLive(
      node.url,
      { vault, accounts: "remote" },
      project,
    ),
    close: async () => {
      await node.stop();
      await folder.remove();
    },
  };
}

/** Only one task at a time prints to this process's output. */
const printing = pLimit(1);

/** Runs a case against a server in front of the lane's node. */
export async function runCase(
  one: NodeAnswerCase,
  lane: Lane,
): Promise<Outcome> {
  const { node, contracts } = lane;
  const { when } = one;
  if (when.do === "round after a settlement") {
    const connection = await lane.hre.network.create("live");
    await connection.vault.settleAll({ pollingInterval: 100 });
    await connection.close();
  }
  const { handler, asked } = answerAs(one, node.url, KEY);
  const server = await startRpcServer({ upstream: node.url, handler });
  const isRemote = when.stage === "accounts";
  const hre = isRemote ? lane.remoteHre : lane.hre;
  const connection = await hre.network.create({
    network: "live",
    override: { url: server.url },
  });
  const ethers = new JsonRpcProvider(server.url, 31_337, {
    staticNetwork: true,
    batchMaxCount: 1,
    cacheTimeout: -1,
  });
  const vault =
    when.stage === "ethers"
      ? new VaultClient(
          {
            request: async ({ method, params = [] }) => {
              const result: unknown = await ethers.send(method, [...params]);
              return result;
            },
          },
          contracts,
        )
      : connection.vault;
  const begin = performance.now();
  const values: unknown[] = [];
  const errors: unknown[] = [];
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      values.push(await work());
    } catch (error) {
      errors.push(error);
    }
  };
  try {
    const cli = async (task: string): Promise<unknown> =>
      await printing(async () => {
        const copy = await hreOnLive(
          server.url,
          {
            vault: { contracts },
            accounts: isRemote ? "remote" : [KEY],
          },
          lane.project,
        );
        return parseDocument(await runVaultTask(copy, task, { json: true }));
      });
    for (const work of worksOf(one, vault, connection.vault, cli)) {
      await attempt(work);
    }
    const seconds = (performance.now() - begin) / 1_000;
    const settlement = values.find(isSettlement);
    return {
      values,
      errors,
      asked,
      seconds,
      ...(settlement === undefined ? {} : { settlement }),
    };
  } finally {
    ethers.destroy();
    // First, because closing waits for requests under way.
    await server.stop();
    await connection.close();
  }
}

function isSettlement(value: unknown): value is Settlement {
  return "blockNumber" in asRecord(value) && "preview" in asRecord(value);
}

/** Milliseconds that the user allows. */
function timeoutOf({ when, right }: NodeAnswerCase): number {
  if (when.timeout !== undefined) {
    return when.timeout * 1_000;
  }
  if (right === "retry-until-deadline-then-error") {
    // Enough for three attempts on a busy machine.
    return 10_000;
  }
  // A fork is executed in this process, which may share its processor with others.
  return when.stage === "simulate" || when.stage === "history"
    ? 120_000
    : 20_000;
}

export const settles = new Set(["text", "send", "receipt", "block", "search"]);

/** What the user does: the words of `stage` and `do`. */
function worksOf(
  one: NodeAnswerCase,
  vault: VaultClient,
  own: HardhatVault,
  cli: (task: string) => Promise<unknown>,
): ReadonlyArray<() => Promise<unknown>> {
  const { stage, do: what = stage } = one.when;
  const timeout = timeoutOf(one);
  const snapshot = async () => await vault.snapshot({ timeout });
  const settle = async () =>
    await own.settleAll({ timeout, pollingInterval: 200 });
  const simulate = async (blockNumber?: number) =>
    await own.simulateSettleAll({ timeout, blockNumber });
  const orders = async () =>
    await Array.fromAsync(vault.orders({ ids: [1, 2, 3], timeout }));
  const rounds = async () => await Array.fromAsync(vault.rounds({ timeout }));
  const works: Readonly<Record<string, ReadonlyArray<() => Promise<unknown>>>> =
    {
      head: [
        async () => {
          const { block, ...rest } = await vault.snapshot({ timeout });
          const { number: blockTag } = block;
          const volume = await vault.queryVolume({ blockTag, timeout });
          return { block, ...rest, volumeAtBlock: volume };
        },
      ],
      history: [rounds, async () => await simulate(8)],
      overrides: [snapshot, orders],
      simulate: [simulate],
      doctor: [async () => await cli("doctor")],
      "snapshot at block 99999999": [
        async () => await vault.snapshot({ blockTag: 99_999_999, timeout }),
      ],
      round: [async () => await cli("round")],
      "round after a settlement": [async () => await cli("round")],
      orders: [orders],
      rounds: [rounds],
      any: [snapshot],
      snapshot: [snapshot],
      settle: [settle],
      minXMargin: [async () => await vault.minXMargin({ timeout })],
      getFundingFeeRate: [
        async () => await vault.getFundingFeeRate("call", { timeout }),
      ],
      getLatestRoundInfo: [
        async () => await vault.getLatestRoundInfo({ timeout }),
      ],
    };
  return (
    works[what] ??
    (settles.has(what)
      ? [settle]
      : [async () => await vault.queryVolume({ timeout })])
  );
}
