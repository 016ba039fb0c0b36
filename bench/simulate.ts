import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

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

/** A fork takes a tenth of a second: single rounds say little. */
const ROUNDS_EACH = 4;

/**
 * A simulated settlement, with every reading and balance before and after, and
 * a script that forks the same block as Hardhat's documentation shows, sends
 * the same transaction and looks at its receipt alone.
 *
 * Most of a script's time goes into the twenty development accounts that a fork
 * has unless told otherwise; the simulation needs none of them. A script that
 * leaves them out as well is the third contestant, without a target.
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
      ],
      rounds * ROUNDS_EACH,
    );
    const ours = times[OURS] ?? [];
    const script = times[SCRIPT] ?? [];
    return {
      title: "One simulated settlement, anvil",
      rows: [OURS, SCRIPT, BARE_SCRIPT].map((contestant) => ({
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

async function runScript(
  hre: HardhatRuntimeEnvironment,
  {
    url,
    from,
    to,
    ...accounts
  }: { url: string; from: string; to: string; accounts?: [] },
): Promise<void> {
  const live = await hre.network.getOrCreate("live");
  const blockNumber: unknown = await live.provider.request({
    method: "eth_blockNumber",
  });
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
