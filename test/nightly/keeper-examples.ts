import { execFile, spawnSync } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

import { expect } from "chai";

import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { repositoryRoot } from "../helpers/consumers/consumer-project.js";
import { fieldsOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { connectTo } from "../helpers/hre.js";
import { describeOnPosix } from "../helpers/posix.js";

/** The keeper's commands on the page, by the word that only one of them has. */
async function commandsOf(page: string): Promise<readonly string[]> {
  const text = await readFile(page, "utf8");
  return [
    ...text.matchAll(/^(?:\* \* \* \* \* |ExecStart=)(.*hardhat.*)$/gmu),
    ...text.matchAll(/^(node_modules\/\.bin\/hardhat .*)$/gmu),
  ].map(([, command = ""]) => command);
}

const hasJq = spawnSync("jq", ["--version"]).status === 0;

describeOnPosix("the keeper's examples of docs/monitoring.md", () => {
  let anvil: ServerProcess;
  let project: FixtureProject;

  before(async () => {
    anvil = await startAnvil();
    project = await useFixtureProject("plain");
    const bin = path.join(project.path, "node_modules/.bin");
    await mkdir(bin, { recursive: true });
    await symlink(
      path.join(repositoryRoot, "node_modules/hardhat/dist/src/cli.js"),
      path.join(bin, "hardhat"),
    );
    const { vault } = await connectTo(anvil.url);
    const { addresses } = await vault.deployMocks({
      scenario: "expired-round",
    });
    const settings = JSON.stringify({ contracts: addresses });
    // A file for a shell and for systemd: PATH, and the settings.
    await writeFile(
      path.join(project.path, "keeper.env"),
      [
        `PATH=${path.dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
        `TEST_URL=${anvil.url}`,
        `TEST_VAULT='${settings}'`,
        "HARDHAT_DISABLE_TELEMETRY_PROMPT=true",
        "",
      ].join("\n"),
    );
  });
  after(async () => {
    await anvil.stop();
    await project.remove();
  });

  /** Runs a command in the environment that cron gives it. */
  const run = async (command: string): Promise<string> => {
    const filled = command
      .replaceAll("/srv/keeper", project.path)
      .replaceAll("/etc/vault-keeper.env", `${project.path}/keeper.env`)
      .replaceAll("/var/lib/prometheus/node-exporter", project.path)
      .replaceAll("--network mainnet", "--network test");
    const { stdout } = await promisify(execFile)("/bin/sh", ["-c", filled], {
      cwd: project.path,
      env: { PATH: "/usr/bin:/bin", HOME: project.path },
    });
    return stdout;
  };

  const inEnvironment = (command: string): string =>
    `set -a && . /etc/vault-keeper.env && ${command}`;

  it("each has --timeout, and calls the Hardhat that is installed", async () => {
    const commands = await commandsOf("docs/monitoring.md");
    expect(commands).to.have.lengthOf(4);
    for (const command of commands) {
      expect(command).to.match(/node_modules\/\.bin\/hardhat vault/u);
      expect(command).to.match(/ --timeout \d+ /u);
      expect(command).to.not.include("npx");
    }
  });

  const itWithJq = hasJq ? it : it.skip;
  itWithJq(
    "each settles, or finds nothing to do, and logs one document a line; cron's with a time (with jq)",
    async () => {
      const commands = await commandsOf("docs/monitoring.md");
      const settling = commands.filter((one) => one.includes("vault settle"));
      const [cron = "", service = "", typed = ""] = [
        ...settling.filter((one) => one.includes("jq")),
        ...settling.filter((one) => one.startsWith("/srv")),
        ...settling.filter((one) => one.startsWith("node_modules")),
      ];
      await run(cron);
      const log = await readFile(path.join(project.path, "keeper.log"), "utf8");
      expect(log).to.match(/^[^\n]+\n$/u);
      const document = fieldsOf(JSON.parse(log));
      expect(document["time"]).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/u);
      expect(document["settlement"]).to.include({ status: "settled" });
      const errors = await readFile(
        path.join(project.path, "keeper.err"),
        "utf8",
      );
      expect(errors).to.include(
        `Transaction ${String(fieldsOf(document["settlement"])["hash"])}`,
      );
      for (const command of [service, typed]) {
        const printed = await run(inEnvironment(command));
        expect(printed).to.match(/^[^\n]+\n$/u);
        expect(fieldsOf(JSON.parse(printed))["settlement"]).to.include({
          status: "nothing-to-do",
        });
      }
    },
  );

  it("the metrics' one writes the collector's file", async () => {
    const [command = ""] = (await commandsOf("docs/monitoring.md")).filter(
      (one) => one.includes("prometheus"),
    );
    await run(command);
    const file = path.join(project.path, "vault.prom");
    expect(await readFile(file, "utf8")).to.match(
      /^vault_up\{network="test",chain_id="31337",instance=""\} 1$/mu,
    );
  });
});
