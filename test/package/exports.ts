import { readFile, readdir } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

import { repositoryRoot } from "../helpers/consumers/consumer-project.js";
import { modulesLoadedBy } from "../helpers/loaded-modules.js";

/** Every name that can be imported. A change here is one for the CHANGELOG. */
const exportedNames: Readonly<Record<string, readonly string[]>> = {
  ".": ["ContractType", "OrderState", "VaultError", "default"],
  "./client": [
    "ContractType",
    "OrderState",
    "VaultClient",
    "VaultError",
    "contractRoles",
    "isEmptyOrder",
    "isFailedOrder",
    "isFailedReading",
    "operations",
  ],
  "./abi": [
    "liquidityPoolAbi",
    "tradingAbi",
    "underlyingAssetAbi",
    "vaultAbi",
    "vaultFactoryAbi",
  ],
  "./bindings": [
    "IMockErrors__factory",
    "LiquidityPool__factory",
    "MockLiquidityPool__factory",
    "MockTrading__factory",
    "MockUnderlyingAsset__factory",
    "MockVaultFactory__factory",
    "MockVault__factory",
    "Trading__factory",
    "UnderlyingAsset__factory",
    "VaultFactory__factory",
    "Vault__factory",
    "factories",
  ],
  "./mocks": [
    "MockLiquidityPoolArtifact",
    "MockTradingArtifact",
    "MockUnderlyingAssetArtifact",
    "MockVaultArtifact",
    "MockVaultFactoryArtifact",
    "capture",
    "connectMocks",
    "deployMocks",
    "encodeRevertData",
    "generatedOrder",
    "inProcessMockAddresses",
    "scenarios",
  ],
  "./chai": ["default"],
  "./assert": ["changesReadings", "roundSettled", "settlesRound"],
  "./types": [],
};

describe("package - exports", () => {
  it("should have exactly these entries", async () => {
    const text = await readFile(
      path.join(repositoryRoot, "package.json"),
      "utf8",
    );
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- our own package.json
    const { exports } = JSON.parse(text) as { exports: object };
    expect(Object.keys(exports)).to.have.members([
      ...Object.keys(exportedNames),
      "./abi/*.json",
      "./contracts/*",
      "./package.json",
    ]);
  });

  for (const [entry, names] of Object.entries(exportedNames)) {
    it(`should export exactly these names from ${entry}`, async () => {
      // The built package, by its own name.
      const module: unknown = await import(`hardhat-vault${entry.slice(1)}`);
      if (typeof module !== "object" || module === null) {
        throw new TypeError("a module is an object");
      }
      expect(Object.keys(module).sort()).to.deep.equal(names);
    });
  }

  it("should have one VaultError, whichever entry it comes from", async () => {
    const classes = await Promise.all(
      [".", "./client"].map(async (entry): Promise<unknown> => {
        const module: unknown = await import(`hardhat-vault${entry.slice(1)}`);
        return typeof module === "object" && module !== null
          ? Reflect.get(module, "VaultError")
          : undefined;
      }),
    );
    expect(classes[0]).to.be.a("function");
    expect(classes[0]).to.equal(classes[1]);
  });

  it("should let nobody import what is no entry", async () => {
    const chunks = await readdir(path.join(repositoryRoot, "dist/chunks"));
    expect(chunks).to.include("reads.js");
    for (const file of ["dist/index.js", "dist/chunks/reads.js"]) {
      await import(`hardhat-vault/${file}`).then(
        () => expect.fail(`${file} can be imported`),
        (error: unknown) =>
          expect(error).to.include({ code: "ERR_PACKAGE_PATH_NOT_EXPORTED" }),
      );
    }
  });

  it("should load descriptions and hooks at the start of Hardhat", async () => {
    const folder = `file://${repositoryRoot}/dist/`;
    const modules = modulesLoadedBy(`
      const { createHardhatRuntimeEnvironment } = await import("hardhat/hre");
      const { default: vault } = await import("hardhat-vault");
      await createHardhatRuntimeEnvironment({ plugins: [vault] });
    `);
    const started = modules.filter((url) => url.startsWith(folder));
    expect(started).to.include(`${folder}index.js`);
    // Each costs a start about a millisecond.
    expect(started).to.have.lengthOf.at.most(6);
    expect(
      modules.filter((url) => url.includes("/node_modules/ethers/")),
    ).to.deep.equal([]);
  });
});
