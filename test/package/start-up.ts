import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import path from "node:path";

import { expect } from "chai";

const root = path.resolve(import.meta.dirname, "../..");
const dist = pathToFileURL(path.join(root, "dist")).href;

/** In bytes. tsx rewrites a file with an `import()` in time that grows with it. */
const SMALL = 10_000;

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

describe("modules that the package loads", () => {
  it("the start of Hardhat loads few files, no ethers and, for addresses without a checksum, no hash", () => {
    const modules = modulesLoadedBy(`
      const { createHardhatRuntimeEnvironment } = await import("hardhat/hre");
      const { default: vault } = await import("./dist/index.js");
      const contracts = { vault: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8" };
      await createHardhatRuntimeEnvironment({
        plugins: [vault],
        networks: { local: { type: "edr-simulated", vault: { contracts } } },
      });
    `);
    const started = modules.filter((url) => url.startsWith(dist));
    expect(started).to.include(`${dist}/index.js`);
    // Each costs a start about a millisecond.
    expect(started).to.have.lengthOf.at.most(9);
    expect(
      modules.filter((url) =>
        /\/node_modules\/(?:ethers|ethereum-cryptography)\//u.test(url),
      ),
    ).to.deep.equal([]);
  });

  it("a connection loads no task, and no long file that tsx rewrites", () => {
    const modules = modulesLoadedBy(`
    const { createHardhatRuntimeEnvironment } = await import("hardhat/hre");
    const { default: vault } = await import("./dist/index.js");
    const hre = await createHardhatRuntimeEnvironment({
      plugins: [vault],
      networks: {
        local: {
          type: "http",
          url: "http://127.0.0.1:8545",
          vault: { tokenDecimals: 18 },
        },
      },
    });
    await (await hre.network.create("local")).close();
    `);
    const ours = modules.filter((url) => url.startsWith(dist));
    expect(ours).not.to.include(`${dist}/chunks/run-task.js`);
    const rewritten = ours
      .map((url) => ({ url, text: readFileSync(new URL(url), "utf8") }))
      .filter(({ text }) => /\bimport\(/u.test(text));
    expect(rewritten.map(({ url }) => url)).to.include.members([
      `${dist}/chunks/vault-client.js`,
      `${dist}/chunks/hardhat-vault.js`,
    ]);
    expect(
      rewritten.filter(({ text }) => text.length > SMALL).map(({ url }) => url),
    ).to.deep.equal([]);
  });

  it("entries for use without Hardhat load none of it", () => {
    const modules = modulesLoadedBy(`
      for (const entry of ["client", "abi", "bindings", "mocks", "assert", "chai"]) {
        await import("./dist/" + entry + ".js");
      }
    `);
    expect(modules).to.include(`${dist}/client.js`);
    expect(
      modules.filter((url) =>
        /\/node_modules\/(?:hardhat|@nomicfoundation\/(?!hardhat-utils\/).+?)\//u.test(
          url,
        ),
      ),
    ).to.deep.equal([]);
  });
});
