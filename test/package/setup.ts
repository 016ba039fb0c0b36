import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
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
    await program("npm", `node -p process.version >> ../../npm.log\n${npm}`);
    await program("npx", `echo "$@" >> ../../npx.log\necho "${newer}"`);
  }

  async function program(name: string, script: string): Promise<void> {
    await writeFile(path.join(root, "bin", name), `#!/bin/sh\n${script}\n`, {
      mode: 0o755,
    });
  }

  /** The program, its arguments and its options. */
  function command() {
    const bin = path.join(root, "bin");
    return [
      path.join(bin, "node"),
      [path.join(root, "scripts/setup.mjs")],
      { cwd: root, env: { PATH: `${bin}:/usr/bin:/bin` } },
    ] as const;
  }

  async function setUp(): Promise<unknown> {
    return await runCommand(...command()).catch((error: unknown) => error);
  }

  for (const version of sample(["18", "20", "22.17"], 1)) {
    it(`setup.mjs installs once, on a newer Node of npm, if two set-ups start under Node ${version} after one that was killed, and then does nothing`, async () => {
      await prepare(version, npmCi);
      await writeFile(path.join(root, ".setup-lock"), "999999999");
      const both = await Promise.all([setUp(), setUp()]);
      expect([...both, await setUp()]).to.deep.equal(["", "", ""]);
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

  it("setup.mjs installs without what the npm of a killed set-up goes on writing", async () => {
    const pipe = (name: string): string => `"${path.join(root, name)}"`;
    await runCommand("mkfifo", ["go", "done"], { cwd: root });
    await prepare(
      "22.18.0",
      `echo npm runs >&2
cat ${pipe("go")} > /dev/null
mkdir -p "$PWD/node_modules"
touch "$PWD/node_modules/late"
echo > ${pipe("done")}`,
    );
    const killed = spawn(...command());
    let stderr = "";
    for await (const text of killed.stderr.setEncoding("utf8")) {
      stderr += String(text);
      if (stderr.includes("npm runs")) {
        break;
      }
    }
    killed.kill("SIGKILL");
    await once(killed, "exit");
    const npm = `${npmCi}\necho > ${pipe("go")}\ncat ${pipe("done")} > /dev/null`;
    await program("npm", npm);
    expect(await setUp()).to.equal("");
    await access(path.join(root, "node_modules/.package-lock.json"));
    expect(existsSync(path.join(root, "node_modules/late"))).to.equal(false);
    expect(existsSync(path.join(root, ".setup"))).to.equal(false);
  });

  const old = "node_modules/ethers/package.json";

  it("setup.mjs fails, advises what to check, and leaves the old installation if the new one fails", async () => {
    await prepare("22.18.0", "mkdir node_modules; exit 1");
    await leaveOldInstallation(old);
    expect(String(await setUp())).to.include(
      "set-up: failed. Check the message of npm",
    );
    await access(path.join(root, old));
  });

  it("setup.mjs brings back the old installation that a killed set-up had put aside, if the new one fails", async () => {
    await prepare("22.18.0", "exit 1");
    await leaveOldInstallation(".setup/replaced/ethers/package.json");
    expect(String(await setUp())).to.include("set-up: failed");
    await access(path.join(root, old));
  });

  it("setup.mjs asks for a newer Node if npm has none that runs on the system", async () => {
    await prepare("18", npmCi);
    await program("npx", "exit 127");
    await leaveOldInstallation(old);
    expect(String(await setUp())).to.include(
      "set-up: this project needs Node 22.18 or newer, and npm got none that runs here",
    );
    await access(path.join(root, old));
  });

  async function leaveOldInstallation(file: string): Promise<void> {
    const place = path.join(root, file);
    await mkdir(path.dirname(place), { recursive: true });
    await writeFile(place, "{}");
  }
});
