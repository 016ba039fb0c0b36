import type { ServerResponse } from "node:http";
import path from "node:path";

import { expect } from "chai";

import { runHardhat } from "../helpers/cli.js";
import type { CommandResult } from "../helpers/cli.js";
import { everyTaskRun } from "../helpers/every-vault-task.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import { startRpcServer } from "../helpers/rpc-server.js";

const repository = path.resolve(import.meta.dirname, "../..");

/** Answers that never end. */
const endless = {
  nothing: () => undefined,
  "a body that goes on, blank by blank": (response: ServerResponse) => {
    response.writeHead(200, { "content-type": "application/json" });
    const timer = setInterval(() => response.write(" "), 200);
    response.on("close", () => {
      clearInterval(timer);
    });
  },
} as const;

/** Runs every task in one process, on a node that answers so. */
async function runAll(
  answer: (response: ServerResponse) => void,
): Promise<CommandResult> {
  const project = await useFixtureProject("empty");
  const server = await startRpcServer({
    handler: ({ response }) => {
      answer(response);
      return "handled";
    },
  });
  const result = await runHardhat(
    ["run", "--no-compile", "test/helpers/run-every-task.ts"],
    {
      cwd: repository,
      env: { TEST_URL: server.url, TEST_PROJECT: project.path },
    },
  );
  await server.stop();
  await project.remove();
  return result;
}

describe("tasks and the process at the deadline", () => {
  const results = new Map<string, CommandResult>();
  before(async () => {
    await Promise.all(
      Object.entries(endless).map(async ([title, answer]) => {
        results.set(title, await runAll(answer));
      }),
    );
  });

  for (const title of Object.keys(endless)) {
    it(`every task ends, and the process by itself, if a node answers ${title}`, () => {
      const { stderr, exitCode } = results.get(title) ?? {};
      const ended = Array.from(
        stderr?.matchAll(/^<ended> (.*)$/gmu) ?? [],
        ([, task]) => task,
      );
      expect(ended.sort()).to.deep.equal(
        everyTaskRun()
          .map(({ task }) => task)
          .sort(),
      );
      expect(stderr).to.contain("VAULT_RPC_TIMEOUT");
      expect(exitCode).to.equal(0);
    });
  }
});
