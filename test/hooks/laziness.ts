import path from "node:path";

import { expect } from "chai";

import { modulesLoadedBy } from "../helpers/loaded-modules.js";

const root = path.resolve(import.meta.dirname, "../..");

const heavy = [
  /\/node_modules\/(?:ethers|zod|cli-table3|@inquirer|write-file-atomic)\//u,
  /\/node_modules\/@nomicfoundation\/(?:hardhat-ethers|hardhat-zod-utils|edr)\//u,
  /\/src\/(?:bindings|abi|client|connection|mocks|settlement|simulation|chai)\//u,
];

function heavyOf(modules: readonly string[]): string[] {
  return modules.filter((url) => heavy.some((pattern) => pattern.test(url)));
}

/** In folders of heavy things, and next to nothing themselves. */
const lightAfterAll = [
  "src/connection/lazy-hardhat-vault.ts",
  "src/simulation/fork-network.ts",
];

/** Those of this repository, by their paths in it. */
function oursOf(modules: readonly string[]): string[] {
  const prefix = `file://${root}/`;
  return modules
    .filter((url) => url.startsWith(`${prefix}src/`))
    .map((url) => url.slice(prefix.length));
}

describe("laziness", () => {
  it("should load nothing but descriptions and start-up hooks with the plugin", () => {
    const modules = modulesLoadedBy('await import("./src/index.ts");');
    expect(modules.some((url) => url.endsWith("/src/index.ts"))).to.equal(true);
    expect(heavyOf(modules)).to.have.members(
      lightAfterAll.map((file) => `file://${root}/${file}`),
    );
    expect(modules.some((url) => url.endsWith("-on-demand.ts"))).to.equal(
      false,
    );
    const tasks = modules.filter((url) => url.includes("/tasks/"));
    expect(tasks.map((url) => path.basename(url))).to.include("index.ts");
    expect(
      tasks.filter((url) => url.startsWith(`file://${root}/tasks/`)),
    ).to.have.lengthOf(1);
  });

  it("should load next to nothing with a runtime environment", () => {
    const modules = modulesLoadedBy(`
      const { createHardhatRuntimeEnvironment } = await import("hardhat/hre");
      const { default: vault } = await import("./src/index.ts");
      const hre = await createHardhatRuntimeEnvironment({ plugins: [vault] });
      if (typeof hre.vault.getOrderInfo !== "function") process.exit(1);
    `);
    expect(oursOf(heavyOf(modules))).to.have.members(lightAfterAll);
    expect(modules.some((url) => url.endsWith("-on-demand.ts"))).to.equal(
      false,
    );
    expect(
      modules.filter((url) => url.includes("/node_modules/ethers/")),
    ).to.deep.equal([]);
  });

  it("should load the schema once there are settings to check", () => {
    const modules = modulesLoadedBy(`
      const { createHardhatRuntimeEnvironment } = await import("hardhat/hre");
      const { default: vault } = await import("./src/index.ts");
      await createHardhatRuntimeEnvironment({
        plugins: [vault],
        networks: {
          local: {
            type: "http",
            url: "http://127.0.0.1:8545",
            vault: { tokenDecimals: 18 },
          },
        },
      });
    `);
    const ours = oursOf(modules);
    expect(ours).to.include.members([
      "src/modules-on-demand.ts",
      "src/hooks/config-schema.ts",
    ]);
    expect(oursOf(heavyOf(modules))).to.have.members(lightAfterAll);
  });

  it("should load no Hardhat with the client", () => {
    const modules = modulesLoadedBy('await import("./src/client/index.ts");');
    expect(modules.some((url) => url.includes("/ethers/"))).to.equal(true);
    expect(
      modules.filter((url) =>
        /\/node_modules\/(?:hardhat|@nomicfoundation)\//u.test(url),
      ),
    ).to.deep.equal([]);
  });
});
