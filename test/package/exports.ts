import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

import { fieldsOf } from "../helpers/fields.js";
import { repositoryRoot } from "../helpers/consumers/consumer-project.js";

/** Every name that can be imported. A change here is one for the CHANGELOG. */
const exportedNames: Readonly<Record<string, string>> = {
  ".": "ContractType OrderState VaultError default toJsonValue",
  "./client":
    "ContractType OrderState VaultClient VaultError contractRoles isEmptyOrder isFailedOrder isFailedReading operations toJsonValue",
  "./abi":
    "liquidityPoolAbi tradingAbi underlyingAssetAbi vaultAbi vaultFactoryAbi",
  "./bindings":
    "IMockErrors__factory LiquidityPool__factory MockLiquidityPool__factory MockTrading__factory MockUnderlyingAsset__factory MockVaultFactory__factory MockVault__factory Trading__factory UnderlyingAsset__factory VaultFactory__factory Vault__factory factories",
  "./mocks":
    "MockLiquidityPoolArtifact MockTradingArtifact MockUnderlyingAssetArtifact MockVaultArtifact MockVaultFactoryArtifact capture connectMocks deployMocks encodeRevertData inProcessMockAddresses scenarios",
  "./chai": "default",
  "./assert":
    "callsVault changesReadings rejectsWithVaultError roundSettled settlesRound",
  "./types": "",
};

describe("exports of the package", () => {
  it("package.json exports exactly these entries", async () => {
    const text = await readFile(
      path.join(repositoryRoot, "package.json"),
      "utf8",
    );
    // our own package.json
    const { exports } = JSON.parse(text) as { exports: object };
    expect(Object.keys(exports)).to.have.members([
      ...Object.keys(exportedNames),
      "./abi/*.json",
      "./contracts/*",
      "./tasks.schema.json",
      "./package.json",
    ]);
  });

  it("require() of the plugin throws an error that names the entries for CommonJS", () => {
    const require = createRequire(import.meta.url);
    expect(() => {
      require("hardhat-vault");
    }).to.throw(
      /plugin for Hardhat 3.*"hardhat-vault\/client", "hardhat-vault\/mocks", "hardhat-vault\/abi" or "hardhat-vault\/bindings"/u,
    );
  });

  for (const [entry, names] of Object.entries(exportedNames)) {
    it(`${entry} exports exactly these names`, async () => {
      // The built package, by its own name; types are checked before it is built.
      const load = async (subpath: string): Promise<unknown> =>
        await import(`hardhat-vault${subpath}`);
      const module = await load(entry.slice(1));
      expect(Object.keys(fieldsOf(module)).sort().join(" ")).to.equal(names);
      if (names.split(" ").includes("VaultError")) {
        const { VaultError } = fieldsOf(await load(""));
        expect(module).to.include({ VaultError });
      }
    });
  }
});
