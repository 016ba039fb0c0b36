import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { constants } from "node:os";
import path from "node:path";
import { text as readText } from "node:stream/consumers";

import { expect } from "chai";

import { itAsProcessOne, itOnPosix } from "../helpers/posix.js";
import { useAnvil } from "../helpers/anvil.js";
import { runHardhat, startHardhat } from "../helpers/cli.js";
import { fieldsOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { connectTo } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { isFull } from "../helpers/sample.js";
import { DEV_KEYS } from "../helpers/world.js";

const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;
const SETTLE = "settle --yes --json";

/** Tasks, and the request of each that a node has when the signal arrives. */
const cases = [
  [SETTLE, "eth_getTransactionCount", 0],
  [SETTLE, "eth_sendRawTransaction", 0],
  [SETTLE, "eth_getTransactionReceipt", 0],
  ["watch --interval 1", "eth_call", 4],
  ["orders --ids 1-9000 --format ndjson --out out", "eth_call", 5],
  ["capture --ids 1-9000 --out out", "eth_call", 5],
].flatMap(([typed = "", method = "", stallsAt]) =>
  (["SIGINT", "SIGTERM"] as const).map(
    (signal) =>
      [signal, String(typed), String(method), Number(stallsAt)] as const,
  ),
);

/** A transaction on its way, and a file that is half written: each signal once. */
const decisive = cases.filter(
  ([signal, typed, method]) =>
    (signal === "SIGINT" && method === "eth_sendRawTransaction") ||
    (signal === "SIGTERM" && typed.startsWith("orders")),
);

/** A container's main process: these two wait for long. */
const asProcessOne = cases.filter(
  ([signal, typed, method]) =>
    (signal === "SIGINT" && typed.startsWith("watch")) ||
    (signal === "SIGTERM" && method === "eth_getTransactionReceipt"),
);

/** The only child of a process. */
async function childOf({ pid }: ChildProcess): Promise<number> {
  const file = `/proc/${pid}/task/${pid}/children`;
  return Number(await readFile(file, "utf8"));
}

describe("signals, in a folder with blanks and letters beyond ASCII", () => {
  const anvil = useAnvil();
  let project: FixtureProject;

  before(async () => {
    project = await useFixtureProject("plain", "a größe of 1");
  });
  after(async () => {
    await project.remove();
  });

  const interrupt = async (
    [signal, typed, method, stallsAt]: (typeof cases)[number],
    under: readonly string[] = [],
  ): Promise<void> => {
    const { vault } = await connectTo(anvil.url);
    const mocks = await vault.deployMocks({ scenario: "many-orders" });
    let stall = (): void => undefined;
    const stalled = new Promise<void>((resolve) => {
      stall = resolve;
    });
    const server = await startRpcServer({
      upstream: anvil.url,
      handler: ({ request, occurrence }) => {
        if (request.method !== method || occurrence < stallsAt) {
          return undefined;
        }
        stall();
        return "handled";
      },
    });
    const optionsAt = (url: string): Parameters<typeof runHardhat>[1] => ({
      cwd: project.path,
      env: {
        TEST_URL: url,
        TEST_VAULT: JSON.stringify({ contracts: mocks.addresses }),
        TEST_NETWORK: JSON.stringify({ accounts: [DEV_KEYS[1]] }),
      },
    });
    const out = path.join(project.path, "out");
    await writeFile(out, "earlier");

    const words = ["vault", "--network", "test", ...typed.split(" ")];
    const child = startHardhat(words, {
      ...optionsAt(server.url),
      under,
    });
    const closed = once(child, "close");
    const printed = [child.stdout, child.stderr].map(
      async (stream) => await readText(stream),
    );
    await Promise.race([stalled, closed]);
    process.kill(
      under.length === 0 ? (child.pid ?? NaN) : await childOf(child),
      signal,
    );
    await closed;
    await server.stop();

    const [stdout = "", stderr = ""] = await Promise.all(printed);
    expect(stderr).to.not.match(/\n\s+at /u);
    expect(
      // As a shell reports it.
      child.exitCode ?? 128 + constants.signals[child.signalCode ?? "SIGKILL"],
      stderr,
    ).to.equal(exitCodes[signal]);
    // One whole document, or nothing.
    expect(stdout).to.match(
      typed.startsWith("watch") ? /^\{"network":.*\}\n$/u : /^$/u,
    );
    // What was not written whole stays beside the file, which is as before.
    expect(
      (await readdir(project.path)).filter((file) =>
        /^out(?!.*\.partial$)/u.test(file),
      ),
    ).to.deep.equal(["out"]);
    expect(await readFile(out, "utf8")).to.equal("earlier");

    if (typed === SETTLE) {
      const next = await runHardhat(words, optionsAt(anvil.url));
      expect(next.exitCode, next.stdout).to.equal(0);
      expect(await mocks.settlements()).to.have.lengthOf(1);
      // It was resumed, by a whole journal, unless nothing had been signed.
      const { settlement } = fieldsOf(JSON.parse(next.stdout));
      expect(fieldsOf(settlement).preview === null).to.equal(
        method !== "eth_getTransactionCount",
      );
    }
  };

  for (const each of isFull ? cases : decisive) {
    const [signal, typed, method] = each;
    itOnPosix(
      `vault ${typed} exits with ${exitCodes[signal]}, and leaves whole files, if ${signal} arrives at ${method}`,
      async () => {
        await interrupt(each);
      },
    );
  }

  for (const each of asProcessOne) {
    const [signal, typed, method] = each;
    itAsProcessOne(
      `vault ${typed} exits with ${exitCodes[signal]} if ${signal} arrives at ${method}, as process 1 of a container`,
      async (under) => {
        await interrupt(each, under);
      },
    );
  }
});
