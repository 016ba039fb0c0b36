import { setImmediate } from "node:timers/promises";

import { expect } from "chai";

import { deployGuard } from "../../src/settlement/deploy-guard.js";
import type { SettlementResult } from "../../src/settlement/effect.js";
import { createTestHre, hreOnLive } from "../helpers/hre.js";
import { startAnvil } from "../helpers/anvil.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import { fieldsOf } from "../helpers/fields.js";
import { useKeeper } from "../helpers/keeper.js";
import { NOBODY, SECOND } from "../helpers/names.js";
import { runTyped } from "../helpers/run-vault-task.js";
import { SETTLER } from "../helpers/scripted-contracts.js";
import { openMocks } from "../helpers/world.js";

describe("what one account sends at once", () => {
  const keeper = useKeeper();

  it("wait for the end of one that is resumed", async () => {
    await keeper.interrupt();
    const host = keeper.host();
    let other: SettlementResult | undefined;
    let settling: Promise<void> | undefined;
    const settle = async (): Promise<void> => {
      other = await keeper.end({}, host);
    };
    const { senders } = host.rpc.node;
    // Until the other one waits for its turn, or has ended without one.
    keeper.beforeSending(async () => {
      while (
        other === undefined &&
        senders.get(SETTLER.toLowerCase())?.pendingCount !== 1
      ) {
        await setImmediate();
      }
    });
    const resumed = await keeper.end(
      {
        resume: true,
        onEvent: ({ type }) => {
          if (type === "resuming") {
            settling = settle();
          }
        },
      },
      host,
    );
    await settling;
    const ends = [resumed, other];
    expect(ends.map((end) => end?.settlement.status)).to.deep.equal([
      ...["settled", "nothing-to-do"],
    ]);
  });

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

  it("let guards wait for a settlement, whose listener scripts mocks, on a chain that makes blocks in intervals", async () => {
    const node = await startAnvil({ args: ["--block-time", "1"] });
    const project = await useFixtureProject("plain");
    try {
      const hre = await hreOnLive(node.url, {}, project.path);
      const { vault } = await hre.network.create("live");
      const mocks = await vault.deployMocks({ scenario: "expired-round" });
      const guardFor = async (settler: string) =>
        await deployGuard(vault, { settler, onHash: () => undefined });
      const [settlement, ...guards] = await Promise.all([
        vault.settleAll({
          confirm: async () => {
            await mocks.set({ volume: 5n });
            return true;
          },
        }),
        guardFor(NOBODY),
        guardFor(SECOND),
      ]);
      expect(settlement, settlement.reason ?? "").to.include({
        status: "settled",
      });
      expect(await vault.queryVolume()).to.equal(5n);
      expect(guards.map(({ settler }) => settler)).to.deep.equal([
        NOBODY,
        SECOND,
      ]);
    } finally {
      await project.remove();
      await node.stop();
    }
  });
});
