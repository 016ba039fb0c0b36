import { readFile } from "node:fs/promises";

import * as chai from "chai";
import { Assertion, expect } from "chai";

import hardhatChaiMatchers from "@nomicfoundation/hardhat-ethers-chai-matchers";

import vaultMatchers from "../../src/chai/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { createTestHre } from "../helpers/hre.js";
import { createMatcherWorld } from "../helpers/world.js";

describe("chai - registration", () => {
  it("should add exactly the documented matchers", async () => {
    // On a prototype of its own, which has nothing but what is added now.
    // @ts-expect-error -- Chai's types know no class that extends its own
    class FreshAssertion extends Assertion {}
    // @ts-expect-error -- as above
    vaultMatchers({ ...chai, Assertion: FreshAssertion }, chai.util);
    const added = Object.getOwnPropertyNames(FreshAssertion.prototype);
    expect(added).to.have.members([
      "constructor",
      ...(await documentedMatchers()),
    ]);
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

  it("should leave a reading's VaultError to the test where Hardhat's matchers know errors of ethers alone", async () => {
    const hre = await createTestHre({ plugins: [hardhatChaiMatchers] });
    const connection = await hre.network.create();
    try {
      const { vault } = connection;
      const mocks = await vault.deployMocks();
      await mocks.fail("queryVolume", "closed");
      await expect(mocks.contracts.vault.queryVolume()).to.be.revertedWith(
        "closed",
      );
      const { details } = await expectVaultError(async () => {
        await expect(vault.queryVolume()).to.be.revertedWith("closed");
      }, "VAULT_CALL_REVERTED");
      expect(details["reason"]).to.equal("closed");
    } finally {
      await connection.close();
    }
  });
});

/** The matchers in the first table of the reference. */
async function documentedMatchers(): Promise<readonly string[]> {
  const page = await readFile("docs/reference-assertions.md", "utf8");
  return [...page.matchAll(/^\|[^|]*\| `[^`]*\.(?<name>\w+)\([^`]*` /gmu)].map(
    ({ groups }) => groups?.["name"] ?? "",
  );
}
