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

const KEY = "a1b2c3d4e5f60718293a4b5c6d7e8f90";

/** One command, and what has to come of it. */
interface Command {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly network?: string;
  readonly check: (result: CommandResult) => void;
}

const succeeds =
  (...lines: readonly RegExp[]) =>
  ({ stdout, stderr, exitCode }: CommandResult): void => {
    expect(stderr).to.equal("");
    expect(exitCode).to.equal(0);
    expect(stdout).to.not.contain("\u001b");
    for (const line of lines) {
      expect(stdout).to.match(line);
    }
  };

const fails =
  (code: string, ...words: readonly string[]) =>
  (result: CommandResult): void => {
    const { stdout, stderr, exitCode } = result;
    expect(exitCode).to.equal(1);
    expect(stdout).to.equal("");
    expect(stderr).to.contain(code);
    for (const word of words) {
      expect(stderr).to.contain(word);
    }
    expect(stderr)
      .to.not.match(/\n\s+at /u)
      .and.not.contain(KEY);
    expect(stderr.trimEnd().split("\n")).to.have.lengthOf(2);
  };

/** What the parser does not know comes to no task. */
const isRefusedByHardhat =
  (code: string, ...words: readonly string[]) =>
  ({ stdout, stderr, exitCode }: CommandResult): void => {
    expect({ stdout, exitCode }).to.deep.equal({ stdout: "", exitCode: 1 });
    for (const word of [code, ...words]) {
      expect(stderr).to.contain(word);
    }
    expect(stderr)
      .to.not.match(/\n\s+at /u)
      .and.not.contain("VAULT_");
  };

const orderID = ORDER_ID.toString();

/** What only a shell shows; the variety is tested in process. */
const commands: readonly Command[] = [
  {
    args: ["funding-rate"],
    check: succeeds(/^Funding fee rate {2}test \(chain 31337\), block \d+/u),
  },
  {
    args: ["order", orderID],
    env: { FORCE_COLOR: "1" },
    check: ({ stdout, stderr, exitCode }) => {
      expect({ stderr, exitCode }).to.deep.equal({ stderr: "", exitCode: 0 });
      expect(
        stdout.startsWith("\u001b[1mOrder\u001b[22m  \u001b[2mtest"),
      ).to.equal(true);
      expect(stdout).to.match(/ÄTH\/USDT 🚀/u);
    },
  },
  {
    args: ["margins", "--help"],
    check: succeeds(
      /^ *--max-volume .* \(required\)$/mu,
      /^ *--apy .* \(required\)$/mu,
      /^ *--end-time .* \(required\)$/mu,
    ),
  },
  {
    args: ["funding-rate", "--help"],
    check: ({ stdout }) => {
      expect(stdout).to.contain("--type").and.not.contain("(required)");
    },
  },
  {
    args: ["volume", "--from", "0x000000000000000000000000000000000000dEaD"],
    env: { NO_COLOR: "1" },
    check: succeeds(/^Volume +45 raw$/mu),
  },
  {
    args: ["request", "getOrderInfo", orderID],
    check: succeeds(/"method": "eth_call"/u, /"0xd311636b0{13}10{49}7/u),
  },
  {
    args: ["request", "getLPAmountInfo", "--pool", "public", "--curl"],
    check: succeeds(/^curl .*0x53ac2d24.*"\$RPC_URL"$/mu),
  },

  // Mistakes, as they look from a shell.
  {
    args: ["order", "--", "-1"],
    env: { CI: "1" },
    check: fails("VAULT_INVALID_INTEGER", "<id>", '"-1"'),
  },
  {
    args: ["status"],
    network: "withUrlVariable",
    env: { CI: "1" },
    check: fails("VAULT_CONFIG_VARIABLE", "TEST_UNSET_URL"),
  },
  {
    args: ["forecast"],
    check: isRefusedByHardhat("HHE416", '"forecast"'),
  },
  {
    args: ["status", "--narrow"],
    check: isRefusedByHardhat("HHE504", '"--narrow"'),
  },
  {
    args: ["volume"],
    network: "nowhere",
    check: ({ stdout, stderr, exitCode }) => {
      expect(exitCode).to.equal(1);
      expect(stdout).to.equal("");
      expect(stderr).to.contain("nowhere");
      expect(stderr).to.not.match(/\n\s+at /u);
    },
  },
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

  const run = async (command: Command): Promise<CommandResult> =>
    await runHardhat(
      ["vault", "--network", command.network ?? "test", ...command.args],
      { cwd: project.path, env: { ...env, ...command.env } },
    );

  // Two at a time: a machine that runs tests may have no more than two cores.
  for (let at = 0; at < commands.length; at += 2) {
    const pair = commands.slice(at, at + 2);
    it(`should do ${pair.map(({ args }) => args.join(" ")).join(", and ")}`, async () => {
      const results = await Promise.all(pair.map(run));
      pair.forEach(({ check }, index) => {
        const result = results[index];
        if (result !== undefined) {
          check(result);
        }
      });
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

    it("should end quietly, with the exit code of what was done", async () => {
      const quiet = { stdout: "", stderr: "" };
      const [status, mistake] = await Promise.all([
        runUnread(["vault", "status"], ["stdout"]),
        runUnread(["vault", "order", "x", "--json"], ["stdout"]),
      ]);
      expect(status).to.deep.equal({ ...quiet, exitCode: 0 });
      expect(mistake).to.deep.equal({ ...quiet, exitCode: 1 });
    });

    it("should end quietly, and do what it does, whatever the task", async () => {
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
