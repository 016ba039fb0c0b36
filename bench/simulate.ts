import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { encodeCall } from "../src/client/codec.js";
import { contractRoleNames, standaloneQueries } from "../src/protocol/index.js";
import type { HardhatVault, SimulateSettleAllOptions } from "../src/types.js";
import { connectTo } from "../test/helpers/hre.js";
import { startRpcServer } from "../test/helpers/rpc-server.js";
import type { RecordedRequest } from "../test/helpers/rpc-server.js";
import { ratios, runInTurns } from "./measure.js";
import type { Extent, Figure } from "./measure.js";
import { onAnvil } from "./on-anvil.js";
import type { Contracts, World } from "./worlds.js";

/** Of anvil, and by chance of `hardhat node`: no table has its hardforks. */
const CHAIN_ID = 31_337;

/** A simulation takes milliseconds: single rounds say little. */
const ROUNDS_ON_NODE = 40;
/** A fork takes a tenth of a second. */
const ROUNDS_ON_FORK = 4;

/** A simulation reads none of them. */
const ORDERS = 40;

const SIMULATION = "simulateSettleAll()";
const REQUESTS = "the requests of simulateSettleAll(), alone";
const PLAIN_CALL = "a plain call";
const ON_FORK = "simulateSettleAll(), on a fork";
const SCRIPT = "a script that reports as much";

/**
 * A simulated settlement, with every reading and balance before and after and what moves
 * between accounts, beside its requests alone and a plain call.
 */
export async function benchSimulateOnNode(
  { rounds }: Extent,
  { deploy }: World,
): Promise<readonly Figure[]> {
  return await onAnvil(async ({ url, connection }) => {
    const addresses = await deploy(connection.vault, ORDERS);
    const vault = connection.vault.at(addresses);
    const [signer] = await connection.ethers.getSigners();
    const from = signer?.address;
    const { data } = encodeCall("queryVolume", []);
    const waves = await wavesOf(url, addresses, from);
    const { provider } = connection;
    const times = await runInTurns(
      {
        [SIMULATION]: async () => {
          await simulate(vault);
        },
        [REQUESTS]: async () => {
          for (const requests of waves) {
            await Promise.all(
              requests.map(async ({ method, params }) => {
                await provider.request({ method, params: [...params] });
              }),
            );
          }
        },
        [PLAIN_CALL]: async (): Promise<unknown> =>
          await provider.request({
            method: "eth_call",
            params: [{ from, to: addresses.vault, data }, "latest"],
          }),
      },
      rounds * ROUNDS_ON_NODE,
    );
    return [
      { name: `${SIMULATION}: ms`, values: times[SIMULATION] },
      {
        name: `${SIMULATION}: times a plain call`,
        values: ratios(times[SIMULATION], times[PLAIN_CALL]),
        goal: { demand: "at most", limit: 4.5 },
      },
      {
        name: `${REQUESTS}: times a plain call`,
        values: ratios(times[REQUESTS], times[PLAIN_CALL]),
      },
      {
        name: "the second simulation of a connection: requests",
        values: [waves.flat().length],
        goal: { demand: "at most", limit: 4 },
      },
    ];
  });
}

/**
 * Records the second simulation on a connection of its own.
 *
 * @returns The requests that were made at the same time, one list after the other.
 */
async function wavesOf(
  upstream: string,
  addresses: Contracts,
  from: string | undefined,
): Promise<ReadonlyArray<readonly RecordedRequest[]>> {
  const server = await startRpcServer({ upstream });
  try {
    const connection = await connectTo(server.url);
    const vault = connection.vault.at(addresses);
    await simulate(vault, { from });
    const first = server.httpRequests.length;
    await simulate(vault, { from });
    const waves = Map.groupBy(
      server.httpRequests.slice(first),
      ({ wave }) => wave,
    );
    return [...waves.values()].map((requests) =>
      requests.flatMap(({ calls }) => calls),
    );
  } finally {
    await server.stop();
  }
}

/**
 * A simulated settlement on a fork, beside a script that forks the same block,
 * sends the same transaction and reports as much: every reading and the balances
 * of all contracts, on the chain before and on the fork after. Neither has the
 * twenty development accounts that a fork has unless told otherwise.
 */
export async function benchSimulateOnFork(
  { rounds }: Extent,
  { deploy }: World,
): Promise<readonly Figure[]> {
  return await onAnvil(
    async ({ url, hre, connection }) => {
      const vault = connection.vault.at(await deploy(connection.vault, ORDERS));
      const { address: to } = await vault.addressOf("vault");
      const [signer] = await connection.ethers.getSigners();
      const from = signer?.address ?? "";
      const reads = await readsOf(vault);
      const times = await runInTurns(
        {
          [ON_FORK]: async () => {
            await simulate(vault, { engine: "fork" });
          },
          [SCRIPT]: async () => {
            await runScript(hre, { url, from, to, reads });
          },
        },
        rounds * ROUNDS_ON_FORK,
      );
      return [
        { name: `${ON_FORK}: ms`, values: times[ON_FORK] },
        {
          name: `${ON_FORK}: times a script that reports as much`,
          values: ratios(times[ON_FORK], times[SCRIPT]),
        },
      ];
    },
    {
      chainDescriptors: {
        [CHAIN_ID]: {
          name: "anvil",
          chainType: "generic",
          hardforkHistory: { osaka: { blockNumber: 0 } },
        },
      },
      networks: { scriptFork: { type: "edr-simulated", chainId: CHAIN_ID } },
    },
  );
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

/** Reads the values of a simulation, one request each. */
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
