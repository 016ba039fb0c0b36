/**
 * Measures what the plugin and its hardhat-ethers dependency cost a project on
 * viem: Hardhat's own template, without them, with hardhat-ethers alone, and
 * with this package. Run it after `npm run build`, as
 * `node --import tsx bench/measure-viem-cost.ts [runs]`; the figures stand in
 * docs/testing-with-mocks.md.
 */
import {
  cp,
  mkdtemp,
  readFile,
  readdir,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { median } from "../bench/measure.js";
import {
  lockFileOf,
  manifestOf,
  npmOptions,
} from "../test/helpers/consumers/consumer-project.js";
import { consumers } from "../test/helpers/consumers/definitions.js";
import { runCommand } from "../test/helpers/consumers/run-command.js";
import { packTarball } from "../test/helpers/tarball.js";

const script = `import { network } from "hardhat";
const { provider } = await network.create();
await provider.request({ method: "eth_blockNumber" });
process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  console.log("cpu", (user + system) / 1e3);
});
`;

/** What stands beside the toolbox, and where it comes from. */
const variants = [
  { name: "the viem toolbox", packages: [], plugin: undefined },
  {
    name: "and hardhat-ethers",
    packages: ["@nomicfoundation/hardhat-ethers", "ethers"],
    plugin: "@nomicfoundation/hardhat-ethers",
  },
  {
    name: "and hardhat-vault",
    packages: [(await packTarball()).file, "@nomicfoundation/hardhat-ethers"],
    plugin: "hardhat-vault",
  },
] as const;

const runs = Number(process.argv[2] ?? 11);
const folder = await mkdtemp(path.join(tmpdir(), "hardhat-vault-viem-cost-"));
try {
  const projects = [];
  for (const variant of variants) {
    const project = path.join(folder, `project-${projects.length}`);
    await createProject(project, variant);
    projects.push({
      name: variant.name,
      project,
      megabytes: (await sizeOf(path.join(project, "node_modules"))) / 1e6,
      wall: new Array<number>(),
      cpu: new Array<number>(),
    });
  }
  // In turns, so that whatever else the machine does meets all of them; the
  // first turn fills caches.
  for (let turn = 0; turn <= runs; turn += 1) {
    for (const { project, wall, cpu } of projects) {
      const start = performance.now();
      const used = await startHardhat(project);
      if (turn > 0) {
        wall.push(performance.now() - start);
        cpu.push(used);
      }
    }
  }
  console.table(
    projects.map(({ name, megabytes, wall, cpu }) => ({
      "project with": name,
      "node_modules, MB": Math.round(megabytes * 10) / 10,
      "start and first request, ms": Math.round(median(wall)),
      "processor time, ms": Math.round(median(cpu)),
    })),
  );
} finally {
  await rm(folder, { recursive: true });
}

async function createProject(
  project: string,
  { packages, plugin }: (typeof variants)[number],
): Promise<void> {
  const viem = consumers.find(({ name }) => name === "viem");
  if (viem === undefined) {
    throw new Error("there is no viem consumer");
  }
  await cp(
    path.join(
      import.meta.dirname,
      "../node_modules/hardhat/templates",
      String(viem.template),
    ),
    project,
    { recursive: true },
  );
  await writeFile(path.join(project, "package.json"), await manifestOf(viem));
  await cp(lockFileOf(viem), path.join(project, "package-lock.json"));
  await runCommand("npm", ["ci", ...npmOptions], { cwd: project });
  if (packages.length > 0) {
    await runCommand(
      "npm",
      ["install", "--save-dev", ...packages, ...npmOptions],
      { cwd: project },
    );
  }
  await writeFile(path.join(project, "first-request.ts"), script);
  if (plugin !== undefined) {
    const config = path.join(project, "hardhat.config.ts");
    const text = await readFile(config, "utf8");
    await writeFile(
      config,
      `import added from "${plugin}";\n${text.replace("plugins: [", "plugins: [added, ")}`,
    );
  }
}

/** @returns Milliseconds of processor time. */
async function startHardhat(project: string): Promise<number> {
  const stdout = await runCommand(
    process.execPath,
    [
      path.join(project, "node_modules/hardhat/dist/src/cli.js"),
      ...["run", "--no-compile", "first-request.ts"],
    ],
    { cwd: project },
  );
  return Number(/^cpu (\S+)$/mu.exec(stdout)?.[1]);
}

async function sizeOf(directory: string): Promise<number> {
  const entries = await readdir(directory, {
    recursive: true,
    withFileTypes: true,
  });
  let bytes = 0;
  for (const entry of entries) {
    if (entry.isFile()) {
      bytes += (await stat(path.join(entry.parentPath, entry.name))).size;
    }
  }
  return bytes;
}
