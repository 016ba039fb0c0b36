// @ts-check
/**
 * Installs everything `npm run demo` and `npm test` need, or finds in a few
 * milliseconds that it is all there.
 *
 * Plain JavaScript without dependencies, because it runs before anything is
 * installed and on a Node too old for Hardhat (18 and up). Hardhat itself needs
 * Node 22.13: under an older one npm silently leaves out the native package of
 * EDR, Hardhat's network. So an older Node runs `npm ci` through `npx node@24`,
 * and from then on the `node` devDependency is what npm scripts run on.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";

import { exclusively } from "./setup/exclusively.mjs";
import { install } from "./setup/install.mjs";
import { canRunHardhat } from "./setup/node-version.mjs";
import { installedNode, lockFile, nodeModules, root } from "./setup/paths.mjs";
import { excerpt, freeSpace, hasCode, SetupError } from "./setup/report.mjs";

const stampFile = path.join(nodeModules, ".hardhat-vault-setup");

/** What an installation depends on; another value means another `npm ci`. */
function fingerprint() {
  return createHash("sha256")
    .update(fs.readFileSync(lockFile))
    .update(`${process.platform} ${process.arch}`)
    .digest("hex");
}

function isDone() {
  try {
    return (
      fs.readFileSync(stampFile, "utf8") === fingerprint() &&
      fs.existsSync(installedNode)
    );
  } catch (error) {
    if (hasCode(error, "ENOENT")) {
      return false;
    }
    throw error;
  }
}

/**
 * Whether node_modules is already what package-lock.json asks for, by the
 * record that npm keeps of it. True after an `npm install` by hand, which must
 * not be thrown away.
 */
function isInstalled() {
  /** @type {(file: string) => Record<string, { integrity?: string, optional?: boolean }>} */
  const packagesOf = (file) =>
    JSON.parse(fs.readFileSync(file, "utf8")).packages;
  try {
    const installed = packagesOf(path.join(nodeModules, ".package-lock.json"));
    return Object.entries(packagesOf(lockFile)).every(
      ([location, { integrity, optional }]) =>
        location === "" ||
        (location in installed
          ? installed[location]?.integrity === integrity
          : optional === true),
    );
  } catch (error) {
    if (hasCode(error, "ENOENT") || error instanceof SyntaxError) {
      return false;
    }
    throw error;
  }
}

/**
 * Starts what was installed.
 * @returns {SetupError | undefined} what does not work
 */
function findFault() {
  const { error, status, stdout, stderr } = spawnSync(
    installedNode,
    [
      "-e",
      'require("@nomicfoundation/edr"); console.log(process.versions.node)',
    ],
    { cwd: root, encoding: "utf8" },
  );
  if (error !== undefined) {
    return new SetupError(
      `the installed Node does not start (${error.message})`,
      "It is put in place by the install script of the npm package `node`. If npm is set to ignore scripts (npm config get ignore-scripts), allow them, delete node_modules and run the command again.",
    );
  }
  if (status !== 0) {
    return new SetupError(
      "Hardhat's native network package (@nomicfoundation/edr) cannot be loaded",
      `Delete node_modules and run the command again. If it still fails, your platform (${process.platform} ${process.arch}) may not be supported by Hardhat 3.`,
      excerpt(stderr),
    );
  }
  if (!canRunHardhat(stdout.trim())) {
    return new SetupError(
      `node_modules has Node ${stdout.trim()}, too old for Hardhat`,
      "Delete node_modules and run the command again.",
    );
  }
  return undefined;
}

async function setUp() {
  if (isDone()) {
    return;
  }
  await exclusively(async () => {
    if (isDone()) {
      return;
    }
    if (!isInstalled() || findFault() !== undefined) {
      await install();
      const fault = findFault();
      if (fault !== undefined) {
        throw fault;
      }
    }
    fs.writeFileSync(stampFile, fingerprint());
  });
}

/**
 * @param {unknown} error
 * @returns {SetupError}
 */
function explain(error) {
  if (error instanceof SetupError) {
    return error;
  }
  const message = error instanceof Error ? error.message : String(error);
  if (hasCode(error, "EACCES", "EPERM", "EROFS")) {
    return new SetupError(
      `cannot write to ${root} (${message})`,
      "Make the directory writable for your user, or clone into one that is, then run the command again.",
    );
  }
  if (hasCode(error, "ENOSPC")) {
    return new SetupError(`the disk is full (${message})`, freeSpace);
  }
  return new SetupError(message, "Run the command again.");
}

try {
  await setUp();
} catch (error) {
  const { message, fix, details } = explain(error);
  const lines = [`set-up failed: ${message}.`, fix];
  if (details.length > 0) {
    lines.push("", ...details.map((line) => `  ${line}`));
  }
  process.stderr.write(`\n${lines.join("\n")}\n`);
  process.exitCode = 1;
}
