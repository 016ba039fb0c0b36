/** Writes the lock files of the projects in test/consumers: of all, or of those named. */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import {
  lockFileOf,
  manifestOf,
  npmOptions,
  projectFolder,
  repositoryRoot,
} from "../test/helpers/consumers/consumer-project.js";
import { consumers } from "../test/helpers/consumers/definitions.js";
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
  await runCommand(
    "npm",
    [
      "install",
      "--package-lock-only",
      "--omit-lockfile-registry-resolved",
      ...npmOptions,
    ],
    { cwd: folder },
  );
  const lock = await readLock(path.join(folder, "package-lock.json"));
  await writeFile(
    lockFileOf(definition),
    `${JSON.stringify(await withAllPlatforms(lock), undefined, 2)}\n`,
  );
  await rm(folder, { recursive: true });
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
}

async function readLock(file: string): Promise<Lock> {
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- npm wrote it
  return JSON.parse(await readFile(file, "utf8")) as Lock;
}

/**
 * A registry mirror may lack a native package of another platform. npm then
 * leaves it out of the lock file, and `npm ci` finds the lock file wanting.
 */
async function withAllPlatforms(lock: Lock): Promise<Lock> {
  const own = await readLock(path.join(repositoryRoot, "package-lock.json"));
  const edr = "node_modules/@nomicfoundation/edr";
  if (lock.packages[edr]?.version !== own.packages[edr]?.version) {
    // Hardhat 2 has an older one.
    return lock;
  }
  const native = Object.entries(own.packages).filter(([location]) =>
    location.startsWith(`${edr}-`),
  );
  const packages = Object.entries({
    ...Object.fromEntries(native),
    ...lock.packages,
  }).sort(([one], [other]) => (one < other ? -1 : 1));
  return { ...lock, packages: Object.fromEntries(packages) };
}

const names = process.argv.slice(2);
for (const definition of consumers) {
  if (names.length === 0 || names.includes(definition.name)) {
    await writeLock(definition);
  }
}
