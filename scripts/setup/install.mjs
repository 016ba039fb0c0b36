// @ts-check
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

import { canRunHardhat } from "./node-version.mjs";
import { nodeModules, root } from "./paths.mjs";
import { excerpt, freeSpace, progress, SetupError } from "./report.mjs";

const NEEDED_SPACE_MB = 700;
const PROGRESS_INTERVAL_MS = 15_000;

/**
 * npm's error codes, by what the user has to do about them. The first match
 * counts.
 * @type {[pattern: RegExp, message: string, fix: string][]}
 */
const npmFailures = [
  [/\bENOSPC\b|no space left/i, "the disk is full", freeSpace],
  [
    /\b(EACCES|EPERM|EROFS)\b/,
    "npm was not allowed to write a file",
    `Make sure that your user may write to ${root} and to npm's cache (npm config get cache), then run the command again.`,
  ],
  [
    /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED|ERR_SOCKET_TIMEOUT)\b/,
    "npm could not reach the package registry",
    "Check the network connection, and the proxy and registry that npm is set to (npm config get registry), then run the command again.",
  ],
  [
    /\b(E401|E403)\b/,
    "the package registry refused access",
    "Check the registry that npm is set to (npm config get registry) and your login to it, then run the command again.",
  ],
  [
    /\b(E404|ETARGET)\b/,
    "the package registry does not have a package of package-lock.json",
    "Check the registry that npm is set to (npm config get registry), then run the command again.",
  ],
  [
    /\bEUSAGE\b|in sync/,
    "package.json and package-lock.json do not match",
    "Run `npm install` with Node 22.13 or newer, or undo the change to package.json, then run the command again.",
  ],
];

/** @returns {SetupError | undefined} */
function findLackOfSpace() {
  const { bavail, bsize } = fs.statfsSync(root);
  const free = Math.floor((bavail * bsize) / 1e6);
  return free < NEEDED_SPACE_MB
    ? new SetupError(
        `the disk has ${free} MB left, and the dependencies need ${NEEDED_SPACE_MB} MB`,
        freeSpace,
      )
    : undefined;
}

/**
 * Installs what package-lock.json asks for, with a Node that Hardhat runs on.
 * @throws {SetupError}
 */
export async function install() {
  if (!fs.existsSync(nodeModules)) {
    const lack = findLackOfSpace();
    if (lack !== undefined) {
      throw lack;
    }
  }
  // The Node of node_modules is no help: it is about to be deleted.
  const isOwnNode = !process.execPath.startsWith(nodeModules + path.sep);
  const isPlain = isOwnNode && canRunHardhat(process.versions.node);
  const options = [
    // Development and optional packages whatever NODE_ENV or the user's
    // configuration leave out: EDR's native package is an optional one.
    "--include=dev",
    "--include=optional",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
    // npm's own waits make it take over a minute to notice that there is no
    // network.
    "--fetch-retries=3",
    "--fetch-retry-factor=3",
    "--fetch-retry-mintimeout=1000",
  ].join(" ");
  const command = isPlain
    ? `npm ci ${options}`
    : `npx --yes ${options} --package=node@24 -- npm ci ${options}`;

  progress(
    `installing dependencies with ${isPlain ? "npm ci" : "npx node@24 npm ci"} (needs the network, about a minute)`,
  );
  const startedAt = Date.now();
  const seconds = () => `${Math.round((Date.now() - startedAt) / 1000)} s`;
  const timer = setInterval(
    () => progress(`still installing (${seconds()})`),
    PROGRESS_INTERVAL_MS,
  );

  const binaries = path.join(nodeModules, ".bin");
  const child = spawn(command, {
    cwd: root,
    // npm and npx are shell scripts on Windows. The command is a constant.
    shell: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      PATH: (process.env.PATH ?? "")
        .split(path.delimiter)
        .filter((directory) => directory !== binaries)
        .join(path.delimiter),
    },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on(
      "data",
      /** @param {string} text */ (text) => {
        output += text;
      },
    );
  }
  /** @type {number | null} */
  const exitCode = await new Promise((resolve, reject) => {
    child.on("error", reject).on("close", resolve);
  }).finally(() => clearInterval(timer));

  if (exitCode === 0) {
    progress(`dependencies installed in ${seconds()}`);
    return;
  }
  const failure = npmFailures.find(([pattern]) => pattern.test(output));
  if (failure !== undefined) {
    const [, message, fix] = failure;
    throw new SetupError(message, fix, excerpt(output));
  }
  // npm does not always say that this was why an install script failed.
  throw (
    findLackOfSpace() ??
    new SetupError(
      `npm ci failed with exit code ${exitCode}`,
      "Read npm's message, then run the command again.",
      excerpt(output),
    )
  );
}
