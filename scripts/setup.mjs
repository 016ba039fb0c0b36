// @ts-check
/**
 * Installs the dependencies if they are missing or not those of package-lock.json.
 * Runs on Node 18 and up. Under a Node that is too old for Hardhat, npm leaves out
 * Hardhat's native package, so `npm ci` runs on `npx node@24`. The npm scripts then
 * run on the `node` that is one of the dependencies.
 */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const modules = path.join(root, "node_modules");
// Not in node_modules, which `npm ci` deletes.
const lock = path.join(root, ".setup-lock");

/** @type {(text: string) => void} */
const say = (text) => void process.stderr.write(`set-up: ${text}\n`);

/** @type {(file: string) => Record<string, { integrity?: string, optional?: boolean }>} */
const packagesOf = (file) =>
  fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")).packages : {};

function isInstalled() {
  const wanted = packagesOf(path.join(root, "package-lock.json"));
  // npm writes this record when an installation is complete.
  const installed = packagesOf(path.join(modules, ".package-lock.json"));
  const hasPackages = Object.entries(wanted).every(
    ([key, { integrity, optional }]) =>
      key === "" ||
      (key in installed
        ? installed[key]?.integrity === integrity
        : optional === true),
  );
  const node = path.join(modules, "node/bin/node");
  const script = 'require("@nomicfoundation/edr")';
  return (
    hasPackages && spawnSync(node, ["-e", script], { cwd: root }).status === 0
  );
}

/** Waits for another set-up: two `npm ci` in one folder destroy each other. */
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

function install() {
  const options =
    "--include=dev --include=optional --no-audit --no-fund --loglevel=error";
  // Without the Node of node_modules, which `npm ci` deletes.
  const PATH = process.env.PATH?.split(path.delimiter)
    .filter((folder) => !folder.startsWith(modules))
    .join(path.delimiter);
  // npm and npx are shell scripts on Windows. The command is a constant.
  spawnSync(`npx --yes ${options} --package=node@24 -- npm ci ${options}`, {
    cwd: root,
    shell: true,
    stdio: ["ignore", 2, 2],
    env: { ...process.env, PATH },
  });
  if (!isInstalled()) {
    say(
      "failed. Check the message of npm, the network, the free disk space, and the npm settings `registry` and `ignore-scripts`. Then delete node_modules and run the command again.",
    );
    process.exitCode = 1;
  }
}

if (!isInstalled()) {
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
