import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { text as readText } from "node:stream/consumers";

import { expect } from "chai";

import {
  nodeProgram,
  repositoryRoot,
} from "../helpers/consumers/consumer-project.js";
import { sample } from "../helpers/sample.js";

for (const version of sample(["18", "20"], 1)) {
  describe(`the set-up under Node ${version}`, () => {
    const modules = path.join(repositoryRoot, "node_modules");
    let root = "";

    beforeEach(async () => {
      root = await mkdtemp(path.join(tmpdir(), "a größe of 1 "));
      await mkdir(path.join(root, "bin"));
      for (const file of ["scripts/setup.mjs", "package-lock.json"]) {
        await cp(path.join(repositoryRoot, file), path.join(root, file));
      }
    });
    afterEach(async () => {
      await rm(root, { recursive: true });
    });

    /** @param npx What stands in for `npx`, in the folder of the project. */
    async function setUp(
      npx: string,
    ): Promise<{ code: number | null; text: string }> {
      const bin = path.join(root, "bin");
      await writeFile(
        path.join(bin, "npx"),
        `#!/bin/sh\necho "$@" >> npx.log\n${npx}\n`,
        { mode: 0o755 },
      );
      const child = spawn(
        await nodeProgram(version),
        [path.join(root, "scripts/setup.mjs")],
        {
          env: { PATH: `${bin}:/usr/bin:/bin` },
          stdio: ["ignore", "ignore", "pipe"],
        },
      );
      const text = readText(child.stderr);
      await once(child, "close");
      return { code: child.exitCode, text: await text };
    }

    it("setup.mjs installs once with npm ci on Node 24 if two set-ups start after one that was killed, and then does nothing", async () => {
      await writeFile(path.join(root, ".setup-lock"), "999999999");
      const npx = `ln -s "${modules}" node_modules`;
      for (const { code, text } of await Promise.all([
        setUp(npx),
        setUp(npx),
      ])) {
        expect(code, text).to.equal(0);
      }
      expect(existsSync(path.join(root, ".setup-lock"))).to.equal(false);
      expect(await setUp(npx)).to.deep.equal({ code: 0, text: "" });
      expect(await readFile(path.join(root, "npx.log"), "utf8")).to.match(
        /^--yes .*--package=node@24 -- npm ci .*\n$/u,
      );
    });

    it("setup.mjs exits with 1 and advises what to check if npm ci fails", async () => {
      const { code, text } = await setUp("exit 1");
      expect(text).to.include("set-up: failed. Check the message of npm");
      expect(code).to.equal(1);
      expect(existsSync(path.join(root, ".setup-lock"))).to.equal(false);
    });
  });
}
