// @ts-check
/**
 * Installs the dependencies if they are missing or not those of package-lock.json.
 * Runs on Node 18 and up. Where the machine's Node is too old for this project, a
 * newer one from npm is put among the programs of node_modules, which the npm
 * scripts find first.
 */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const modules = path.join(root, "node_modules");
const manifest = path.join(root, "package.json");
const packageLock = path.join(root, "package-lock.json");
/** The installation is made here, and takes the place of node_modules when it is complete. */
const staging = path.join(root, ".setup");
const lock = path.join(root, ".setup-lock");
/** Of the Node that this project brings where the machine's is too old. */
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
 * Whether a Node is at least the one that package.json asks for.
 * @type {(program: string) => boolean}
 */
function isNewEnough(program) {
  const [, major, minor] =
    /"node": ">=(\d+)\.(\d+)/u.exec(fs.readFileSync(manifest, "utf8")) ?? [];
  const script = `const [a, b] = process.versions.node.split("."); process.exit(a > ${major} || (a == ${major} && b >= ${minor}) ? 0 : 1)`;
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

/**
 * Runs a program of npm, which is a shell script on Windows. The commands have
 * nothing of a user's.
 * @type {(command: string, PATH: string | undefined, output: number | "pipe") => import("node:child_process").SpawnSyncReturns<Buffer>}
 */
const run = (command, PATH, output) =>
  spawnSync(command, {
    cwd: staging,
    env: { ...env, PATH },
    shell: true,
    stdio: ["ignore", output, 2],
  });

/** The program of a Node that is new enough, by npx. */
function newerNode() {
  const command = `npx --yes --package=node@${NEWER_NODE} -- node -p process.execPath`;
  return String(run(command, env.PATH, "pipe").stdout).trim();
}

function install() {
  fs.rmSync(staging, { recursive: true, force: true });
  fs.mkdirSync(staging);
  for (const name of ["package.json", "package-lock.json", ".npmrc"]) {
    fs.copyFileSync(path.join(root, name), path.join(staging, name));
  }
  const newer = isNewEnough("node") ? undefined : newerNode();
  const folders = newer === undefined ? [] : [path.dirname(newer)];
  // No package needs its own script: the native ones bring what they run.
  const { status } = run(
    "npm ci --ignore-scripts --no-audit --no-fund --loglevel=error",
    [...folders, env.PATH].join(path.delimiter),
    2,
  );
  if (status === 0 && newer !== undefined) {
    const program = path.join(staging, "node_modules/.bin", nodeName);
    fs.copyFileSync(newer, program);
  }
  return status === 0;
}

/** Nothing is deleted before all of the new installation is there. */
function swapIn() {
  if (fs.existsSync(modules)) {
    fs.renameSync(modules, path.join(staging, "replaced"));
  }
  fs.renameSync(path.join(staging, "node_modules"), modules);
}

if (!isInstalled()) {
  takeLock();
  try {
    if (!isInstalled()) {
      say("installs the dependencies (network, 1 GB of disk, some minutes)");
      if (install()) {
        swapIn();
      }
      if (!isInstalled()) {
        say(
          "failed. Check the message of npm, the network, the free disk space, and the npm setting `registry`; then run the command again. An installation that was there before is as it was.",
        );
        process.exitCode = 1;
      }
    }
  } finally {
    fs.rmSync(staging, { recursive: true, force: true });
    fs.rmSync(lock, { force: true });
  }
}
