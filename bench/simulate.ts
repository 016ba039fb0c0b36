import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { encodeCall } from "../src/client/codec.js";
import {
  contractRoleNames,
  standaloneReadings,
} from "../src/protocol/index.js";
import type { HardhatVault } from "../src/types.js";
import { startAnvil } from "../test/helpers/anvil.js";
import { createTestHre, httpNetwork } from "../test/helpers/hre.js";
import { median, medianRatio, round, runInTurns, target } from "./measure.js";
import type { Extent, Section } from "./measure.js";

/** Of anvil, and by chance of `hardhat node`: no table has its hardforks. */
const CHAIN_ID = 31_337;

const OURS = "simulateSettleAll()";
const SCRIPT = "hand-written script";
const BARE_SCRIPT = "the same without accounts";
const FULL_SCRIPT = "that one with all readings";

/** A fork takes a tenth of a second: single rounds say little. */
const ROUNDS_EACH = 4;

/**
 * A simulated settlement, with every reading and balance before and after, and
 * a script that forks the same block as Hardhat's documentation shows, sends
 * the same transaction and looks at its receipt alone.
 *
 * Most of a script's time goes into the twenty development accounts that a fork
 * has unless told otherwise; the simulation needs none of them. A script that
 * leaves them out as well is the third contestant, without a target. The fourth
 * also reports what the simulation does: every reading and the balances of all
 * contracts, on the chain before and on the fork after.
 */
export async function benchSimulate({ rounds }: Extent): Promise<Section> {
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
        { name: OURS, run: async () => await simulate(vault) },
        {
          name: SCRIPT,
          run: async () => await runScript(hre, { url: node.url, from, to }),
        },
        {
          name: BARE_SCRIPT,
          run: async () =>
            await runScript(hre, { url: node.url, from, to, accounts: [] }),
        },
        {
          name: FULL_SCRIPT,
          run: async () =>
            await runScript(hre, {
              url: node.url,
              from,
              to,
              accounts: [],
              reads,
            }),
        },
      ],
      rounds * ROUNDS_EACH,
    );
    const ours = times[OURS] ?? [];
    const script = times[SCRIPT] ?? [];
    return {
      title: "One simulated settlement, anvil",
      rows: [OURS, SCRIPT, BARE_SCRIPT, FULL_SCRIPT].map((contestant) => ({
        contestant,
        "median ms": round(median(times[contestant] ?? [])),
      })),
      targets: [
        target(
          "simulateSettleAll() against a hand-written script",
          medianRatio(ours, script),
          "at most",
          1.5,
          "times",
        ),
        target(
          "simulateSettleAll() against a script that reports as much",
          medianRatio(ours, times[FULL_SCRIPT] ?? []),
          "at most",
          1.5,
          "times",
        ),
      ],
    };
  } finally {
    await connection.close();
    await node.stop();
  }
}

async function simulate(vault: HardhatVault): Promise<void> {
  const { status } = await vault.simulateSettleAll();
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
    standaloneReadings.map(async ({ operation, args }) => {
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
    reads = [],
    ...accounts
  }: {
    url: string;
    from: string;
    to: string;
    reads?: readonly Read[];
    accounts?: [];
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
      ...accounts,
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
