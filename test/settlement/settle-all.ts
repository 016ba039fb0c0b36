import { readFile, stat } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import { Wallet } from "ethers";
import type { HttpNetworkUserConfig } from "hardhat/types/config";

import type { HardhatVault } from "../../src/connection/hardhat-vault.js";
import type { SettlementEvent } from "../../src/settlement/settle-all.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { startHardhatNode } from "../helpers/hardhat-node.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import {
  DEV_KEYS,
  DEV_MNEMONIC,
  SETTLED_AMOUNT,
  SETTLED_PRICE,
  createWorld,
} from "../helpers/settlement-world.js";
import type { SettlementWorld } from "../helpers/settlement-world.js";

const nodes: ReadonlyArray<
  readonly [name: string, start: () => Promise<ServerProcess>]
> = [
  ["anvil", async () => await startAnvil()],
  ["hardhat node", startHardhatNode],
];

const accountSettings: ReadonlyArray<
  readonly [
    name: string,
    accounts: NonNullable<HttpNetworkUserConfig["accounts"]>,
  ]
> = [
  ["an array of keys", [DEV_KEYS[0], DEV_KEYS[1]]],
  ["a mnemonic", { mnemonic: DEV_MNEMONIC }],
  ["remote accounts", "remote"],
];

for (const [nodeName, startNode] of nodes) {
  describe(`settleAll on ${nodeName}`, () => {
    let node: ServerProcess;
    let world: SettlementWorld;
    let restore: () => Promise<void>;
    let project: FixtureProject;

    before(async () => {
      node = await startNode();
      world = await createWorld(node.url);
      restore = await world.checkpoint();
    });
    beforeEach(async () => {
      project = await useFixtureProject("plain");
    });
    afterEach(async () => {
      await restore();
      await project.remove();
    });
    after(async () => {
      world.close();
      await node.stop();
    });

    const connect = async (
      settings: Partial<HttpNetworkUserConfig>,
    ): Promise<HardhatVault> => {
      const hre = await createTestHre(
        {
          networks: {
            live: httpNetwork(node.url, {
              vault: { contracts: world.contracts },
              ...settings,
            }),
          },
        },
        { projectRoot: project.path },
      );
      return (await hre.network.create("live")).vault;
    };

    for (const [name, accounts] of accountSettings) {
      it(`should settle the round with ${name}`, async () => {
        const vault = await connect({ accounts });
        const events: SettlementEvent[] = [];

        const settlement = await vault.settleAll({
          onEvent: (event) => events.push(event),
        });

        const { before, after, ...outcome } = settlement;
        expect(outcome).to.deep.equal({
          status: "settled",
          reason: null,
          hash: outcome.hash,
          blockNumber: await world.provider.getBlockNumber(),
          gasUsed: (
            await world.provider.getTransactionReceipt(outcome.hash ?? "")
          )?.gasUsed,
        });
        expect(before).to.include({ settled: false, settledPrice: 0n });
        expect(after).to.include({
          settled: true,
          settledPrice: SETTLED_PRICE,
          settledAmount: SETTLED_AMOUNT,
        });
        expect(await world.settlers()).to.deep.equal([
          new Wallet(DEV_KEYS[0]).address,
        ]);
        expect(events.map(({ type }) => type)).to.include.members([
          "preflight",
          "sending",
          "mined",
        ]);
        await vault.connection.close();
      });

      it(`should settle with the second of ${name}`, async () => {
        const { address } = new Wallet(DEV_KEYS[1]);
        const vault = await connect({ accounts });

        const { status } = await vault.settleAll({ from: address });

        expect(status).to.equal("settled");
        expect(await world.settlers()).to.deep.equal([address]);
        await vault.connection.close();
      });
    }

    it("should have nothing to do once the round is settled", async () => {
      const vault = await connect({ accounts: [DEV_KEYS[0]] });
      await world.settleByOther();

      const settlement = await vault.settleAll();

      expect(settlement).to.include({ status: "nothing-to-do", hash: null });
      expect(settlement.before).to.include({ settled: true });
      await vault.connection.close();
    });

    it("should leave a finished journal that only its owner reads", async () => {
      const vault = await connect({ accounts: [DEV_KEYS[0]] });
      const { hash } = await vault.settleAll();

      const file = path.join(
        project.path,
        "vault-deployments",
        `settlement-31337-${world.contracts.vault.toLowerCase()}.json`,
      );
      const text = await readFile(file, "utf8");
      expect(JSON.parse(text)).to.deep.include({ finished: true });
      expect(text).to.include(hash);
      expect(text).not.to.include(DEV_KEYS[0].slice(2));
      expect((await stat(file)).mode & 0o777).to.equal(0o600);
      await vault.connection.close();
    });
  });
}
