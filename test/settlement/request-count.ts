import { expect } from "chai";
import { JsonRpcProvider, Wallet } from "ethers";

import { Vault__factory } from "../../src/bindings/factories/Vault__factory.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { runHardhat } from "../helpers/cli.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { openLane } from "../helpers/settlement-lane.js";
import type { SettlementLane } from "../helpers/settlement-lane.js";
import { DEV_KEYS } from "../helpers/settlement-world.js";

/** What preflight, journal and checks may cost beyond a bare transaction. */
const ALLOWANCE = 6;

describe("how many requests a settlement makes", () => {
  let node: ServerProcess;
  let project: FixtureProject;
  let lane: SettlementLane;

  before(async () => {
    node = await startAnvil();
    project = await useFixtureProject("plain");
    lane = await openLane({ node: node.url, projectRoot: project.path });
  });
  after(async () => {
    await lane.close();
    await node.stop();
    await project.remove();
  });

  it(`should be at most ${ALLOWANCE} more than ethers makes`, async () => {
    const ethers = await startRpcServer({ upstream: node.url });
    const provider = new JsonRpcProvider(ethers.url, undefined, {
      batchMaxCount: 1,
    });
    await (
      await Vault__factory.connect(
        lane.world.contracts.vault,
        new Wallet(DEV_KEYS[0], provider),
      ).settleAll()
    ).wait();
    provider.destroy();
    await ethers.stop();

    await lane.world.openNextRound();
    lane.server.reset();
    const { stderr, exitCode } = await runHardhat(
      ["vault", "settle", "--yes", "--json", "--network", "test"],
      {
        cwd: project.path,
        env: {
          TEST_URL: lane.server.url,
          TEST_VAULT: JSON.stringify({ contracts: lane.world.contracts }),
          TEST_NETWORK: JSON.stringify({ accounts: [DEV_KEYS[0]] }),
        },
      },
    );

    const ours = lane.server.requests.map(({ method }) => method);
    process.stdout.write(
      `    vault settle --yes: ${ours.length}, ethers: ${ethers.requests.length}\n`,
    );
    expect(exitCode, stderr).to.equal(0);
    expect(ours.length, ours.join(" ")).to.be.at.most(
      ethers.requests.length + ALLOWANCE,
    );
  });
});
