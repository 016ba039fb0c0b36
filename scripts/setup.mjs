// @ts-check
/**
 * Installs the dependencies if they are missing or not those of package-lock.json.
 * Runs on Node 18 and up. If the machine's Node is too old for this project, a
 * newer one from npm is put among the programs of node_modules, which the npm
 * scripts find first. If it is killed, the next one installs again.
 */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const modules = path.join(root, "node_modules");
/** npm writes it when an installation is complete. */
const installedLock = path.join(modules, ".package-lock.json");
/** The Node that the set-up gets if the machine's is too old. */
const NEWER_NODE = "24";
const nodeName = process.platform === "win32" ? "node.exe" : "node";
const ownNode = path.join(modules, ".bin", nodeName);

/** What this process would find without the programs of node_modules. */
const env = {
  ...process.env,
  NODE_ENV: "development",
  PATH: process.env.PATH?.split(path.delimiter)
    .filter((folder) => !folder.startsWith(modules))
    .join(path.delimiter),
};

/** @type {(text: string) => void} */
const say = (text) => void process.stderr.write(`set-up: ${text}\n`);

/** @type {(file: string) => Record<string, { integrity?: string, optional?: boolean }>} */
const packagesOf = (file) =>
  fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")).packages : {};

/**
 * Whether a Node runs scripts in TypeScript. The package itself runs on older ones.
 * @type {(program: string) => boolean}
 */
function isNewEnough(program) {
  const script = "process.exit(process.features.typescript ? 0 : 1)";
  return spawnSync(program, ["-e", script], { env }).status === 0;
}

function isInstalled() {
  const wanted = packagesOf(path.join(root, "package-lock.json"));
  const installed = packagesOf(installedLock);
  const hasPackages = Object.entries(wanted).every(
    ([key, { integrity, optional }]) =>
      key === "" ||
      (key in installed
        ? installed[key]?.integrity === integrity
        : optional === true),
  );
  const node = fs.existsSync(ownNode) ? ownNode : "node";
  // A native package, which is there for this system and this Node only.
  const script = 'require("@nomicfoundation/edr")';
  return (
    hasPackages &&
    isNewEnough(node) &&
    spawnSync(node, ["-e", script], { cwd: root, env }).status === 0
  );
}

/**
 * Runs a program of npm, which is a shell script on Windows. The commands have
 * nothing of a user's.
 * @type {(command: string, PATH: string | undefined, output: number | "pipe") => import("node:child_process").SpawnSyncReturns<Buffer>}
 */
const run = (command, PATH, output) =>
  spawnSync(command, {
    cwd: root,
    env: { ...env, PATH },
    shell: true,
    stdio: ["ignore", output, 2],
  });

/** The program of a Node that is new enough, by npx. */
function newerNode() {
  // That package gets its program by a script, which some users switch off.
  const options = `--yes --ignore-scripts=false --package=node@${NEWER_NODE}`;
  const command = `npx ${options} -- node -p process.execPath`;
  const program = String(run(command, env.PATH, "pipe").stdout).trim();
  if (program === "") {
    throw new Error(
      "this project needs Node 22.18 or newer, and npm got none that runs here: install one (https://nodejs.org)",
    );
  }
  return program;
}

function install() {
  const newer = isNewEnough("node") ? undefined : newerNode();
  const folders = newer === undefined ? [] : [path.dirname(newer)];
  // It begins with an empty node_modules. No package needs its own script: the
  // native ones bring what they run.
  const { status } = run(
    "npm ci --ignore-scripts --no-audit --no-fund --loglevel=error",
    [...folders, env.PATH].join(path.delimiter),
    2,
  );
  if (status !== 0) {
    throw new Error("npm did not install the packages");
  }
  if (newer !== undefined) {
    // Renamed once it is whole: npm would find a part of it before any other.
    fs.copyFileSync(newer, `${ownNode}.part`);
    fs.renameSync(`${ownNode}.part`, ownNode);
  }
}

if (!isInstalled()) {
  try {
    say("installs the dependencies (network, 1 GB of disk, some minutes)");
    install();
    if (!isInstalled()) {
      throw new Error("the installation is not what package-lock.json says");
    }
  } catch (error) {
    say(`${error instanceof Error ? error.message : String(error)}.`);
    say(
      "failed. Check the message of npm, the network, the free disk space, and the npm setting `registry`; then run `node scripts/setup.mjs` again.",
    );
    process.exitCode = 1;
  }
}
