import path from "node:path";

import { expect } from "chai";

import { modulesLoadedBy, openConnection } from "../helpers/loaded-modules.js";

const root = path.resolve(import.meta.dirname, "../..");

const heavy = [
  /\/node_modules\/(?:ethers|zod|fast-wrap-ansi|@inquirer|write-file-atomic)\//u,
  /\/node_modules\/@nomicfoundation\/(?:hardhat-ethers|hardhat-zod-utils|edr)\//u,
  /\/src\/(?:bindings|abi|client|plugin|rpc|mocks|settlement|simulation|chai)\//u,
];

function heavyOf(modules: readonly string[]): string[] {
  return modules.filter((url) => heavy.some((pattern) => pattern.test(url)));
}

/** Small files in folders of heavy ones. */
const startUpHooks = [
  "src/plugin/config.ts",
  "src/plugin/lazy-hardhat-vault.ts",
  "src/simulation/fork-network.ts",
];

const onlyForConnections: readonly string[] = [
  "src/plugin/network-hooks.ts",
  "src/plugin/hardhat-vault.ts",
];

/** Loaded by the method that needs it, and not with a connection. */
const onlyWhenAsked =
  /^src\/(?:settlement|simulation\/engines|mocks|client\/(?:lens\/(?!words)|orders\/|rounds|snapshot))/u;

function oursOf(modules: readonly string[]): string[] {
  const prefix = `file://${root}/`;
  return modules
    .filter((url) => url.startsWith(`${prefix}src/`))
    .map((url) => url.slice(prefix.length));
}

describe("laziness", () => {
  it("a runtime environment loads next to nothing of the plugin, and no task", () => {
    const modules = modulesLoadedBy(`
      const { createHardhatRuntimeEnvironment } = await import("hardhat/hre");
      const { default: vault } = await import("./src/index.ts");
      const hre = await createHardhatRuntimeEnvironment({ plugins: [vault] });
      if (typeof hre.vault.getOrderInfo !== "function") process.exit(1);
    `);
    expect(oursOf(heavyOf(modules))).to.have.members(startUpHooks);
    expect(oursOf(modules)).to.not.include.oneOf([...onlyForConnections]);
    expect(
      modules
        .filter((url) => url.startsWith(`file://${root}/tasks/`))
        .map((url) => path.basename(url)),
    ).to.have.members(["index.ts", "arguments.ts"]);
    expect(
      modules.filter((url) => url.includes("/node_modules/ethers/")),
    ).to.deep.equal([]);
  });

  it("a connection loads what every connection needs", () => {
    const modules = modulesLoadedBy(openConnection("./src/index.ts"));
    expect(oursOf(modules)).to.include.members([...onlyForConnections]);
    expect(
      oursOf(modules).filter((file) => onlyWhenAsked.test(file)),
    ).to.deep.equal([]);
  });
});
