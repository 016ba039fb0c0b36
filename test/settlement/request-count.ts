import { expect } from "chai";
import { JsonRpcProvider, Wallet } from "ethers";

import { Vault__factory } from "../../src/bindings/factories/Vault__factory.js";
import { runHardhat } from "../helpers/cli.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { openLaneWithNode } from "../helpers/settlement-lane.js";
import type { LaneWithNode } from "../helpers/settlement-lane.js";
import { DEV_KEYS } from "../helpers/world.js";

/** What preflight, journal and checks may cost beyond a bare transaction. */
const ALLOWANCE = 6;

describe("how many requests a settlement makes", () => {
  let lane: LaneWithNode;

  before(async () => {
    lane = await openLaneWithNode();
  });
  after(async () => {
    await lane.close();
  });

  for (const [name, accounts, most] of [
    ["a key here", [DEV_KEYS[0]], 13],
    ["a key on the node", "remote", 15],
  ] as const) {
    it(`should be at most ${ALLOWANCE} more than ethers makes, with ${name}`, async () => {
      await lane.world.openNextRound();
      const theirs = await countOfEthers(accounts !== "remote");
      await lane.world.openNextRound();
      lane.server.reset();
      for (const method of ["eth_sendRawTransaction", "eth_sendTransaction"]) {
        // Mined when it is answered: how often one looks until then is chance.
        lane.server.afterwards({ method, occurrence: 0 }, async () => {
          await lane.world.mine();
        });
      }
      const { stderr, exitCode } = await runHardhat(
        ["vault", "settle", "--yes", "--json", "--network", "test"],
        {
          cwd: lane.project.path,
          env: {
            TEST_URL: lane.server.url,
            TEST_VAULT: JSON.stringify({ contracts: lane.world.contracts }),
            TEST_NETWORK: JSON.stringify({ accounts }),
          },
        },
      );

      const ours = lane.server.requests.map(({ method }) => method);
      process.stdout.write(
        `    vault settle --yes with ${name}: ${ours.length}, ethers: ${theirs}\n`,
      );
      expect(exitCode, stderr).to.equal(0);
      expect(ours.length, ours.join(" ")).to.be.at.most(
        Math.min(most, theirs + ALLOWANCE),
      );
    });
  }

  async function countOfEthers(isLocal: boolean): Promise<number> {
    const server = await startRpcServer({ upstream: lane.node.url });
    const provider = new JsonRpcProvider(server.url, undefined, {
      batchMaxCount: 1,
    });
    await (
      await Vault__factory.connect(
        lane.world.contracts.vault,
        isLocal
          ? new Wallet(DEV_KEYS[0], provider)
          : await provider.getSigner(0),
      ).settleAll()
    ).wait();
    provider.destroy();
    await server.stop();
    return server.requests.length;
  }
});
