import { execFile } from "node:child_process";
import { glob, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

import { expect } from "chai";

import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { environmentWithoutColours } from "../helpers/cli.js";
import { fieldsOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { hardhatCli } from "../helpers/hardhat-node.js";
import { connectTo } from "../helpers/hre.js";

/** Words that one block alone has, a command after it, and what is printed. */
const blocks = [
  ["jq -c 'select(.changed", "", /^\[7,false\]\n$/u],
  ["jq -r '.simulation.changes[]", "", /^[1-9]\d*\n$/u],
  ["jq .block.number", "cat orders.ndjson", /(?:^\{"orderID":.*\n){1000}$/mu],
] as const;

/** As `npx hardhat`, but for a watch, which would not end. */
const npx = `#!/bin/sh
if [ "$3" = watch ]; then
  echo '{"block":{"number":6},"changed":[],"canBeSettled":true}'
  echo '{"block":{"number":7},"changed":["canBeSettled"],"canBeSettled":false}'
else
  shift
  exec "${process.execPath}" "${hardhatCli}" "$@"
fi
`;

/** The keeper's commands: lines of cron, of systemd, and one that somebody types. */
async function keeperCommands(): Promise<readonly string[]> {
  const text = [
    await readFile("docs/monitoring.md", "utf8"),
    await readFile("examples/keeper/systemd/vault-keeper.service", "utf8"),
  ].join("\n");
  return [
    ...text.matchAll(
      /^(?:\* \* \* \* \* |ExecStart=|(?=node_modules))(.*\/hardhat .*)$/gmu,
    ),
  ].map(([, command = ""]) => command);
}

// They need bash and jq.
describe("what a shell does with the commands of the documents", () => {
  let anvil: ServerProcess;
  let project: FixtureProject;

  beforeEach(async () => {
    [anvil, project] = await Promise.all([
      startAnvil(),
      useFixtureProject("plain"),
    ]);
  });
  afterEach(async () => {
    await anvil.stop();
    await project.remove();
  });

  /** Mocks for the project, and the program in a folder of it. */
  async function arrange(
    scenario: "many-orders" | "expired-round",
    folder: string,
    place: (folder: string) => Promise<void>,
  ): Promise<NodeJS.ProcessEnv> {
    const { vault } = await connectTo(anvil.url);
    const { addresses } = await vault.deployMocks({ scenario });
    const bin = path.join(project.path, folder);
    await mkdir(bin, { recursive: true });
    await place(bin);
    return {
      TEST_URL: anvil.url,
      TEST_VAULT: JSON.stringify({ contracts: addresses }),
    };
  }

  for (const [words, then, printed] of blocks) {
    it(`the block of a page with "${words}" prints what the page promises`, async () => {
      const env = await arrange("many-orders", "bin", async (bin) => {
        await writeFile(path.join(bin, "npx"), npx, { mode: 0o755 });
      });
      const found: string[] = [];
      for await (const page of glob("docs/*.md")) {
        const text = await readFile(page, "utf8");
        found.push(
          ...(text.match(/(?<=^```sh\n).*?(?=^```$)/gmsu) ?? []).filter(
            (block) => block.includes(words),
          ),
        );
      }
      expect(found).to.have.lengthOf(1);
      const script = `${found.join("")}${then}`.replaceAll(
        /--network \w+/gu,
        "--network test",
      );
      const { stdout } = await promisify(execFile)("bash", ["-euc", script], {
        cwd: project.path,
        env: {
          ...environmentWithoutColours(),
          ...env,
          PATH: `${project.path}/bin:${process.env["PATH"]}`,
        },
      });
      expect(stdout).to.match(printed);
    });
  }

  it("each keeper of docs/monitoring.md settles, or finds nothing to do, under the environment of cron, and writes its log or its metrics", async () => {
    const env = await arrange(
      "expired-round",
      "node_modules/.bin",
      async (bin) => {
        await symlink(hardhatCli, path.join(bin, "hardhat"));
      },
    );
    // A file for a shell and for systemd: PATH, and the settings.
    await writeFile(
      path.join(project.path, "keeper.env"),
      [
        `PATH=${path.dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
        ...Object.entries(env).map(([name, value]) => `${name}='${value}'`),
        "HARDHAT_DISABLE_TELEMETRY_PROMPT=true\n",
      ].join("\n"),
    );
    const run = async (command: string): Promise<string> => {
      expect(command).to.match(/ --timeout \d+ /u);
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
    const written = async (name: string): Promise<string> =>
      await readFile(path.join(project.path, name), "utf8");
    const one = (commands: readonly string[], words: RegExp): string => {
      const [found = "", ...more] = commands.filter((each) => words.test(each));
      expect(more).to.deep.equal([]);
      return found;
    };
    const commands = await keeperCommands();
    expect(commands).to.have.lengthOf(4);

    await run(one(commands, /jq/u));
    const document = fieldsOf(JSON.parse(await written("keeper.log")));
    expect(document["time"]).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/u);
    expect(document["settlement"]).to.include({ status: "settled" });
    expect(await written("keeper.err")).to.include("Transaction 0x");

    for (const words of [/^\/srv/u, /^node_modules/u]) {
      const settle = one(commands, words);
      const printed = await run(
        `set -a && . /etc/vault-keeper.env && ${settle}`,
      );
      expect(fieldsOf(JSON.parse(printed))["settlement"]).to.include({
        status: "nothing-to-do",
      });
    }

    await run(one(commands, /prometheus/u));
    expect(await written("vault.prom")).to.match(
      /^vault_up\{network="test",chain_id="31337",instance=""\} 1$/mu,
    );
  });
});
