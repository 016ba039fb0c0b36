import { setTimeout as sleep } from "node:timers/promises";

import { Contract, JsonRpcProvider } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import { createPublicClient, http } from "viem";

import vaultFactoryAbi from "../abi/VaultFactory.json" with { type: "json" };
import { Vault__factory } from "../src/bindings/factories/Vault__factory.js";
import type { MockAddresses } from "../src/types.js";
import { startAnvil } from "../test/helpers/anvil.js";
import { fetchProvider } from "../test/helpers/fetch-provider.js";
import { fieldsOf, listOf } from "../test/helpers/fields.js";
import { useFixtureProject } from "../test/helpers/fixture-project.js";
import { hreOnLive } from "../test/helpers/hre.js";
import { startNodeBehind } from "../test/helpers/node-behind.js";
import type { NodeBehind } from "../test/helpers/node-behind.js";
import { runTyped } from "../test/helpers/run-vault-task.js";
import { deployGeneratedOrders } from "../test/helpers/trading.js";
import { target } from "./measure.js";
import type { Section } from "./measure.js";
import { readWithHardhatEthers, readWithViem } from "./orders.js";
import type { OrdersToRead } from "./orders.js";

/** Milliseconds for each request, as of an ordinary provider. */
const LATENCY_MS = 100;

/** Those of the job `orders`, which gives no range: their end is searched. */
const ORDERS = 10_000;

/** Between two looks for a receipt: anvil answers before its fork has mined. */
const RECEIPT_MS = 20;

/** What a job costs behind the latency. */
interface Cost {
  readonly job: string;
  readonly requests: number;
  /** The longest chain of requests of which each waits for the one before. */
  readonly waves: number;
  readonly seconds: number;
}

/**
 * The most waves of a job, until it sends a transaction. They do not depend on the machine.
 */
export const mostWaves = {
  round: 1,
  // No answer of a call says at which block it ran: the settlement is tried once the block
  // of the readings is known.
  status: 2,
  simulate: 3,
  "settle --yes": 7,
  orders: 8,
  "simulate --fork": 12,
  // The addresses are looked up first.
  "round, mocks of vault-deployments": 2,
  "status, mocks of vault-deployments": 3,
  "simulate, mocks of vault-deployments": 4,
  "settle --yes, mocks of vault-deployments": 8,
} as const satisfies Readonly<Record<string, number>>;

/**
 * Runs each job behind a node that takes 100 ms for a request, and counts requests and
 * waves.
 */
export async function benchLatency(): Promise<Section> {
  const costs = await measureLatency(LATENCY_MS);
  // Long answers come apart on a busy machine, which would count as waves.
  const isJob = (job: string): boolean => job in mostWaves;
  const inStep = await measureLatency(LATENCY_MS, isJob, true);
  const wavesIn = (job: string): number | undefined =>
    inStep.find((cost) => cost.job === job)?.waves;
  return {
    title: `Behind ${LATENCY_MS} ms a request, anvil`,
    rows: costs.map((cost) => ({
      ...cost,
      waves: wavesIn(cost.job) ?? cost.waves,
    })),
    targets: Object.entries(mostWaves).map(([job, most]) =>
      target(job, wavesIn(job) ?? NaN, "at most", most, "waves"),
    ),
  };
}

/**
 * Each job meets the chain as it was before the first one.
 *
 * @param isInStep Gives the answers of a wave together, for tests on busy machines; the
 * seconds are then longer.
 */
export async function measureLatency(
  latencyMs: number,
  chosen: (job: string) => boolean = () => true,
  isInStep = false,
): Promise<readonly Cost[]> {
  const anvil = await startAnvil();
  const node = await startNodeBehind(anvil.url, latencyMs, isInStep);
  const project = await useFixtureProject("plain");
  try {
    const near = await hreOnLive(anvil.url, {}, project.path);
    // Writes the addresses to vault-deployments/, for whoever has none configured.
    await runDone(near, "deploy-mocks --scenario many-orders");
    const { vault, provider } = await near.network.create();
    const contracts = {
      ...(await vault.deployMocks({ scenario: "many-orders" })).addresses,
      trading: await deployGeneratedOrders(provider, 1n, BigInt(ORDERS)),
    };
    const far = {
      node,
      contracts,
      hre: await hreOnLive(node.url, { vault: { contracts } }, project.path),
      unconfigured: await hreOnLive(node.url, {}, project.path),
    };
    const costs: Cost[] = [];
    for (const [job, work] of Object.entries(jobsOn(far))) {
      if (chosen(job)) {
        const chain = fetchProvider(anvil.url);
        const snapshot = await chain.request({ method: "evm_snapshot" });
        node.clear();
        const start = performance.now();
        await work();
        costs.push({
          job,
          requests: node.bodies.length,
          waves: wavesOf(node),
          seconds: Math.round(performance.now() - start) / 1_000,
        });
        await chain.request({ method: "evm_revert", params: [snapshot] });
      }
    }
    return costs;
  } finally {
    await project.remove();
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

/** What the jobs work on: a node at a distance, and a project. */
interface Far {
  readonly node: NodeBehind;
  readonly contracts: Readonly<Record<keyof MockAddresses, string>>;
  readonly hre: HardhatRuntimeEnvironment;
  /** Of the same project, without addresses in its configuration. */
  readonly unconfigured: HardhatRuntimeEnvironment;
}

function jobsOn(far: Far): Readonly<Record<string, Job>> {
  const { node, contracts, hre, unconfigured } = far;
  const task =
    (typed: string, on = hre): Job =>
    async () => {
      await runDone(on, `${typed} --json`);
    };
  const { vaultFactory: address } = contracts;
  return {
    round: task("round"),
    "round, by hardhat-ethers": async () => {
      const { ethers } = await hre.network.create();
      await (
        await ethers.getContractAt(vaultFactoryAbi, address)
      )
        .getFunction("getLatestRoundInfo")
        .staticCall();
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
        // viem's type for an address
        address: address as `0x${string}`,
        abi: vaultFactoryAbi,
        functionName: "getLatestRoundInfo",
      });
    },
    status: task("status"),
    orders: task("orders"),
    "orders 1 to 10,000, by hardhat-ethers": async () =>
      await readWithHardhatEthers(await ordersWorld(far)),
    "orders 1 to 10,000, by viem": async () =>
      await readWithViem(await ordersWorld(far)),
    rounds: task("rounds"),
    simulate: task("simulate"),
    "simulate --fork": task("simulate --fork"),
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
      await settleOn(fetchProvider(forked.url), contracts.vault);
      await forked.stop();
    },
    "settle --yes": task("settle --yes"),
    "settleAll() sent by hardhat-ethers": async () => {
      const { ethers } = await hre.network.create();
      const [signer] = await ethers.getSigners();
      const sent = await Vault__factory.connect(
        contracts.vault,
        signer,
      ).settleAll();
      await sent.wait();
    },
    "round, mocks of vault-deployments": task("round", unconfigured),
    "status, mocks of vault-deployments": task("status", unconfigured),
    "simulate, mocks of vault-deployments": task("simulate", unconfigured),
    "settle --yes, mocks of vault-deployments": task(
      "settle --yes",
      unconfigured,
    ),
  };
}

async function runDone(
  hre: HardhatRuntimeEnvironment,
  typed: string,
): Promise<void> {
  const { exitCode, stderr } = await runTyped(hre, typed);
  if (exitCode !== 0) {
    throw new Error(`vault ${typed}: ${stderr}`);
  }
}

async function ordersWorld({
  node: { url },
  hre,
  contracts,
}: Far): Promise<OrdersToRead> {
  return {
    url,
    connection: await hre.network.create(),
    // viem's type for an address
    trading: contracts.trading as `0x${string}`,
    count: ORDERS,
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
  const [from] = listOf(await provider.request({ method: "eth_accounts" }));
  const hash = await provider.request({
    method: "eth_sendTransaction",
    params: [{ from, to, data: "0xa015aefe", gas: "0xf4240" }],
  });
  let receipt: unknown;
  while ((receipt ?? null) === null) {
    receipt = await provider.request({
      method: "eth_getTransactionReceipt",
      params: [hash],
    });
    await sleep(RECEIPT_MS);
  }
  if (fieldsOf(receipt)["status"] !== "0x1") {
    throw new Error("the settlement on a fork failed");
  }
}
