import { JsonRpcProvider, Wallet } from "ethers";
import type { ContractRunner } from "ethers";

import { Vault__factory } from "../src/bindings/factories/Vault__factory.js";
import { startAnvil } from "../test/helpers/anvil.js";
import { runHardhat } from "../test/helpers/cli.js";
import { useFixtureProject } from "../test/helpers/fixture-project.js";
import { startRpcServer } from "../test/helpers/rpc-server.js";
import { openLane } from "../test/helpers/settlement-lane.js";
import { DEV_KEYS } from "../test/helpers/settlement-world.js";
import { target } from "./measure.js";
import type { Section } from "./measure.js";

/** The most that `vault settle --yes` may ask beyond what ethers asks. */
const ALLOWED_MORE = 6;

/**
 * Counts the requests of `vault settle --yes`, of ethers and of hardhat-ethers
 * for the same transaction, on anvil. A count, not a time: one run is enough.
 */
export async function benchSettle(): Promise<Section> {
  const node = await startAnvil();
  const project = await useFixtureProject("plain");
  const lane = await openLane({ node: node.url, projectRoot: project.path });
  try {
    const local = {
      "vault settle --yes": await count(viaTask([DEV_KEYS[0]])),
      ethers: await count(viaEthers(true)),
      "hardhat-ethers": await count(viaHardhat([DEV_KEYS[0]])),
    };
    // Here ethers leaves fees, nonce and signature to the node.
    const remote = {
      "vault settle --yes": await count(viaTask("remote")),
      ethers: await count(viaEthers(false)),
      "hardhat-ethers": await count(viaHardhat("remote")),
    };
    return {
      title: "Requests of one settlement, anvil",
      rows: [
        { signer: "key here", ...local },
        { signer: "key on the node", ...remote },
      ],
      targets: [
        target(
          "vault settle --yes beyond ethers, key here",
          local["vault settle --yes"] - local.ethers,
          "at most",
          ALLOWED_MORE,
          "requests",
        ),
        target(
          "vault settle --yes beyond ethers, key on the node",
          remote["vault settle --yes"] - remote.ethers,
          "at most",
          ALLOWED_MORE,
          "requests",
        ),
      ],
    };
  } finally {
    await lane.close();
    await project.remove();
    await node.stop();
  }

  async function count(
    settle: (url: string) => Promise<void>,
  ): Promise<number> {
    await lane.world.openNextRound();
    const server = await startRpcServer({ upstream: node.url });
    await settle(server.url);
    await server.stop();
    if (!(await lane.world.round()).settled) {
      throw new Error("the round was not settled");
    }
    return server.requests.length;
  }

  function viaTask(
    accounts: readonly string[] | "remote",
  ): (url: string) => Promise<void> {
    return async (url) => {
      const { exitCode, stderr } = await runHardhat(
        ["vault", "settle", "--yes", "--json", "--network", "test"],
        {
          cwd: project.path,
          env: {
            TEST_URL: url,
            TEST_VAULT: JSON.stringify({ contracts: lane.world.contracts }),
            TEST_NETWORK: JSON.stringify({ accounts }),
          },
        },
      );
      if (exitCode !== 0) {
        throw new Error(stderr);
      }
    };
  }

  function viaEthers(isLocal: boolean): (url: string) => Promise<void> {
    return async (url) => {
      const provider = new JsonRpcProvider(url, undefined, {
        batchMaxCount: 1,
      });
      await settleWith(
        isLocal
          ? new Wallet(DEV_KEYS[0], provider)
          : await provider.getSigner(0),
      );
      provider.destroy();
    };
  }

  function viaHardhat(
    accounts: readonly string[] | "remote",
  ): (url: string) => Promise<void> {
    return async (url) => {
      const { connection } = await lane.connect({
        url,
        accounts: accounts === "remote" ? accounts : [...accounts],
      });
      const [signer] = await connection.ethers.getSigners();
      await settleWith(signer);
    };
  }

  async function settleWith(runner: ContractRunner | undefined): Promise<void> {
    const vault = Vault__factory.connect(lane.world.contracts.vault, runner);
    await (await vault.settleAll()).wait();
  }
}
