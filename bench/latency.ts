import { setTimeout as sleep } from "node:timers/promises";

import { Contract, JsonRpcProvider } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import { createPublicClient, http } from "viem";

import vaultFactoryAbi from "../abi/VaultFactory.json" with { type: "json" };
import { Vault__factory } from "../src/bindings/factories/Vault__factory.js";
import { startAnvil } from "../test/helpers/anvil.js";
import { fetchProvider } from "../test/helpers/fetch-provider.js";
import { fieldsOf, listOf } from "../test/helpers/fields.js";
import { useFixtureProject } from "../test/helpers/fixture-project.js";
import { hreOnLive } from "../test/helpers/hre.js";
import { startRpcServer } from "../test/helpers/rpc-server.js";
import type { RpcServer } from "../test/helpers/rpc-server.js";
import { runTyped } from "../test/helpers/run-vault-task.js";
import { target } from "./measure.js";
import type { Section } from "./measure.js";
import { readWithHardhatEthers, readWithViem } from "./orders.js";
import type { OrdersToRead } from "./orders.js";
import { mocks, onBothWorlds } from "./worlds.js";
import type { Contracts, World } from "./worlds.js";

/** Milliseconds for each request, as of an ordinary provider. */
const LATENCY_MS = 100;

/** Those of the job `orders`, which gives no range: their end is searched. */
const ORDERS = 10_000;

/** Between two looks for a receipt: anvil answers before its fork has mined. */
const RECEIPT_MS = 20;

/** End of the names of jobs on the addresses that `deploy-mocks` wrote. */
const OF_MOCKS = ", mocks of vault-deployments";

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
export function mostWavesOn(world: World): Readonly<Record<string, number>> {
  // A vault that pays a token: its symbol and decimals are read once it is known.
  const ofToken = world === mocks ? 0 : 1;
  return {
    round: 1,
    // No answer of a call says at which block it ran: the settlement is tried once the
    // block of the readings is known.
    status: 2,
    simulate: 3 + ofToken,
    "settle --yes": 7 + ofToken,
    orders: 8,
    "simulate --fork": 3 + ofToken,
    // The addresses are looked up first.
    ...(world === mocks && {
      [`round${OF_MOCKS}`]: 2,
      [`status${OF_MOCKS}`]: 3,
      [`simulate${OF_MOCKS}`]: 4,
      [`settle --yes${OF_MOCKS}`]: 8,
    }),
  };
}

/**
 * Runs each job behind a node that takes 100 ms for a request, and counts requests and
 * waves.
 */
export async function benchLatency(): Promise<Section> {
  return await onBothWorlds(costsOn);
}

async function costsOn(world: World): Promise<Section> {
  const mostWaves = mostWavesOn(world);
  const costs = await measureLatency(world, LATENCY_MS);
  // Long answers come apart on a busy machine, which would count as waves.
  const isJob = (job: string): boolean => job in mostWaves;
  const inStep = await measureLatency(world, LATENCY_MS, isJob, true);
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
  world: World,
  latencyMs: number,
  chosen: (job: string) => boolean = () => true,
  isInStep = false,
): Promise<readonly Cost[]> {
  const anvil = await startAnvil();
  const node = await startRpcServer({
    ...{ upstream: anvil.url, latencyMs, isInStep },
  });
  const project = await useFixtureProject("plain");
  try {
    const near = await hreOnLive(anvil.url, {}, project.path);
    // Writes the addresses to vault-deployments/, for whoever has none configured.
    await runDone(near, "deploy-mocks --scenario many-orders");
    const { vault } = await near.network.create();
    const contracts = await world.deploy(vault, ORDERS);
    const far = {
      node,
      contracts,
      hre: await hreOnLive(node.url, { vault: { contracts } }, project.path),
      unconfigured: await hreOnLive(node.url, {}, project.path),
    };
    const costs: Cost[] = [];
    for (const [job, work] of Object.entries(jobsOn(far))) {
      if (chosen(job) && !(job.endsWith(OF_MOCKS) && world !== mocks)) {
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
function wavesOf({ httpRequests, waves }: RpcServer): number {
  const sent = httpRequests.find(({ calls }) =>
    calls.some(({ method }) => method.startsWith("eth_send")),
  );
  return sent?.wave ?? waves;
}

type Job = () => Promise<unknown>;

/** What the jobs work on: a node at a distance, and a project. */
interface Far {
  readonly node: RpcServer;
  readonly contracts: Contracts;
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
        address,
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
    ...Object.fromEntries(
      ["round", "status", "simulate", "settle --yes"].map((typed) => [
        `${typed}${OF_MOCKS}`,
        task(typed, unconfigured),
      ]),
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
    trading: contracts.trading,
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
