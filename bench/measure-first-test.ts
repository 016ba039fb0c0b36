/**
 * Takes the newcomer's path of docs/getting-started.md, from an empty folder to
 * a green test, with this package as it would be published, and says how long
 * it took. Run it after `npm run build`, as
 * `node --import tsx bench/measure-first-test.ts`. Nothing is cached: npm is
 * given an empty cache. Only the compiler, which Hardhat would download, is that
 * of an npm package of this repository.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { readCodeBlocks } from "../test/helpers/consumers/code-blocks.js";
import {
  repositoryRoot,
  useLocalCompiler,
} from "../test/helpers/consumers/consumer-project.js";
import { runCommand } from "../test/helpers/consumers/run-command.js";
import { packTarball } from "../test/helpers/tarball.js";

const guide = path.join(repositoryRoot, "docs/getting-started.md");
const { file: tarball } = await packTarball();
const folder = await mkdtemp(path.join(tmpdir(), "hardhat-vault-first-test-"));
const project = path.join(folder, "project");
await mkdir(project);

const start = performance.now();
const say = (what: string): void => {
  const seconds = (performance.now() - start) / 1_000;
  console.log(`${seconds.toFixed(1).padStart(6)} s  ${what}`);
};
try {
  // The guide's first shell block, with the tarball for the package's name.
  const [, install = ""] =
    /^```sh\n(.*?)^```$/msu.exec(await readFile(guide, "utf8")) ?? [];
  await sh(install.replace(" hardhat-vault ", ` ${tarball} `));
  say("installed");

  for (const { file, text } of await readCodeBlocks(guide)) {
    if (file !== undefined) {
      await mkdir(path.dirname(path.join(project, file)), { recursive: true });
      await writeFile(
        path.join(project, file),
        file === "hardhat.config.ts" ? useLocalCompiler(text, "0.8.28") : text,
      );
    }
  }
  console.log(await sh("npx hardhat test"));
  say("tested");
} finally {
  await rm(folder, { recursive: true });
}

async function sh(commands: string): Promise<string> {
  return await runCommand("sh", ["-ec", commands], {
    cwd: project,
    env: { npm_config_cache: path.join(folder, "npm-cache") },
  });
}
