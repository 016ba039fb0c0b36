import { once } from "node:events";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { text as readText } from "node:stream/consumers";

import { expect } from "chai";

import { useAnvil } from "../helpers/anvil.js";
import { runHardhat, startHardhat } from "../helpers/cli.js";
import { everyTaskRun } from "../helpers/every-vault-task.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { connectTo } from "../helpers/hre.js";

type Environment = Readonly<Record<string, string>>;

// What only a process shows; every other test of a task runs it in process.
describe("the process of a task", () => {
  const anvil = useAnvil();
  let project: FixtureProject;
  /** A network with mocks. */
  let env: Environment;

  before(async () => {
    project = await useFixtureProject("plain");
    const { vault } = await connectTo(anvil.url);
    const { addresses: contracts } = await vault.deployMocks({
      scenario: "expired-round",
    });
    env = {
      TEST_URL: anvil.url,
      TEST_VAULT: JSON.stringify({ contracts, tokenDecimals: 18 }),
    };
  });
  after(async () => {
    await project.remove();
  });
  const typed = (text: string): string[] =>
    ["vault", "--network", "test"].concat(text.split(" "));

  it("a task that succeeds prints in colours with FORCE_COLOR, and exits with 0", async () => {
    const result = await runHardhat(typed("mock set volume=3 round.APY=4"), {
      ...{ cwd: project.path, env: { ...env, FORCE_COLOR: "1" } },
    });
    expect(result).to.include({ stderr: "", exitCode: 0 });
    // eslint-disable-next-line no-control-regex -- colours are control characters
    expect(result.stdout).to.match(/^\u001b\[\d+mMocks scripted/u);
  });

  it("a task that fails prints its error on stderr, and exits with 1", async () => {
    const result = await runHardhat(typed("order -- -1"), {
      ...{ cwd: project.path, env: { ...env, CI: "1" } },
    });
    expect(result).to.include({ stdout: "", exitCode: 1 });
    expect(result.stderr).to.match(
      /^Error <id> .*"-1".*\n.*\(VAULT_INVALID_INTEGER\)\nhttps:.*\n$/u,
    );
  });

  describe("if the reader closes a pipe", () => {
    it("a task that fails ends with 1, and prints nothing on stderr", async () => {
      const child = startHardhat(typed("order x --json"), {
        ...{ cwd: project.path, env },
      });
      child.stdout.destroy();
      const [stderr] = await Promise.all([
        readText(child.stderr),
        once(child, "close"),
      ]);
      expect([stderr, child.exitCode]).to.deep.equal(["", 1]);
    });

    it("every task does its work and succeeds", async () => {
      const ends = path.join(project.path, "ends");
      const out = path.join(project.path, "unread");
      const runs = everyTaskRun()
        // A fork takes as long as ten other tasks.
        .filter(({ args }) => args["fork"] !== true)
        .map(
          ({ task, args }) =>
            [task, "out" in args ? { ...args, out } : args] as const,
        );
      const child = startHardhat(
        ["run", "--no-compile", "every-task.ts", "--network", "test"],
        {
          cwd: project.path,
          env: { ...env, TEST_ENDS: ends, TEST_RUNS: JSON.stringify(runs) },
        },
      );
      child.stdout.destroy();
      child.stderr.destroy();
      await once(child, "close");
      expect(child.exitCode).to.equal(0);
      const expected = runs.map(
        ([task, args]) =>
          // A development chain keeps no settlement that is finished.
          `${task} ${JSON.stringify(args)}: ${String(!("assert" in args || "resume" in args))}\n`,
      );
      expect(await readFile(ends, "utf8")).to.equal(expected.join(""));
    });
  });
});
