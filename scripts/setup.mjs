// @ts-check
/**
 * Installs the dependencies if they are missing or not those of package-lock.json.
 * Runs on Node 18 and up. Under a Node that is too old for Hardhat, Hardhat's native
 * package is left out, so the installation runs on the `node` that is one of the
 * dependencies, by npx. The npm scripts run on it, too.
 */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const modules = path.join(root, "node_modules");
const packageLock = path.join(root, "package-lock.json");
/** npm writes it too when an installation is complete. */
const record = path.join(modules, ".package-lock.json");
const node = path.join(modules, "node/bin/node");
// Not in node_modules, which an installation deletes.
const lock = path.join(root, ".setup-lock");
/** Runs this file again, on the Node of npx. */
const KEEP_NODE = "--keep-node";

/** @type {(text: string) => void} */
const say = (text) => void process.stderr.write(`set-up: ${text}\n`);

/** @type {(file: string) => Record<string, { version?: string, integrity?: string, optional?: boolean }>} */
const packagesOf = (file) =>
  fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")).packages : {};

function isInstalled() {
  const wanted = packagesOf(packageLock);
  const installed = packagesOf(record);
  const hasPackages = Object.entries(wanted).every(
    ([key, { integrity, optional }]) =>
      key === "" ||
      (key in installed
        ? installed[key]?.integrity === integrity
        : optional === true),
  );
  const script = 'require("@nomicfoundation/edr")';
  return (
    hasPackages && spawnSync(node, ["-e", script], { cwd: root }).status === 0
  );
}

/** Waits for another set-up: two installations in one folder destroy each other. */
function takeLock() {
  try {
    fs.writeFileSync(lock, String(process.pid), { flag: "wx" });
    return;
  } catch (error) {
    if (Reflect.get(Object(error), "code") !== "EEXIST") {
      throw error;
    }
  }
  try {
    process.kill(Number(fs.readFileSync(lock, "utf8")), 0);
  } catch {
    // Left by a set-up that was killed.
    fs.rmSync(lock, { force: true });
  }
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
  takeLock();
}

/** By pnpm, which takes a fraction of the time of `npm ci`. */
function install() {
  const { version } = packagesOf(packageLock)["node_modules/node"] ?? {};
  const packages = `--package=node@${version} --package=pnpm@12.4.2`;
  const commands = [
    "pnpm install --frozen-lockfile --trust-lockfile --ignore-scripts --config.node-linker=hoisted --reporter=append-only",
    // The package's own script downloads it again, in 20 s.
    `node scripts/setup.mjs ${KEEP_NODE}`,
  ].join(" && ");
  // Without the Node of node_modules, which is not there yet.
  const PATH = process.env.PATH?.split(path.delimiter)
    .filter((folder) => !folder.startsWith(modules))
    .join(path.delimiter);
  fs.rmSync(modules, { recursive: true, force: true });
  // npx is a shell script on Windows. The command has nothing of a user's.
  const { status } = spawnSync(`npx --yes ${packages} --call "${commands}"`, {
    cwd: root,
    shell: true,
    stdio: ["ignore", 2, 2],
    env: { ...process.env, PATH, NODE_ENV: "development" },
  });
  if (status === 0) {
    fs.copyFileSync(packageLock, record);
  }
  if (!isInstalled()) {
    say(
      "failed. Check the message of npm, the network, the free disk space, and the npm settings `registry` and `ignore-scripts`. Then delete node_modules and run the command again.",
    );
    process.exitCode = 1;
  }
}

if (process.argv.includes(KEEP_NODE)) {
  fs.mkdirSync(path.dirname(node), { recursive: true });
  fs.copyFileSync(process.execPath, node);
  // pnpm's names the folder, which may be moved.
  const link = path.join(modules, ".bin/node");
  fs.rmSync(link, { force: true });
  fs.symlinkSync("../node/bin/node", link);
} else if (!isInstalled()) {
  say("installs the dependencies (needs the network and 1 GB, takes a minute)");
  takeLock();
  try {
    if (!isInstalled()) {
      install();
    }
  } finally {
    fs.rmSync(lock, { force: true });
  }
}
