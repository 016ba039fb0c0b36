import { readFile } from "node:fs/promises";

import * as chai from "chai";
import { Assertion, expect } from "chai";

import hardhatChaiMatchers from "@nomicfoundation/hardhat-ethers-chai-matchers";

import vaultMatchers from "../../src/chai/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { createTestHre } from "../helpers/hre.js";

describe("hardhat-vault/chai beside Chai and Hardhat's matchers", () => {
  it("hardhat-vault/chai adds exactly the documented matchers", async () => {
    // On a prototype of its own, which has nothing but what is added now.
    // @ts-expect-error -- Chai's types know no class that extends its own
    class FreshAssertion extends Assertion {}
    // @ts-expect-error -- as above
    vaultMatchers({ ...chai, Assertion: FreshAssertion }, chai.util);
    const added = Object.getOwnPropertyNames(FreshAssertion.prototype);
    const page = await readFile("docs/reference-assertions.md", "utf8");
    // The first table of the page.
    const [introduction = ""] = page.split("\n## ");
    const documented = introduction.matchAll(
      /^\|[^|]*\| `[^`]*\.(\w+)\([^`]*` /gmu,
    );
    expect(added).to.have.members([
      "constructor",
      ...[...documented].map(([, name]) => name),
    ]);
  });

  it("Hardhat's matchers work beside settleRound, and leave a reading's VaultError to the test", async () => {
    const hre = await createTestHre({ plugins: [hardhatChaiMatchers] });
    const connection = await hre.network.create();
    const { vault, ethers } = connection;
    try {
      const mocks = await vault.deployMocks();
      const contract = mocks.contracts.vault.connect(
        await ethers.provider.getSigner(0),
      );
      const sent = await contract.settleAll();
      await expect(sent).to.settleRound(vault);
      await expect(sent).to.not.be.revert(ethers);
      await expect(contract.settleAll()).to.be.revertedWithCustomError(
        contract,
        "RoundAlreadySettled",
      );
      // A second asynchronous matcher is refused across both packages.
      const first = expect(sent).to.settleRound(vault);
      expect(() => first.and.to.emit(contract, "Settled")).to.throw(
        'cannot be chained after "settleRound"',
      );
      await first;

      await mocks.fail("queryVolume", "closed");
      await expect(contract.queryVolume()).to.be.revertedWith("closed");
      // Hardhat's matchers recognise errors of ethers only.
      const { details } = await expectVaultError(async () => {
        await expect(vault.queryVolume()).to.be.revertedWith("closed");
      }, "VAULT_CALL_REVERTED");
      expect(details["reason"]).to.equal("closed");
    } finally {
      await connection.close();
    }
  });
});
