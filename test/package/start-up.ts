import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";

import { expect } from "chai";

const root = path.resolve(import.meta.dirname, "../..");

/** The URLs of the modules that a script loads in a new process. */
function modulesLoadedBy(script: string, printed = /^$/u): readonly string[] {
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
  expect(stderr).to.match(printed);
  expect(status).to.equal(0);
  return stdout.trim().split("\n");
}

/** Starts Hardhat as its command line does, with these settings of a network. */
const startWith = (plugins: string, vault?: object, then = ""): string => `
  const { createHardhatRuntimeEnvironment } = await import("hardhat/hre");
  const { default: plugin } = await import("./dist/index.js");
  const local = {
    ...{ type: "http", url: "http://127.0.0.1:9" },
    ${vault === undefined ? "" : `vault: ${JSON.stringify(vault)},`}
  };
  const networks = { local };
  const hre = await createHardhatRuntimeEnvironment({ plugins: ${plugins}, networks });
  ${then}
`;

/** Libraries of others among these modules, without Hardhat's own. */
const librariesIn = (urls: readonly string[]): readonly string[] =>
  [
    ...new Set(
      urls.flatMap((url) => {
        const [, name] =
          /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/u.exec(
            url,
          ) ?? [];
        return name ?? [];
      }),
    ),
  ].toSorted();

/** Modules of the package with the mocks' bytecode. */
const mocksIn = (urls: readonly string[]): readonly string[] =>
  urls.filter(
    (url) =>
      url.includes("/dist/chunks/") &&
      readFileSync(new URL(url), "utf8").includes("MockVaultFactory"),
  );

describe("modules that the package loads", () => {
  it("a start of Hardhat with the plugin loads no library and no mocks that one without it does not load", () => {
    const hardhatEthers =
      '[(await import("@nomicfoundation/hardhat-ethers")).default]';
    const plain = librariesIn(modulesLoadedBy(startWith(hardhatEthers)));
    const modules = modulesLoadedBy(startWith("[plugin]"));
    expect(librariesIn(modules)).to.have.members(plain);
    expect(mocksIn(modules)).to.deep.equal([]);
  });

  it("a start with settings loads zod, and no ethers", () => {
    const vault = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
    const libraries = librariesIn(
      modulesLoadedBy(startWith("[plugin]", { contracts: { vault } })),
    );
    expect(libraries).to.include("zod").and.not.include("ethers");
  });

  it("a connection loads ethers, and no mocks", () => {
    const modules = modulesLoadedBy(
      startWith(
        "[plugin]",
        undefined,
        `await (await hre.network.create("local")).close();`,
      ),
    );
    expect(librariesIn(modules)).to.include("ethers");
    expect(mocksIn(modules)).to.deep.equal([]);
  });

  it("entries for use without Hardhat load none of it", () => {
    const modules = modulesLoadedBy(`
      for (const entry of ["client", "abi", "bindings", "mocks", "assert", "chai"]) {
        await import("./dist/" + entry + ".js");
      }
    `);
    expect(modules.some((url) => url.endsWith("/dist/client.js"))).to.equal(
      true,
    );
    expect(
      modules.filter((url) =>
        /\/node_modules\/(?:hardhat|@nomicfoundation\/(?!hardhat-utils\/).+?)\//u.test(
          url,
        ),
      ),
    ).to.deep.equal([]);
  });
});
