import { once } from "node:events";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { text as readText } from "node:stream/consumers";

import { expect } from "chai";

import type { CommandResult } from "../helpers/cli.js";
import { runHardhat, startHardhat } from "../helpers/cli.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { startAnvil } from "../helpers/anvil.js";
import { ORDER_ID, distinctState } from "../helpers/distinct-state.js";
import { everyTaskRun } from "../helpers/every-vault-task.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { connectTo } from "../helpers/hre.js";

const NOTHING = /^$/u;

/** What only a shell shows; the variety is tested in process. */
const commands: ReadonlyArray<
  readonly [
    typed: string,
    exitCode: number,
    stdout: RegExp,
    stderr: RegExp,
    env?: Readonly<Record<string, string>>,
  ]
> = [
  [
    "funding-rate",
    0,
    /^Funding fee rate {2}test \(chain 31337\), block \d+/u,
    NOTHING,
  ],
  [
    `order ${ORDER_ID}`,
    0,
    // eslint-disable-next-line no-control-regex -- colours are control characters
    /^\u001b\[1mOrder\u001b\[22m {2}\u001b\[2mtest[^]*ÄTH\/USDT 🚀/u,
    NOTHING,
    { FORCE_COLOR: "1" },
  ],
  [
    "margins --help",
    0,
    /--apy .* \(required\)\n[^]*--end-time .* \(required\)\n[^]*--max-volume .* \(required\)\n/u,
    NOTHING,
  ],
  ["mock set volume=3 round.APY=4", 0, /^Mocks scripted/u, NOTHING],

  // Mistakes, as they look from a shell.
  [
    "order -- -1",
    1,
    NOTHING,
    /^Error <id> .*"-1".*\n.*\(VAULT_INVALID_INTEGER\)\n$/u,
    { CI: "1" },
  ],
  // What the parser does not know comes to no task.
  ["forecast", 1, NOTHING, /HHE416.*"forecast"/u],
  ["status --narrow", 1, NOTHING, /HHE504.*"--narrow"/u],
  ["volume --network nowhere", 1, NOTHING, /nowhere/u],
];

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
    const { addresses } = await vault.deployMocks({
      overrides: distinctState,
    });
    env = {
      TEST_URL: node.url,
      TEST_VAULT: JSON.stringify({ contracts: addresses, tokenDecimals: 6 }),
    };
  });
  after(async () => {
    await node.stop();
    await project.remove();
  });

  // Two at a time: a machine that runs tests may have no more than two cores.
  for (let at = 0; at < commands.length; at += 2) {
    const pair = commands.slice(at, at + 2);
    it(`a shell gets exit code and streams of vault ${pair.map(([typed]) => typed).join(", and of vault ")}`, async () => {
      await Promise.all(
        pair.map(async ([typed, exitCode, out, err, more]) => {
          const network = typed.includes("--network") ? "" : "--network test ";
          const result = await runHardhat(
            `vault ${network}${typed}`.split(" "),
            { cwd: project.path, env: { ...env, ...more } },
          );
          expect(result.stdout).to.match(out);
          expect(result.stderr)
            .to.match(err)
            .and.not.match(/\n\s+at /u);
          expect(result.exitCode).to.equal(exitCode);
        }),
      );
    });
  }

  describe("into a pipe that nobody reads from", () => {
    /** Runs a command whose reader has gone, and says what is left to be read. */
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

    it("a task ends with the exit code of its outcome and prints nothing on stderr if the reader closes the pipe", async () => {
      const quiet = { stdout: "", stderr: "" };
      const [status, mistake] = await Promise.all([
        runUnread(["vault", "status"], ["stdout"]),
        runUnread(["vault", "order", "x", "--json"], ["stdout"]),
      ]);
      expect(status).to.deep.equal({ ...quiet, exitCode: 0 });
      expect(mistake).to.deep.equal({ ...quiet, exitCode: 1 });
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
