import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

import hre from "hardhat";
import { isEmptyOrder } from "hardhat-vault/client";

const mocks = await hre.vault.deployMocks({ scenario: "many-orders" });
assert.equal((await hre.vault.getOrderInfo(1_000n)).exType !== "", true);
assert.equal((await hre.vault.settleAll()).status, "settled");
assert.equal((await mocks.settlements()).length, 1);

// What `vault capture` recorded of a node answers here as the node did.
const { vault: replay } = await hre.network.create();
await replay.deployMocks({ fixture: "fixture.json" });
const {
  chainId: _chainId,
  block: _block,
  ...readings
} = await replay.snapshot();
const { status: live } = await readJson("status.json");
for (const [reading, value] of Object.entries(readings)) {
  assert.deepEqual(asJson(value), Object(live)[reading], reading);
}
const orders = [];
for await (const order of replay.orders({ firstId: 1n, lastId: 5n })) {
  orders.push({ ...order, ...(isEmptyOrder(order) ? { empty: true } : {}) });
}
assert.deepEqual(asJson(orders), (await readJson("orders.json")).orders);
assert.equal(orders.length, 5);

// A user's own network settings are as Hardhat makes them; ours is one more.
const { vaultFork, ...own } = hre.config.networks;
assert.deepEqual(Object.keys(own).sort(), [
  "default",
  "localhost",
  "mainnet",
  "node",
]);
assert.equal(own.default.type, "edr-simulated");
assert.equal(vaultFork.type, "edr-simulated");
console.log("keeper: all assertions hold");

async function readJson(file: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(file, "utf8"));
}

function asJson(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, each) =>
      typeof each === "bigint" ? each.toString() : each,
    ),
  );
}
