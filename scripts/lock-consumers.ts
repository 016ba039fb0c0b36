/** Writes the lock files of the projects in test/consumers: of all, or of those named. */
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import {
  lockFileOf,
  lockNameOf,
  manifestOf,
  npmOptions,
  projectFolder,
  repositoryRoot,
  runPnpm,
} from "../test/helpers/consumers/consumer-project.js";
import { allConsumers } from "../test/helpers/consumers/definitions.js";
import type { ConsumerDefinition } from "../test/helpers/consumers/definitions.js";
import { runCommand } from "../test/helpers/consumers/run-command.js";

async function writeLock(definition: ConsumerDefinition): Promise<void> {
  const folder = `${projectFolder(definition)}-lock`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await writeFile(
    path.join(folder, "package.json"),
    await manifestOf(definition),
  );
  if (definition.hasNpm === true) {
    const options = [
      "--package-lock-only",
      "--omit-lockfile-registry-resolved",
    ];
    await runCommand("npm", ["install", ...options, ...npmOptions], {
      cwd: folder,
    });
    await addPlatforms(path.join(folder, "package-lock.json"));
  } else {
    await runPnpm(folder, "install", "--lockfile-only");
  }
  await cp(path.join(folder, lockNameOf(definition)), lockFileOf(definition));
  await rm(folder, { recursive: true });
}

interface Lock {
  readonly packages: Readonly<Record<string, object>>;
}

async function readLock(file: string): Promise<Lock> {
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- npm wrote it
  return JSON.parse(await readFile(file, "utf8")) as Lock;
}

/**
 * A registry mirror may lack a native package of another platform. npm then
 * leaves it out of the lock file, and `npm ci` finds the lock file wanting.
 */
async function addPlatforms(file: string): Promise<void> {
  const lock = await readLock(file);
  const own = await readLock(path.join(repositoryRoot, "package-lock.json"));
  const native = Object.entries(own.packages).filter(([location]) =>
    location.startsWith("node_modules/@nomicfoundation/edr-"),
  );
  const packages = Object.entries({
    ...Object.fromEntries(native),
    ...lock.packages,
  }).sort(([one], [other]) => (one < other ? -1 : 1));
  const whole = { ...lock, packages: Object.fromEntries(packages) };
  await writeFile(file, `${JSON.stringify(whole, undefined, 2)}\n`);
}

const names = process.argv.slice(2);
for (const definition of allConsumers) {
  if (names.length === 0 || names.includes(definition.name)) {
    await writeLock(definition);
  }
}
