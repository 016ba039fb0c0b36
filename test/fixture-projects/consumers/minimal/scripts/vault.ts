import assert from "node:assert/strict";

import hre from "hardhat";

const mocks = await hre.vault.deployMocks({ scenario: "many-orders" });
assert.equal((await hre.vault.getOrderInfo(1_000n)).exType !== "", true);
assert.equal((await hre.vault.settleAll()).status, "settled");
assert.equal((await mocks.settlements()).length, 1);

// A user's own network settings are as Hardhat makes them; ours is one more.
const { vaultFork, ...own } = hre.config.networks;
assert.deepEqual(Object.keys(own).sort(), ["default", "localhost", "node"]);
assert.equal(own.default.type, "edr-simulated");
assert.equal(vaultFork.type, "edr-simulated");
console.log("minimal: all assertions hold");
