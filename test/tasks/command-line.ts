import { once } from "node:events";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { text as readText } from "node:stream/consumers";

import { expect } from "chai";

import type { CommandResult } from "../helpers/cli.js";
import { runHardhat, startHardhat } from "../helpers/cli.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { startAnvil } from "../helpers/anvil.js";
import { everyTaskRun } from "../helpers/every-vault-task.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { connectTo } from "../helpers/hre.js";

/** What only a shell shows; every other test of a task runs it in process. */
const commands = [
  [
    "mock set volume=3 round.APY=4",
    { FORCE_COLOR: "1" },
    // eslint-disable-next-line no-control-regex -- colours are control characters
    { exitCode: 0, stdout: /^\u001b\[\d+mMocks scripted/u, stderr: /^$/u },
  ],
  [
    "order -- -1",
    { CI: "1" },
    {
      exitCode: 1,
      stdout: /^$/u,
      stderr: /^Error <id> .*"-1".*\n.*\(VAULT_INVALID_INTEGER\)\n$/u,
    },
  ],
] as const;

describe("the command line", function () {
  let node: ServerProcess;
  let project: FixtureProject;
  let env: Readonly<Record<string, string>>;

  before(async () => {
    [node, project] = await Promise.all([
      startAnvil(),
      useFixtureProject("plain"),
    ]);
    const { vault } = await connectTo(node.url);
    const { addresses } = await vault.deployMocks();
    env = {
      TEST_URL: node.url,
      TEST_VAULT: JSON.stringify({ contracts: addresses, tokenDecimals: 6 }),
    };
  });
  after(async () => {
    await node.stop();
    await project.remove();
  });

  for (const [typed, more, { exitCode, stdout, stderr }] of commands) {
    it(`a shell gets exit code ${exitCode} and the streams of vault ${typed}`, async () => {
      const result = await runHardhat(
        `vault --network test ${typed}`.split(" "),
        { cwd: project.path, env: { ...env, ...more } },
      );
      expect(result.stdout).to.match(stdout);
      expect(result.stderr).to.match(stderr);
      expect(result.exitCode).to.equal(exitCode);
    });
  }

  describe("if the reader closes a pipe", () => {
    /** Runs a command, and returns what the pipes that stay open got. */
    const runUnread = async (
      args: readonly string[],
      closed: ReadonlyArray<"stdout" | "stderr">,
      more: Readonly<Record<string, string>> = {},
    ): Promise<CommandResult> => {
      const child = startHardhat([...args, "--network", "test"], {
        cwd: project.path,
        env: { ...env, ...more },
      });
      const read = async (name: "stdout" | "stderr"): Promise<string> => {
        const stream = child[name];
        if (stream === null || closed.includes(name)) {
          stream?.destroy();
          return "";
        }
        return await readText(stream);
      };
      const [stdout, stderr] = await Promise.all([
        read("stdout"),
        read("stderr"),
        once(child, "close"),
      ]);
      return { stdout, stderr, exitCode: child.exitCode };
    };

    it("a task that fails ends with 1 and prints nothing on stderr if the reader closes the pipe", async () => {
      const typed = "vault order x --json".split(" ");
      expect(await runUnread(typed, ["stdout"])).to.deep.equal({
        ...{ stdout: "", stderr: "", exitCode: 1 },
      });
    });

    it("every task does its work and succeeds if the readers close both pipes", async () => {
      const ends = path.join(project.path, "ends");
      const out = path.join(project.path, "unread");
      const runs = everyTaskRun()
        // A fork takes as long as ten other tasks.
        .filter(({ args }) => args["fork"] !== true)
        .map(({ task, args }) => ({
          task,
          args: { ...args, ...("out" in args ? { out } : {}) },
        }));
      const { vault } = await connectTo(node.url);
      const { addresses } = await vault.deployMocks({
        scenario: "expired-round",
      });
      const result = await runUnread(
        ["run", "--no-compile", "every-task.ts"],
        ["stdout", "stderr"],
        {
          TEST_VAULT: JSON.stringify({
            contracts: addresses,
            tokenDecimals: 18,
          }),
          TEST_ENDS: ends,
          TEST_RUNS: JSON.stringify(runs.map(({ task, args }) => [task, args])),
        },
      );
      expect(result.exitCode).to.equal(0);
      expect(await readFile(ends, "utf8")).to.equal(
        runs
          .map(
            ({ task, args }) =>
              `${task} ${JSON.stringify(args)}: ${String(Reflect.get(args, "assert") !== true)}\n`,
          )
          .join(""),
      );
    });
  });
});
