// @ts-check
/**
 * Installs the dependencies if they are missing or not those of package-lock.json.
 * Runs on Node 18 and up. If the machine's Node is too old for this project, a
 * newer one from npm is put among the programs of node_modules, which the npm
 * scripts find first.
 */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const modules = path.join(root, "node_modules");
const packageLock = path.join(root, "package-lock.json");
/** What a set-up makes and puts aside, until node_modules is complete. */
const staging = path.join(root, ".setup");
/** The old node_modules, while the new one takes its place. */
const replaced = path.join(staging, "replaced");
const lock = path.join(root, ".setup-lock");
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
  const wanted = packagesOf(packageLock);
  // npm writes it when an installation is complete.
  const installed = packagesOf(path.join(modules, ".package-lock.json"));
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

/** Waits for another set-up: two that end at once would replace each other's node_modules. */
function takeLock() {
  for (let waits = 0; !createLock(); waits += 1) {
    const owner = fs.existsSync(lock) ? fs.readFileSync(lock, "utf8") : "";
    if (!isRunning(Number(owner))) {
      // Left by a set-up that was killed.
      fs.rmSync(lock, { force: true });
    } else if (waits === 1) {
      say(
        `waits for another set-up, process ${owner}. If there is none, delete ${lock}`,
      );
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
  }
}

function createLock() {
  try {
    fs.writeFileSync(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (Reflect.get(Object(error), "code") !== "EEXIST") {
      throw error;
    }
    return false;
  }
}

/** @type {(pid: number) => boolean} */
function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/**
 * Runs a program of npm, which is a shell script on Windows. The commands have
 * nothing of a user's.
 * @type {(command: string, PATH: string | undefined, cwd: string, output: number | "pipe") => import("node:child_process").SpawnSyncReturns<Buffer>}
 */
const run = (command, PATH, cwd, output) =>
  spawnSync(command, {
    cwd,
    env: { ...env, PATH },
    shell: true,
    stdio: ["ignore", output, 2],
  });

/**
 * The program of a Node that is new enough, by npx.
 * @type {(cwd: string) => string}
 */
function newerNode(cwd) {
  // That package gets its program by a script, which some users switch off.
  const options = `--yes --ignore-scripts=false --package=node@${NEWER_NODE}`;
  const command = `npx ${options} -- node -p process.execPath`;
  const program = String(run(command, env.PATH, cwd, "pipe").stdout).trim();
  if (program === "") {
    throw new Error(
      "this project needs Node 22.18 or newer, and npm got none that runs here: install one (https://nodejs.org)",
    );
  }
  return program;
}

/** Makes a new installation, and puts it in place when it is complete. */
function install() {
  // An npm whose set-up was killed may still write to the folder of that one.
  const folder = fs.mkdtempSync(path.join(staging, "npm-"));
  for (const name of ["package.json", "package-lock.json", ".npmrc"]) {
    fs.copyFileSync(path.join(root, name), path.join(folder, name));
  }
  const newer = isNewEnough("node") ? undefined : newerNode(folder);
  const folders = newer === undefined ? [] : [path.dirname(newer)];
  // No package needs its own script: the native ones bring what they run.
  const { status } = run(
    "npm ci --ignore-scripts --no-audit --no-fund --loglevel=error",
    [...folders, env.PATH].join(path.delimiter),
    folder,
    2,
  );
  if (status !== 0) {
    throw new Error("npm did not install the packages");
  }
  const installed = path.join(folder, "node_modules");
  if (newer !== undefined) {
    fs.copyFileSync(newer, path.join(installed, ".bin", nodeName));
  }
  if (fs.existsSync(modules)) {
    fs.renameSync(modules, replaced);
  }
  fs.renameSync(installed, modules);
}

/** Brings back the old installation if the new one did not take its place. */
function restore() {
  if (!fs.existsSync(modules) && fs.existsSync(replaced)) {
    fs.renameSync(replaced, modules);
  }
}

function clean() {
  try {
    fs.rmSync(staging, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // Something still writes there. The next set-up removes it.
  }
}

if (!isInstalled()) {
  takeLock();
  try {
    // After a set-up that was killed.
    restore();
    clean();
    if (!isInstalled()) {
      say("installs the dependencies (network, 1 GB of disk, some minutes)");
      fs.mkdirSync(staging, { recursive: true });
      install();
      if (!isInstalled()) {
        throw new Error("the installation is not what package-lock.json says");
      }
    }
  } catch (error) {
    say(`${error instanceof Error ? error.message : String(error)}.`);
    say(
      "failed. Check the message of npm, the network, the free disk space, and the npm setting `registry`; then run `node scripts/setup.mjs`. An installation that was there before is as it was.",
    );
    process.exitCode = 1;
  } finally {
    restore();
    clean();
    fs.rmSync(lock, { force: true });
  }
}
