import { Contract, JsonRpcProvider } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import { createPublicClient, http } from "viem";

import vaultFactoryAbi from "../abi/VaultFactory.json" with { type: "json" };
import { startAnvil } from "../test/helpers/anvil.js";
import { listOf } from "../test/helpers/fields.js";
import { createTestHre, httpNetwork } from "../test/helpers/hre.js";
import { startNodeBehind } from "../test/helpers/node-behind.js";
import type { NodeBehind } from "../test/helpers/node-behind.js";
import { runTyped } from "../test/helpers/run-vault-task.js";
import { target } from "./measure.js";
import type { Section } from "./measure.js";

/** Milliseconds for each request, as of an ordinary provider. */
const LATENCY_MS = 100;

const FORK_LIMIT = 12;

/** What a job costs behind the latency. */
interface Cost {
  readonly job: string;
  readonly requests: number;
  readonly waves: number;
  readonly seconds: number;
}

/** The most waves of a job; waves do not depend on the machine. */
const mostWaves: Readonly<Record<string, number>> = {
  round: 1,
  status: 2,
  orders: 8,
  simulate: 3,
  "simulate --fork": FORK_LIMIT,
  "settle --yes": 7,
};

/**
 * Runs each job behind a node that takes 100 ms for a request, and counts requests,
 * and waves: groups of requests of which each waits for the one before.
 */
export async function benchLatency(): Promise<Section> {
  const costs = await measureLatency(LATENCY_MS);
  return {
    title: `Behind ${LATENCY_MS} ms a request, anvil`,
    rows: costs.map((cost) => ({ ...cost })),
    targets: costs.flatMap(({ job, waves }) => {
      const most = mostWaves[job];
      return most === undefined
        ? []
        : [target(job, waves, "at most", most, "waves")];
    }),
  };
}

export async function measureLatency(
  latencyMs: number,
  chosen: (job: string) => boolean = () => true,
): Promise<readonly Cost[]> {
  const anvil = await startAnvil();
  const node = await startNodeBehind(anvil.url, latencyMs);
  try {
    const near = await createTestHre({
      networks: { live: httpNetwork(anvil.url) },
    });
    const mocks = await (
      await near.network.create("live")
    ).vault.deployMocks({ scenario: "many-orders" });
    const contracts = { ...mocks.addresses };
    const hre = await createTestHre(
      { networks: { live: httpNetwork(node.url, { vault: { contracts } }) } },
      { network: "live" },
    );
    const costs: Cost[] = [];
    for (const [job, work] of Object.entries(jobsOn(hre, node, contracts))) {
      if (chosen(job)) {
        node.clear();
        const start = performance.now();
        await work();
        costs.push({
          job,
          requests: node.bodies.length,
          waves: wavesOf(node),
          seconds: Math.round(performance.now() - start) / 1_000,
        });
      }
    }
    return costs;
  } finally {
    await node.stop();
    await anvil.stop();
  }
}

/** The waves until a transaction is sent, if one is. */
function wavesOf({ bodies, waveOf, waves }: NodeBehind): number {
  const sent = bodies.findIndex((calls) =>
    calls.some(({ method }) => method.startsWith("eth_send")),
  );
  return waveOf[sent] ?? waves;
}

type Job = () => Promise<unknown>;

function jobsOn(
  hre: HardhatRuntimeEnvironment,
  node: NodeBehind,
  contracts: { readonly vaultFactory: string; readonly vault: string },
): Readonly<Record<string, Job>> {
  const task =
    (typed: string): Job =>
    async () => {
      const { exitCode, stderr } = await runTyped(hre, typed);
      if (exitCode !== 0) {
        throw new Error(`vault ${typed}: ${stderr}`);
      }
    };
  const { vaultFactory: address } = contracts;
  return {
    round: task("round --json"),
    "round, by hardhat-ethers": async () => {
      const { ethers } = await hre.network.create();
      const [contract] = [await ethers.getContractAt(vaultFactoryAbi, address)];
      await contract.getFunction("getLatestRoundInfo").staticCall();
    },
    "round, by ethers": async () => {
      const provider = new JsonRpcProvider(node.url);
      await new Contract(address, vaultFactoryAbi, provider)
        .getFunction("getLatestRoundInfo")
        .staticCall();
      provider.destroy();
    },
    "round, by viem": async () => {
      await createPublicClient({ transport: http(node.url) }).readContract({
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- viem's type for an address
        address: address as `0x${string}`,
        abi: vaultFactoryAbi,
        functionName: "getLatestRoundInfo",
      });
    },
    status: task("status --json"),
    orders: task("orders --json"),
    rounds: task("rounds --json"),
    simulate: task("simulate --json"),
    "simulate --fork": task("simulate --fork --json"),
    "fork(), snapshot() and settleAll()": async () => {
      const { vault } = await hre.network.create();
      const fork = await vault.fork();
      await fork.vault.snapshot();
      const { status } = await fork.vault.settleAll();
      await fork.close();
      if (status !== "settled") {
        throw new Error(`the settlement on the fork ended as ${status}`);
      }
    },
    "the settlement, on Hardhat's own fork": async () => {
      const fork = await hre.network.create({
        network: "default",
        override: { chainId: 31_337, forking: { url: node.url } },
      });
      await settleOn(fork.provider, contracts.vault);
      await fork.close();
    },
    "the settlement, on anvil's fork": async () => {
      const forked = await startAnvil({ args: ["--fork-url", node.url] });
      const provider = new JsonRpcProvider(forked.url);
      await settleOn(
        {
          request: async ({ method, params = [] }): Promise<unknown> =>
            await provider.send(method, [...params]),
        },
        contracts.vault,
      );
      provider.destroy();
      await forked.stop();
    },
    "settle --yes": task("settle --yes --json"),
  };
}

async function settleOn(
  provider: {
    request(asked: {
      method: string;
      params?: readonly unknown[];
    }): Promise<unknown>;
  },
  to: string,
): Promise<void> {
  const accounts: unknown = await provider.request({ method: "eth_accounts" });
  const [from] = listOf(accounts);
  await provider.request({
    method: "eth_sendTransaction",
    params: [{ from, to, data: "0xa015aefe", gas: "0xf4240" }],
  });
}
