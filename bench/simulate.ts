import { setTimeout as sleep } from "node:timers/promises";

import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { encodeCall } from "../src/client/codec.js";
import { contractRoleNames, standaloneQueries } from "../src/protocol/index.js";
import type { HardhatVault, SimulateSettleAllOptions } from "../src/types.js";
import { startAnvil } from "../test/helpers/anvil.js";
import { createTestHre, httpNetwork } from "../test/helpers/hre.js";
import { startRpcServer } from "../test/helpers/rpc-server.js";
import { median, medianRatio, round, runInTurns, target } from "./measure.js";
import type { Extent, Section } from "./measure.js";

/** Of anvil, and by chance of `hardhat node`: no table has its hardforks. */
const CHAIN_ID = 31_337;

const OURS = "simulateSettleAll(), on a fork";
const SCRIPT = "a script that reports as much";

/** A fork takes a tenth of a second: single rounds say little. */
const ROUNDS_EACH = 4;

/** Milliseconds that every request takes to and from a distant node. */
const LATENCY_MS = 50;

const WATCHED_ORDERS = 400;

const SIMULATION = "simulateSettleAll()";
const PLAIN_CALL = "one plain eth_call";
const BY_CALL = "the same with engine call";
const WITH_ORDERS = `the same with ${WATCHED_ORDERS.toLocaleString("en")} orders`;

/**
 * A settlement simulated in one request, with every reading and balance before
 * and after and what moves between accounts, beside the least that can be asked
 * of a node; and both far from the node, where the fork asks hundreds of times.
 */
export async function benchSimulateOnNode({
  rounds,
}: Extent): Promise<Section[]> {
  const node = await startAnvil();
  const counter = await startRpcServer({ upstream: node.url });
  // Whether a test only looks that it runs.
  const latency = rounds === 0 ? 1 : LATENCY_MS;
  const far = await startRpcServer({
    upstream: node.url,
    handler: async () => {
      await sleep(latency);
      return undefined;
    },
  });
  const hre = await createTestHre({
    networks: {
      live: httpNetwork(node.url),
      counted: httpNetwork(counter.url),
      far: httpNetwork(far.url),
    },
  });
  const live = await hre.network.create("live");
  try {
    const { contracts, vault } = await live.vault.deployMocks({
      scenario: "many-orders",
    });
    const addresses = Object.fromEntries(
      await Promise.all(
        contractRoleNames.map(
          async (role) => [role, await contracts[role].getAddress()] as const,
        ),
      ),
    );
    const [from] = (await live.ethers.getSigners()).map(
      ({ address }) => address,
    );
    const { data } = encodeCall("queryVolume", []);
    const orders = Array.from(
      { length: WATCHED_ORDERS },
      (_, index) => index + 1,
    );
    const times = {
      // Not in turns with what decodes thousands of orders: whoever comes next
      // would pay for what that leaves behind.
      ...(await runInTurns<unknown>(
        [
          { name: SIMULATION, run: async () => await simulate(vault) },
          {
            name: PLAIN_CALL,
            run: async () => {
              await live.provider.request({
                method: "eth_call",
                params: [{ from, to: addresses["vault"], data }, "latest"],
              });
            },
          },
        ],
        rounds * ROUNDS_EACH * 2,
      )),
      ...(await runInTurns<unknown>(
        [
          {
            name: BY_CALL,
            run: async () => await simulate(vault, { engine: "call" }),
          },
          {
            name: WITH_ORDERS,
            run: async () => await simulate(vault, { orders }),
          },
        ],
        rounds * ROUNDS_EACH,
      )),
    };
    const counted = (await hre.network.create("counted")).vault.at(addresses);
    await simulate(counted, { as: from });
    const first = counter.requests.length;
    counter.requests.length = 0;
    await simulate(counted, { as: from });
    const distant = (await hre.network.create("far")).vault.at(addresses);
    const apart = await runInTurns<unknown>(
      [
        { name: SIMULATION, run: async () => await simulate(distant) },
        {
          name: OURS,
          run: async () => await simulate(distant, { engine: "fork" }),
        },
      ],
      Math.min(rounds, 2),
    );
    const medianOf = (
      all: Readonly<Record<string, readonly number[]>>,
      name: string,
    ): number => median(all[name] ?? []);
    return [
      {
        title: "One simulation in one request, anvil",
        rows: [SIMULATION, PLAIN_CALL, BY_CALL, WITH_ORDERS].map(
          (contestant) => ({
            contestant,
            "median ms": round(medianOf(times, contestant)),
          }),
        ),
        targets: [
          target(
            "simulateSettleAll() against one plain eth_call",
            medianRatio(times[SIMULATION] ?? [], times[PLAIN_CALL] ?? []),
            "at most",
            4,
            "times",
          ),
          target(
            "requests of the first on a connection, its sender known",
            first,
            "at most",
            4,
            "requests",
          ),
          target(
            "requests of those after it",
            counter.requests.length,
            "at most",
            3,
            "requests",
          ),
          target(
            `${WATCHED_ORDERS} orders watched before and after`,
            medianOf(times, WITH_ORDERS),
            "at most",
            600,
            "ms",
          ),
        ],
      },
      {
        title: `One simulation, ${LATENCY_MS} ms from the node`,
        rows: [SIMULATION, OURS].map((contestant) => ({
          contestant,
          "median ms": round(medianOf(apart, contestant)),
        })),
        targets: [
          target(
            `simulateSettleAll() with ${LATENCY_MS} ms of latency`,
            medianOf(apart, SIMULATION),
            "at most",
            250,
            "ms",
          ),
          target(
            "the fork against it",
            medianRatio(apart[OURS] ?? [], apart[SIMULATION] ?? []),
            "at least",
            20,
            "times",
          ),
        ],
      },
    ];
  } finally {
    await live.close();
    await far.stop();
    await counter.stop();
    await node.stop();
  }
}

/**
 * A simulated settlement on a fork, beside a script that forks the same block,
 * sends the same transaction and reports as much: every reading and the balances
 * of all contracts, on the chain before and on the fork after. Neither has the
 * twenty development accounts that a fork has unless told otherwise.
 */
export async function benchSimulateOnFork({
  rounds,
}: Extent): Promise<Section> {
  const node = await startAnvil();
  const hre = await createTestHre({
    chainDescriptors: {
      [CHAIN_ID]: {
        name: "anvil",
        chainType: "generic",
        hardforkHistory: { osaka: { blockNumber: 0 } },
      },
    },
    networks: {
      live: httpNetwork(node.url),
      scriptFork: { type: "edr-simulated", chainId: CHAIN_ID },
    },
  });
  const connection = await hre.network.create("live");
  try {
    await connection.vault.deployMocks({ scenario: "open-round" });
    const { vault } = connection;
    const { address: to } = await vault.addressOf("vault");
    const [from = ""] = (await connection.ethers.getSigners()).map(
      ({ address }) => address,
    );
    const reads = await readsOf(vault);
    const times = await runInTurns(
      [
        {
          name: OURS,
          run: async () => await simulate(vault, { engine: "fork" }),
        },
        {
          name: SCRIPT,
          run: async () =>
            await runScript(hre, { url: node.url, from, to, reads }),
        },
      ],
      rounds * ROUNDS_EACH,
    );
    return {
      title: "One simulated settlement on a fork, anvil",
      rows: [OURS, SCRIPT].map((contestant) => ({
        contestant,
        "median ms": round(median(times[contestant] ?? [])),
      })),
      targets: [
        target(
          "simulateSettleAll() against a script that reports as much",
          medianRatio(times[OURS] ?? [], times[SCRIPT] ?? []),
          "at most",
          1.15,
          "times",
        ),
      ],
    };
  } finally {
    await connection.close();
    await node.stop();
  }
}

async function simulate(
  vault: HardhatVault,
  options: SimulateSettleAllOptions = {},
): Promise<void> {
  const { status } = await vault.simulateSettleAll(options);
  if (status !== "settled") {
    throw new Error(`the simulation ended as ${status}`);
  }
}

/** One request of a script, without its block. */
interface Read {
  readonly method: string;
  readonly target: unknown;
}

/** What a simulation reads, a request each. */
async function readsOf(vault: HardhatVault): Promise<readonly Read[]> {
  const readings = await Promise.all(
    standaloneQueries.map(async ({ operation, args }) => {
      const { role, data } = encodeCall(operation, args);
      const { address: to } = await vault.addressOf(role);
      return { method: "eth_call", target: { to, data } };
    }),
  );
  const balances = await Promise.all(
    contractRoleNames.map(async (role) => ({
      method: "eth_getBalance",
      target: (await vault.addressOf(role)).address,
    })),
  );
  return [...readings, ...balances];
}

async function runScript(
  hre: HardhatRuntimeEnvironment,
  {
    url,
    from,
    to,
    reads,
  }: {
    url: string;
    from: string;
    to: string;
    reads: readonly Read[];
  },
): Promise<void> {
  const live = await hre.network.getOrCreate("live");
  const blockNumber: unknown = await live.provider.request({
    method: "eth_blockNumber",
  });
  const readAll = async (
    provider: typeof live.provider,
    block: unknown,
  ): Promise<void> => {
    await Promise.all(
      reads.map(async ({ method, target: subject }) => {
        await provider.request({ method, params: [subject, block] });
      }),
    );
  };
  await readAll(live.provider, blockNumber);
  const fork = await hre.network.create({
    network: "scriptFork",
    override: {
      accounts: [],
      forking: { url, blockNumber: Number(blockNumber) },
    },
  });
  const send = async (
    method: string,
    ...params: unknown[]
  ): Promise<unknown> => {
    const answer: unknown = await fork.provider.request({ method, params });
    return answer;
  };
  await send("hardhat_impersonateAccount", from);
  const hash = await send("eth_sendTransaction", {
    from,
    to,
    data: "0xa015aefe",
    gas: "0xf4240",
  });
  const receipt = await send("eth_getTransactionReceipt", hash);
  await readAll(fork.provider, "latest");
  await fork.close();
  if (
    typeof receipt !== "object" ||
    receipt === null ||
    !("status" in receipt) ||
    receipt.status !== "0x1"
  ) {
    throw new Error("the script's settlement failed");
  }
}
