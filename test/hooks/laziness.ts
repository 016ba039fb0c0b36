import { spawnSync } from "node:child_process";
import path from "node:path";

import { expect } from "chai";

const root = path.resolve(import.meta.dirname, "../..");

/**
 * Runs a script in a new process and lists the modules that it loads: their
 * URLs, as the module loader resolved them.
 */
function modulesLoadedBy(script: string): readonly string[] {
  const recorder = `
    import { registerHooks } from "node:module";
    const loaded = new Set();
    registerHooks({
      load(url, context, nextLoad) {
        loaded.add(url);
        return nextLoad(url, context);
      },
    });
    process.on("exit", () => console.log([...loaded].join("\\n")));
    ${script}
  `;
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "--eval", recorder],
    { cwd: root, encoding: "utf8" },
  );
  expect(stderr).to.equal("");
  expect(status).to.equal(0);
  return stdout.trim().split("\n");
}

const heavy = [
  /\/node_modules\/(?:ethers|zod|cli-table3|@inquirer|write-file-atomic)\//u,
  /\/node_modules\/@nomicfoundation\/(?:hardhat-ethers|hardhat-zod-utils|edr)\//u,
  /\/src\/(?:bindings|abi|client|connection|mocks|settlement|simulation|chai)\//u,
];

function heavyOf(modules: readonly string[]): string[] {
  return modules.filter((url) => heavy.some((pattern) => pattern.test(url)));
}

describe("laziness", () => {
  it("should load nothing but descriptions with the plugin", () => {
    const modules = modulesLoadedBy('await import("./src/index.ts");');
    expect(modules.some((url) => url.endsWith("/src/index.ts"))).to.equal(true);
    expect(heavyOf(modules)).to.deep.equal([]);
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
    const ours = heavyOf(modules).filter((url) =>
      url.startsWith(`file://${root}/src/`),
    );
    expect(
      ours.map((url) => url.slice(`file://${root}/`.length)),
    ).to.have.members([
      "src/connection/lazy-hardhat-vault.ts",
      "src/simulation/fork-network.ts",
    ]);
    expect(
      modules.filter((url) => url.includes("/node_modules/ethers/")),
    ).to.deep.equal([]);
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
