import { Assertion, expect, use } from "chai";

import hardhatChaiMatchers from "@nomicfoundation/hardhat-ethers-chai-matchers";

import vaultMatchers from "../../src/chai/index.js";
import { createMatcherWorld } from "../helpers/matcher-world.js";

describe("chai - registration", () => {
  it("should add exactly the documented matchers", () => {
    const added = new Set<string>();
    const own = Object.getOwnPropertyNames(Assertion.prototype);
    for (const name of [
      "settleRound",
      "settledRound",
      "withPrice",
      "withAmount",
      "changeReadings",
      "open",
      "closed",
      "call",
      "put",
    ]) {
      expect(own, name).to.include(name);
      added.add(name);
    }
    expect(added.size).to.equal(9);
  });

  it("should do no harm when it is used again", () => {
    use(vaultMatchers);
    expect({ state: 1, contractType: 1 }).to.be.open;
    expect([1]).to.be.an("array").that.includes(1);
  });

  it("should live with Hardhat's own matchers", async () => {
    const { connection, vault, mockVault } = await createMatcherWorld({
      plugins: [hardhatChaiMatchers],
    });
    try {
      const tx = await mockVault.settleAll();
      await expect(tx).to.settleRound(vault);
      await expect(mockVault.settleAll()).to.be.revertedWithCustomError(
        mockVault,
        "RoundAlreadySettled",
      );
      await expect(tx).to.not.be.revert(connection.ethers);
      // A second asynchronous matcher is refused across both packages.
      const first = expect(tx).to.settleRound(vault);
      expect(() => first.and.to.emit(mockVault, "Settled")).to.throw(
        'cannot be chained after "settleRound"',
      );
      await first;
    } finally {
      await connection.close();
    }
  });
});
