import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { text as readText } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

import { expect } from "chai";

import { assertInvariant } from "../../src/errors.js";
import { runHardhat, startHardhat } from "../helpers/cli.js";
import {
  documentedContracts,
  documentedHandler,
} from "../helpers/documented-node.js";
import { boundedReads } from "../helpers/every-vault-task.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { itOnPosix } from "../helpers/posix.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";

const repository = path.resolve(import.meta.dirname, "../..");

/** An answer that goes on, blank by blank, which no time-out of Hardhat ends. */
async function startEndlessNode(): Promise<RpcServer> {
  return await startRpcServer({
    handler: ({ response }) => {
      response.writeHead(200, { "content-type": "application/json" });
      const timer = setInterval(() => response.write(" "), 200);
      response.on("close", () => {
        clearInterval(timer);
      });
      return "handled";
    },
  });
}

describe("tasks and the process at the deadline", () => {
  let project: FixtureProject;
  before(async () => {
    project = await useFixtureProject("plain");
  });
  after(async () => {
    await project.remove();
  });

  it("every read that a script runs as a task ends on a node with endless answers, and the script goes on", async () => {
    const server = await startEndlessNode();
    const child = startHardhat(
      ["run", "--no-compile", "test/helpers/run-every-task.ts"],
      {
        cwd: repository,
        env: { TEST_URL: server.url, TEST_PROJECT: project.path },
      },
    );
    let printed = "";
    child.stdout?.resume();
    for await (const text of child.stderr?.setEncoding("utf8") ?? []) {
      printed += String(text);
      if (printed.includes("<the script goes on>")) {
        break;
      }
    }
    await server.stop();
    if (child.exitCode === null) {
      await once(child, "exit");
    }
    const ended = Array.from(
      printed.matchAll(/^<ended> (.*)$/gmu),
      ([, task]) => task,
    );
    expect(ended.sort()).to.deep.equal(
      boundedReads()
        .map(({ task }) => task)
        .sort(),
    );
    expect(printed).to.contain("VAULT_RPC_TIMEOUT");
    expect(child.exitCode).to.equal(0);
  });

  it("a task of the command line ends its process on a node with endless answers, with its error and exit code 1", async () => {
    const server = await startEndlessNode();
    const { stdout, exitCode } = await runHardhat(
      ["vault", "volume", "--timeout", "1", "--json", "--network", "test"],
      {
        cwd: project.path,
        env: {
          TEST_URL: server.url,
          TEST_VAULT: JSON.stringify({ contracts: documentedContracts }),
        },
      },
    );
    await server.stop();
    expect(JSON.parse(stdout)).to.have.nested.property(
      "error.code",
      "VAULT_RPC_TIMEOUT",
    );
    expect(exitCode).to.equal(1);
  });

  itOnPosix(
    "a task of the command line ends its process, which something else keeps running, once the reader of a full pipe has all of its output",
    async () => {
      let answer = (): void => undefined;
      const answered = new Promise<void>((resolve) => {
        answer = resolve;
      });
      const server = await startRpcServer({
        handler: async (exchange) => {
          if (exchange.request.method === "eth_call") {
            answer();
          }
          return await documentedHandler(exchange);
        },
      });
      await writeFile(
        path.join(project.path, "lasting.config.ts"),
        `export { default } from "./hardhat.config.ts"; setInterval(() => {}, 1e6);`,
      );
      const child = startHardhat(
        [
          ...["--config", "lasting.config.ts", "--network", "test"],
          ...["vault", "volume", "--json"],
        ],
        {
          cwd: project.path,
          env: {
            TEST_URL: server.url,
            TEST_VAULT: JSON.stringify({ contracts: documentedContracts }),
          },
          // What waits in a pipe, which holds 64 KiB, is read once there is a file.
          under: [
            "sh",
            "-c",
            `{ printf %65536s; "$@"; echo "exit code $?" >&2; } | { until [ -e read ]; do sleep 0.1; done; cat; }`,
            "sh",
          ],
        },
      );
      const { stdout, stderr } = child;
      assertInvariant(stdout !== null && stderr !== null, "it has pipes");
      const ended = once(stderr, "data");
      const printed = readText(stdout);
      await answered;
      // A process that does not wait for its reader has ended by then.
      await Promise.race([ended, sleep(4_000)]);
      await writeFile(path.join(project.path, "read"), "");
      expect(JSON.parse(await printed)).to.have.property("volume");
      expect(String(await ended)).to.equal("exit code 0\n");
      await server.stop();
    },
  );

  it("a task that a plugin overrides does not end the process of the command line", async () => {
    await writeFile(
      path.join(project.path, "override.config.ts"),
      `import { overrideTask } from "hardhat/config";
       import config from "./hardhat.config.ts";
       const decode = overrideTask(["vault", "decode"]).setInlineAction(async (args, _hre, runSuper) => {
         await runSuper(args);
         await new Promise((resolve) => setTimeout(resolve, 1_500));
         console.log("afterwards");
       });
       export default { ...config, tasks: [decode.build()] };`,
    );
    const { stdout, exitCode } = await runHardhat(
      [
        ...["--config", "override.config.ts", "vault", "decode"],
        `0x${"0".repeat(64)}`,
      ],
      { cwd: project.path },
    );
    expect(stdout).to.match(/afterwards\n$/u);
    expect(exitCode).to.equal(0);
  });
});
