import { inspect } from "node:util";

import { assert, expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NetworkConnection } from "hardhat/types/network";

import { VaultClient } from "../../src/client/index.js";
import type { MockVaultHandle } from "../../src/types.js";
import {
  ORDER_ID,
  distinctState,
  expectedReads,
} from "../helpers/distinct-state.js";
import { differentNodes } from "../helpers/every-node.js";
import type { TestNode } from "../helpers/every-node.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { createTestHre, hreOnLive } from "../helpers/hre.js";

for (const { name, start } of differentNodes) {
  describe(`every operation on ${name}`, () => {
    let node: TestNode;
    let hre: HardhatRuntimeEnvironment;
    let connection: NetworkConnection;
    let mocks: MockVaultHandle;

    before(async () => {
      node = await start();
      hre = await (node.url === undefined
        ? createTestHre()
        : hreOnLive(node.url));
      connection = await hre.network.getOrCreate();
      mocks = await connection.vault.deployMocks({ overrides: distinctState });
    });
    after(async () => {
      await connection.close();
      await node.stop();
    });

    it("connection.vault, hre.vault and a VaultClient without Hardhat read every value", async () => {
      const provider =
        node.url === undefined ? connection.provider : fetchProvider(node.url);
      for (const client of [
        connection.vault,
        hre.vault,
        new VaultClient(provider, mocks.addresses),
      ]) {
        for (const { operation, args, expected } of expectedReads) {
          const method: unknown = Reflect.get(client, operation);
          assert(typeof method === "function");
          const value: unknown = await Reflect.apply(method, client, args);
          expect(value, `${operation}(${inspect(args)})`).to.deep.equal(
            expected,
          );
        }
      }
    });

    it("the typed contracts read the same values", async () => {
      for (const contracts of [
        connection.vault.contracts,
        await hre.vault.contracts,
      ]) {
        const read = await contracts.trading.getOrderInfo(ORDER_ID);
        expect(read.state).to.equal(255n);
        expect(await contracts.vaultFactory.minSLDMargin()).to.equal(46n);
      }
    });
  });
}
