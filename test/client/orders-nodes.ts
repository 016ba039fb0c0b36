import { expect } from "chai";

import {
  VaultClient,
  VaultError,
  isFailedOrder,
} from "../../src/client/index.js";
import type { Eip1193Provider } from "../../src/client/index.js";
import { startAnvil } from "../helpers/anvil.js";
import { everyNode } from "../helpers/every-node.js";
import { fieldsOf } from "../helpers/fields.js";
import { connectTo, createTestHre } from "../helpers/hre.js";
import {
  deployGeneratedOrders,
  deployHostileTrading,
} from "../helpers/trading.js";

const FIRST_ID = 1n;
const LAST_ID = 60n;

/** The order by a call of its own, or the code of the error. */
async function readAlone(client: VaultClient, id: bigint): Promise<unknown> {
  try {
    return { orderID: id, ...(await client.getOrderInfo(id)) };
  } catch (error) {
    return VaultError.isVaultError(error) ? [id, error.code] : error;
  }
}

/** A scan must say of each id what a call of its own says. */
async function expectSameAsAlone(client: VaultClient): Promise<void> {
  const scanned: unknown[] = [];
  for await (const order of client.orders({
    firstId: FIRST_ID,
    lastId: LAST_ID,
  })) {
    scanned.push(
      isFailedOrder(order) ? [order.orderID, order.error.code] : order,
    );
  }
  const alone: unknown[] = [];
  for (let id = FIRST_ID; id <= LAST_ID; ++id) {
    alone.push(await readAlone(client, id));
  }
  expect(scanned).to.deep.equal(alone);
}

describe("client - orders of a node", () => {
  for (const { name, start } of everyNode) {
    it(`orders() lists good and hostile orders of ${name} as single reads do`, async () => {
      const node = await start();
      try {
        const { provider } = await connectTo(node.url);
        const good = await deployGeneratedOrders(provider, 1n, 1_000_000n);
        const hostile = await deployHostileTrading(provider, good);
        for (const trading of [good, hostile]) {
          await expectSameAsAlone(new VaultClient(provider, { trading }));
        }
      } finally {
        await node.stop();
      }
    });
  }

  it("orders() lists good and hostile orders of a node with a gas cap of 3 million", async () => {
    const node = await startAnvil();
    try {
      const provider: Eip1193Provider = (await connectTo(node.url)).provider;
      const good = await deployGeneratedOrders(provider, 1n, 1_000_000n);
      const capped: Eip1193Provider = {
        request: async ({ method, params = [] }) => {
          const [call, ...rest] = params;
          const gas = { ...fieldsOf(call), gas: "0x2dc6c0" };
          return await provider.request({
            method,
            params: method === "eth_call" ? [gas, ...rest] : params,
          });
        },
      };
      for (const trading of [
        good,
        await deployHostileTrading(provider, good),
      ]) {
        await expectSameAsAlone(new VaultClient(capped, { trading }));
      }
    } finally {
      await node.stop();
    }
  });

  it("orders() of hre.vault connects when it is iterated", async () => {
    const hre = await createTestHre();
    const { provider } = await hre.network.getOrCreate();
    const trading = await deployGeneratedOrders(provider, 1n, 5n);
    const orders = await Array.fromAsync(
      hre.vault.at({ trading }).orders({ firstId: 1, lastId: 5 }),
    );
    expect(orders.map(({ orderID }) => orderID)).to.deep.equal([
      1n,
      2n,
      3n,
      4n,
      5n,
    ]);
  });
});
