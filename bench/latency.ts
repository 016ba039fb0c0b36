import { setTimeout as sleep } from "node:timers/promises";

import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { startAnvil } from "../test/helpers/anvil.js";
import { fetchProvider } from "../test/helpers/fetch-provider.js";
import { fieldsOf, listOf } from "../test/helpers/fields.js";
import { useFixtureProject } from "../test/helpers/fixture-project.js";
import { hreOnLive } from "../test/helpers/hre.js";
import { startRpcServer } from "../test/helpers/rpc-server.js";
import type { RpcServer } from "../test/helpers/rpc-server.js";
import { runTyped } from "../test/helpers/run-vault-task.js";
import type { Extent, Figure } from "./measure.js";
import { mocks } from "./worlds.js";
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
}

/**
 * The most waves of jobs whose count users feel. Those of the others are shown only. They do
 * not depend on the machine.
 */
export const mostWaves: Readonly<Record<string, number>> = {
  round: 1,
  orders: 8,
  "simulate --fork": 9,
};

/** Counts the waves of each job behind a node that takes 100 ms for a request. */
export async function benchLatency(
  _extent: Extent,
  world: World,
): Promise<readonly Figure[]> {
  const costs = await measureLatency(world, LATENCY_MS);
  return costs.map(({ job, waves }): Figure => {
    const limit = mostWaves[job];
    return {
      name: `${job}: waves`,
      values: [waves],
      ...(limit !== undefined && { goal: { demand: "at most", limit } }),
    };
  });
}

/**
 * Each job meets the chain as it was before the first one. The answers of a wave come
 * together: on a busy machine, long ones would come apart, and count as waves.
 */
export async function measureLatency(
  world: World,
  latencyMs: number,
  chosen: (job: string) => boolean = () => true,
): Promise<readonly Cost[]> {
  const anvil = await startAnvil();
  const node = await startRpcServer({
    upstream: anvil.url,
    stepMs: latencyMs,
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
        await work();
        costs.push({
          job,
          requests: node.bodies.length,
          waves: wavesOf(node),
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
  return {
    round: task("round"),
    status: task("status"),
    orders: task("orders"),
    simulate: task("simulate"),
    "simulate --fork": task("simulate --fork"),
    "the settlement, on anvil's fork": async () => {
      const forked = await startAnvil({ args: ["--fork-url", node.url] });
      await settleOn(fetchProvider(forked.url), contracts.vault);
      await forked.stop();
    },
    "settle --yes": task("settle --yes"),
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
