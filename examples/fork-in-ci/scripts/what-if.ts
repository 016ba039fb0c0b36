import assert from "node:assert/strict";

import hre from "hardhat";

const { vault } = await hre.network.create();

// The settlement itself, by the account that the configuration names: on a fork
// of the newest block, in this process, at the round's end if that is to come.
const { endTime } = await vault.getLatestRoundInfo();
const hasEnded = Number(endTime) * 1_000 <= Date.now();
const { status, reason } = await vault.simulateSettleAll({
  engine: "fork",
  ...(hasEnded ? {} : { atTime: "end" }),
});
assert.match(status, /^(?:settled|nothing-to-do)$/, reason ?? status);

// What if the vault refuses it? Code of yours gets a result, not an exception.
const fork = await vault.fork();
try {
  const mock = await fork.vault.mockAt("vault");
  await mock.fail("settleAll", "paused");
  const refused = await fork.vault.simulateSettleAll();
  assert.equal(refused.status, "reverted");
  assert.equal(refused.reason, "paused");
} finally {
  await fork.close();
}
console.log(`${status}: all assertions hold`);
