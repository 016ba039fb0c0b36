import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { expect } from "chai";

const root = path.resolve(import.meta.dirname, "../..");
const dist = path.join(root, "dist");

/** In bytes. tsx rewrites a file with an `import()` in time that grows with it. */
const SMALL = 2_000;

/** A small one costs a start up to a millisecond. */
const ofEveryStart = ["index", "start"];
const ofConnections = [
  ...["connection", "client", "factories", "on-demand", "rolldown-runtime"],
];

/** Of every task: to read and to print. */
const common = ["ethers", "fast-string-width", "fast-wrap-ansi", "p-limit"];
const list = ["csv-stringify", "signal-exit"];
const journal = ["signal-exit", "zod"];

/** Further libraries by task. None has that of the progress line, which comes with its first line. */
const librariesOf: Readonly<Record<string, readonly string[]>> = {
  read: [],
  mock: [],
  status: journal,
  orders: list,
  rounds: list,
  report: list,
  settle: journal,
  simulate: ["signal-exit"],
  "deploy-guard": ["zod"],
  "deploy-mocks": [],
  capture: ["signal-exit"],
  request: [],
  watch: journal,
  doctor: journal,
  decode: [],
};

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
const startWith = (vault?: object, then = ""): string => `
  const { createHardhatRuntimeEnvironment } = await import("hardhat/hre");
  const { default: plugin } = await import("./dist/index.js");
  const local = {
    ...{ type: "http", url: "http://127.0.0.1:9" },
    vault: ${JSON.stringify(vault)},
  };
  const networks = { local };
  const hre = await createHardhatRuntimeEnvironment({ plugins: [plugin], networks });
  ${then}
`;

function oursIn(urls: readonly string[]): readonly string[] {
  return urls
    .filter((url) => url.startsWith(pathToFileURL(dist).href))
    .map((url) => path.basename(url, ".js"));
}

/** The libraries that a file imports, and those that its own imports do. */
function librariesIn(
  file: string,
  seen = new Set<string>(),
): readonly string[] {
  if (seen.has(file)) {
    return [];
  }
  seen.add(file);
  const text = readFileSync(path.join(dist, file), "utf8");
  return [...text.matchAll(/^(?:import|export) [^;]*?"([^"]+)";$/gmu)].flatMap(
    ([, specifier = ""]) =>
      specifier.startsWith(".")
        ? librariesIn(path.join(path.dirname(file), specifier), seen)
        : [specifier],
  );
}

function packageOf(specifier: string): string {
  return /^(?:@[^/]+\/)?[^/]+/u.exec(specifier)?.[0] ?? "";
}

/** Node's modules too: they are there. */
const ofHardhat = /^(?:node:|hardhat$|@nomicfoundation\/hardhat-utils$)/u;

describe("modules that the package loads", () => {
  const noChecksum = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
  for (const [what, script, ours, printed] of [
    ["a start of Hardhat", startWith(), ofEveryStart],
    [
      "a start with addresses without a checksum",
      startWith({ contracts: { vault: noChecksum } }),
      [...ofEveryStart, "validate-settings"],
    ],
    [
      "a connection",
      startWith(
        undefined,
        `await (await hre.network.create("local")).close();`,
      ),
      [...ofEveryStart, ...ofConnections],
    ],
    [
      "a task that reads one value",
      startWith(
        undefined,
        `await hre.tasks.getTask(["vault", "round"]).run({});`,
      ),
      [...ofEveryStart, ...ofConnections, "actions", "read", "task"],
      /VAULT_CONTRACT_NOT_CONFIGURED/u,
    ],
  ] as const) {
    it(`${what} loads ${ours.join(", ")} of the package`, () => {
      const modules = modulesLoadedBy(script, printed);
      expect(oursIn(modules)).to.have.members(ours);
      // A start hashes no address; hardhat-ethers loads ethers with each connection.
      expect(
        modules.some((url) =>
          /\/node_modules\/(?:ethers|ethereum-cryptography)\//u.test(url),
        ),
      ).to.equal(ours.includes("connection"));
    });
  }

  it("every file with an import(), which tsx rewrites, is small", () => {
    const rewritten = readdirSync(dist, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".js"))
      .map(
        (file) => [file, readFileSync(path.join(dist, file), "utf8")] as const,
      )
      .filter(([, text]) => text.includes("import("));
    expect(rewritten.map(([file]) => file)).to.include("index.js");
    expect(
      rewritten.filter(([, text]) => text.length > SMALL).map(([file]) => file),
    ).to.deep.equal([]);
  });

  it("the file of every start has no word import, for which tsx would parse it", () => {
    const start = readFileSync(path.join(dist, "chunks/start.js"), "utf8");
    expect(
      start.split("\n").filter((line) => line.includes("import")),
    ).to.deep.equal([]);
  });

  it("each task loads the libraries that its screen needs, and no other", () => {
    const text = readFileSync(path.join(dist, "chunks/actions.js"), "utf8");
    const loaded = Array.from(
      text.matchAll(/import\("\.\/(([\w-]+?)\d*\.js)"\)/gu),
      ([, file = "", task = ""]) => [task, `chunks/${file}`] as const,
    );
    expect(
      Object.fromEntries(
        loaded.map(([task, file]) => [
          task,
          [...new Set(librariesIn(file).map(packageOf))]
            .filter((name) => !ofHardhat.test(name))
            .toSorted(),
        ]),
      ),
    ).to.deep.equal(
      Object.fromEntries(
        Object.entries(librariesOf).map(([task, further]) => [
          task,
          [...common, ...further].toSorted(),
        ]),
      ),
    );
  });

  it("entries for use without Hardhat load none of it", () => {
    const modules = modulesLoadedBy(`
      for (const entry of ["client", "abi", "bindings", "mocks", "assert", "chai"]) {
        await import("./dist/" + entry + ".js");
      }
    `);
    expect(oursIn(modules)).to.include("client");
    expect(
      modules.filter((url) =>
        /\/node_modules\/(?:hardhat|@nomicfoundation\/(?!hardhat-utils\/).+?)\//u.test(
          url,
        ),
      ),
    ).to.deep.equal([]);
  });
});
