import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  access,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";

import {
  nodeProgram,
  repositoryRoot,
} from "../helpers/consumers/consumer-project.js";
import { runCommand } from "../helpers/consumers/run-command.js";
import { describeOnPosix } from "../helpers/posix.js";
import { sample } from "../helpers/sample.js";

const modules = path.join(repositoryRoot, "node_modules");

/** What stands in for `npm ci`: the least that is a complete installation. */
const npmCi = `mkdir -p node_modules/.bin
cp "${modules}/.package-lock.json" node_modules/
ln -s "${modules}/@nomicfoundation" node_modules/@nomicfoundation`;

describeOnPosix("the set-up", () => {
  let root = "";

  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), "a größe of 1 "));
    await mkdir(path.join(root, "bin"));
    for (const file of [
      ...["scripts/setup.mjs", "package.json"],
      ...["package-lock.json", ".npmrc"],
    ]) {
      await cp(path.join(repositoryRoot, file), path.join(root, file));
    }
  });
  afterEach(async () => {
    await rm(root, { recursive: true });
  });

  async function prepare(version: string, npm: string): Promise<void> {
    const newer = process.execPath;
    await symlink(await nodeProgram(version), path.join(root, "bin/node"));
    await program("npm", `node -p process.version >> npm.log\n${npm}`);
    await program("npx", `echo "$@" >> npx.log\necho "${newer}"`);
  }

  async function program(name: string, script: string): Promise<void> {
    await writeFile(path.join(root, "bin", name), `#!/bin/sh\n${script}\n`, {
      mode: 0o755,
    });
  }

  /** The program, its arguments and its options. */
  function command(options: { detached?: boolean } = {}) {
    const bin = path.join(root, "bin");
    return [
      path.join(bin, "node"),
      [path.join(root, "scripts/setup.mjs")],
      { ...options, cwd: root, env: { PATH: `${bin}:/usr/bin:/bin` } },
    ] as const;
  }

  async function setUp(): Promise<unknown> {
    return await runCommand(...command()).catch((error: unknown) => error);
  }

  for (const version of sample(["18", "20", "22.17"], 1)) {
    it(`setup.mjs installs on a newer Node of npm under Node ${version}, and then does nothing`, async () => {
      await prepare(version, npmCi);
      expect([await setUp(), await setUp()]).to.deep.equal(["", ""]);
      expect(await readFile(path.join(root, "npx.log"), "utf8")).to.equal(
        "--yes --ignore-scripts=false --package=node@24 -- node -p process.execPath\n",
      );
      expect(await readFile(path.join(root, "npm.log"), "utf8")).to.equal(
        `${process.version}\n`,
      );
      const node = path.join(root, "node_modules/.bin/node");
      expect(await runCommand(node, ["-v"], { cwd: root })).to.equal(
        `${process.version}\n`,
      );
    });
  }

  it("setup.mjs uses the machine's Node if it is new enough", async () => {
    await prepare("22.18.0", npmCi);
    expect(await setUp()).to.equal("");
    expect(await readFile(path.join(root, "npm.log"), "utf8")).to.equal(
      "v22.18.0\n",
    );
    expect(await readdir(path.join(root, "node_modules/.bin"))).to.not.include(
      "node",
    );
  });

  it("setup.mjs installs after a set-up that was killed while npm ran", async () => {
    await prepare(
      "22.18.0",
      "mkdir -p node_modules/ethers; echo npm runs >&2; exec sleep 600",
    );
    const killed = spawn(...command({ detached: true }));
    const ended = once(killed, "exit");
    for await (const text of killed.stderr) {
      if (String(text).includes("npm runs")) {
        break;
      }
    }
    // With its npm, as Ctrl-C ends both.
    process.kill(-Number(killed.pid), "SIGKILL");
    await ended;
    await program("npm", `rm -rf node_modules; ${npmCi}`);
    expect(await setUp()).to.equal("");
    await access(path.join(root, "node_modules/.package-lock.json"));
  });

  it("setup.mjs fails and advises what to check if npm fails", async () => {
    await prepare("22.18.0", "exit 1");
    expect(String(await setUp())).to.include(
      "set-up: failed. Check the message of npm",
    );
  });

  it("setup.mjs asks for a newer Node if npm has none that runs on the system", async () => {
    await prepare("18", npmCi);
    await program("npx", "exit 127");
    const old = path.join(root, "node_modules/ethers/package.json");
    await mkdir(path.dirname(old), { recursive: true });
    await writeFile(old, "{}");
    expect(String(await setUp())).to.include(
      "set-up: this project needs Node 22.18 or newer, and npm got none that runs here",
    );
    await access(old);
  });
});
