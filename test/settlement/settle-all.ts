import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";

import { expect } from "chai";
import { Wallet } from "ethers";
import type { HttpNetworkUserConfig } from "hardhat/types/config";

import type { SettlementEvent } from "../../src/settlement/types.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { startHardhatNode } from "../helpers/hardhat-node.js";
import { openLaneWithNode } from "../helpers/settlement-lane.js";
import type { LaneWithNode } from "../helpers/settlement-lane.js";
import {
  DEV_KEYS,
  DEV_MNEMONIC,
  SETTLED_AMOUNT,
  SETTLED_PRICE,
} from "../helpers/world.js";
import type { SettlementWorld } from "../helpers/world.js";

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
    let lane: LaneWithNode;
    let world: SettlementWorld;
    let restore: () => Promise<void>;

    before(async () => {
      lane = await openLaneWithNode(startNode);
      ({ world } = lane);
      restore = await world.checkpoint();
    });
    beforeEach(async () => {
      lane.server.reset();
      await lane.removeJournals();
    });
    afterEach(async () => {
      await restore();
    });
    after(async () => {
      await lane.close();
    });

    for (const [name, accounts] of accountSettings) {
      it(`should settle the round with ${name}`, async () => {
        const vault = await lane.connect({ accounts });
        const events: SettlementEvent[] = [];

        const settlement = await vault.settleAll({
          onEvent: (event) => events.push(event),
        });

        const { before, after, preview, ...outcome } = settlement;
        expect(outcome).to.deep.equal({
          status: "settled",
          code: null,
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
        expect(preview).to.deep.include({
          status: "settled",
          engine: nodeName === "anvil" ? "simulateV1" : "fork",
          differences: [],
        });
        expect(
          preview?.changes.map(({ reading, field }) => `${reading}.${field}`),
        ).to.include.members([
          "round.settledPrice",
          "round.settledAmount",
          "round.settled",
        ]);
        expect(await world.settlers()).to.deep.equal([
          new Wallet(DEV_KEYS[0]).address,
        ]);
        expect(events.map(({ type }) => type)).to.include.members([
          "preflight",
          "sending",
          "mined",
        ]);
      });
    }

    for (const accounts of [[DEV_KEYS[0]], "remote"] as const) {
      const name = accounts === "remote" ? "the node" : "a key";
      it(`should report what was mined and reverted, sent by ${name}`, async () => {
        const vault = await lane.connect({
          accounts: accounts === "remote" ? accounts : [...accounts],
        });
        for (const method of [
          "eth_sendRawTransaction",
          "eth_sendTransaction",
        ]) {
          lane.server.before({ method, occurrence: 0 }, async () => {
            await world.settleByOther();
          });
        }

        const settlement = await vault.settleAll({ pollingInterval: 50 });

        expect(settlement, settlement.reason ?? "").to.include({
          status: "reverted",
          blockNumber: await world.provider.getBlockNumber(),
        });
        expect(settlement.reason).to.include("RoundAlreadySettled(");
        const receipt = await world.provider.getTransactionReceipt(
          settlement.hash ?? "",
        );
        expect(receipt?.status).to.equal(0);
        expect(settlement.gasUsed).to.equal(receipt?.gasUsed);
        expect(settlement.after?.settled).to.equal(true);
      });
    }

    it("should leave a finished journal that only its owner reads", async () => {
      const vault = await lane.connect({ accounts: [DEV_KEYS[0]] });
      const { hash } = await vault.settleAll();

      const text = await readFile(lane.finishedJournal, "utf8");
      expect(existsSync(lane.journal)).to.equal(false);
      expect(text).to.include(hash);
      expect(text).not.to.include(DEV_KEYS[0].slice(2));
      expect((await stat(lane.finishedJournal)).mode & 0o777).to.equal(0o600);
    });
  });
}
