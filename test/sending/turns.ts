import { expect } from "chai";

import { createTestHre, hreOnLive } from "../helpers/hre.js";
import { startAnvil } from "../helpers/anvil.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import { fieldsOf } from "../helpers/fields.js";
import { runTyped } from "../helpers/run-vault-task.js";
import { openMocks } from "../helpers/world.js";

describe("settlements of one account at once", () => {
  it("settle each of two instances in process", async () => {
    const hre = await createTestHre({
      networks: {
        default: { type: "edr-simulated", vault: { instances: { usdc: {} } } },
      },
    });
    const connection = await hre.network.create();
    const { vault } = connection;
    const all = [vault, vault.instance("usdc")];
    for (const one of all) {
      await one.deployMocks({ overrides: openMocks });
    }
    const ends = await Promise.all(
      all.map(async (one) => await one.settleAll()),
    );
    await connection.close();
    expect(ends.map(({ status, reason }) => [status, reason])).to.deep.equal([
      ["settled", null],
      ["settled", null],
    ]);
  });

  it("settle each of two instances on a node, and one of them once", async () => {
    const node = await startAnvil();
    const project = await useFixtureProject("plain");
    try {
      const hre = await hreOnLive(
        node.url,
        { vault: { instances: { usdc: {} } } },
        project.path,
      );
      for (const instance of ["", " --instance usdc"]) {
        const typed = `deploy-mocks --scenario expired-round${instance}`;
        const { stdout } = await runTyped(hre, `${typed} --json`);
        expect(fieldsOf(JSON.parse(stdout))).to.have.property("contracts");
      }
      const { vault } = await hre.network.create("live");
      const ends = await Promise.all(
        [vault, vault.instance("usdc"), vault].map(
          async (one) => await one.settleAll({ pollingInterval: 20 }),
        ),
      );
      expect(
        // Either of the two of one vault may be the first.
        ends.map(({ status }) => status).toSorted(),
        ends.map(({ reason }) => reason).join(),
      ).to.deep.equal(["nothing-to-do", "settled", "settled"]);
    } finally {
      await project.remove();
      await node.stop();
    }
  });
});
