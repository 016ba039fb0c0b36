import { expect } from "chai";

import { createTestHre } from "../helpers/hre.js";

describe("stacks of transactions that revert in a mock", () => {
  it("Hardhat names the mock, its function, its line and its error, on every connection", async () => {
    const hre = await createTestHre();
    for (const connection of [
      await hre.network.create(),
      await hre.network.create(),
    ]) {
      const { contracts } = await connection.vault.deployMocks({
        scenario: "settled-round",
      });
      const signer = await connection.ethers.provider.getSigner(0);
      const error: unknown = await contracts.vault
        .connect(signer)
        .settleAll()
        .catch((thrown: unknown) => thrown);
      expect(error)
        .to.have.property("message")
        .which.contains("custom error 'RoundAlreadySettled(");
      expect(error)
        .to.have.property("stack")
        .which.matches(
          /at MockVaultFactory\.settleLatestRound \(hardhat-vault\/contracts\/mocks\/MockVaultFactory\.sol:\d+\)\n\s+at MockVault\.settleAll \(hardhat-vault/u,
        );
      await connection.close();
    }
  });

  it("deployMocks() does without the names if Hardhat refuses them", async () => {
    const { vault } = await (await createTestHre()).network.create();
    let isAsked = false;
    Reflect.set(vault.connection.provider, "addCompilationResult", () => {
      isAsked = true;
      throw new Error("another form is needed");
    });
    await vault.deployMocks();
    expect(isAsked).to.equal(true);
    expect((await vault.settleAll()).status).to.equal("settled");
    await vault.connection.close();
  });

  it("Hardhat measures no gas of the mocks for --gas-stats", async () => {
    const hre = await createTestHre();
    const measured = new Set<string>();
    hre.hooks.registerHandlers("network", {
      onGasMeasurement: (_context, { contractFqn }) => {
        measured.add(contractFqn);
      },
    });
    const { vault } = await hre.network.create();
    const mocks = await vault.deployMocks();
    await mocks.set({ volume: 5n });
    await vault.settleAll();
    expect([...measured]).to.deep.equal([]);
    await vault.connection.close();
  });
});
