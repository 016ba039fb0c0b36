import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";

import {
  nodeProgram,
  repositoryRoot,
} from "../helpers/consumers/consumer-project.js";
import { runCommand } from "../helpers/consumers/run-command.js";
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
    async function setUp(npx: string): Promise<unknown> {
      const bin = path.join(root, "bin");
      await writeFile(
        path.join(bin, "npx"),
        `#!/bin/sh\necho "$@" >> npx.log\n${npx}\n`,
        { mode: 0o755 },
      );
      const script = path.join(root, "scripts/setup.mjs");
      return await runCommand(await nodeProgram(version), [script], {
        cwd: root,
        env: { PATH: `${bin}:/usr/bin:/bin` },
      }).catch((error: unknown) => error);
    }

    it("setup.mjs runs pnpm on Node 24 once if two set-ups start after one that was killed, and then does nothing", async () => {
      await writeFile(path.join(root, ".setup-lock"), "999999999");
      const npx = `ln -s "${modules}" node_modules`;
      const both = await Promise.all([setUp(npx), setUp(npx)]);
      expect([...both, await setUp(npx)]).to.deep.equal(["", "", ""]);
      expect(await readFile(path.join(root, "npx.log"), "utf8")).to.match(
        /^--yes --package=node@24\.\d+\.\d+ .* --call pnpm install --frozen-lockfile .*\n$/u,
      );
    });

    it("setup.mjs fails, and advises what to check, if the installation fails", async () => {
      expect(String(await setUp("exit 1"))).to.include(
        "set-up: failed. Check the message of npm",
      );
    });
  });
}

it("pnpm-lock.yaml has exactly the packages of package-lock.json: else `npx pnpm import`", async () => {
  const [npm, pnpm] = await Promise.all(
    ["package-lock.json", "pnpm-lock.yaml"].map(async (file) => {
      const text = await readFile(path.join(repositoryRoot, file), "utf8");
      return new Set(text.match(/sha512-[\w+/=]+/gu));
    }),
  );
  expect(pnpm).to.have.property("size").above(100);
  expect(pnpm).to.deep.equal(npm);
});
