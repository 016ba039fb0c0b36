import { once } from "node:events";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { constants } from "node:os";
import path from "node:path";
import { text as readText } from "node:stream/consumers";

import { expect } from "chai";

import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { startHardhat } from "../helpers/cli.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { connectTo } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { sample } from "../helpers/sample.js";
import { DEV_KEYS } from "../helpers/settlement-world.js";

type Signal = "SIGINT" | "SIGTERM";

/** A task, and the request that a node leaves unanswered when the signal comes. */
type Case = readonly [typed: string, method: string, occurrence: number];

const settle = "settle --yes --json";
const settlements: readonly Case[] = [
  [settle, "eth_getTransactionCount", 0],
  [settle, "eth_sendRawTransaction", 0],
  [settle, "eth_getTransactionReceipt", 0],
];
const files: readonly Case[] = [
  ["orders --ids 1-9000 --format ndjson --out out", "eth_call", 5],
  ["capture --ids 1-9000 --out out", "eth_call", 5],
  ["report --out out", "eth_call", 0],
];
const signals: readonly Signal[] = ["SIGINT", "SIGTERM"];

/** Each case with each signal; without `FULL=1`, so many of them. */
function withSignals(
  cases: readonly Case[],
  count: number,
): ReadonlyArray<readonly [Signal, Case]> {
  return sample(
    cases.flatMap((each) => signals.map((signal) => [signal, each] as const)),
    count,
  );
}

// In a folder whose name has blanks and a letter beyond ASCII.
describe("signals", () => {
  let anvil: ServerProcess;
  let project: FixtureProject;

  before(async () => {
    [anvil, project] = await Promise.all([
      startAnvil(),
      useFixtureProject("plain", "a größe of 1"),
    ]);
  });
  after(async () => {
    await anvil.stop();
    await project.remove();
  });

  /** Sends the signal when the node has the request, and checks the exit code. */
  async function interrupt(
    signal: Signal,
    [typed, method, stallsAt]: Case,
    env: Readonly<Record<string, string>>,
  ): Promise<string> {
    let reached = (): void => undefined;
    const stalled = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const server = await startRpcServer({
      upstream: anvil.url,
      handler: ({ request, occurrence }) => {
        if (request.method !== method || occurrence < stallsAt) {
          return undefined;
        }
        reached();
        return "handled";
      },
    });
    const child = startHardhat(
      ["vault", ...typed.split(" "), "--network", "test"],
      { cwd: project.path, env: { ...env, TEST_URL: server.url } },
    );
    const closed = once(child, "close");
    if (child.stdout === null || child.stderr === null) {
      throw new Error("its output is piped");
    }
    const [stdout, stderr] = [readText(child.stdout), readText(child.stderr)];
    try {
      await Promise.race([stalled, closed]);
      expect(child.exitCode, "ended by itself").to.equal(null);
      child.kill(signal);
      await closed;
    } finally {
      await server.stop();
    }
    // As a shell reports it: 130 and 143.
    const { exitCode, signalCode } = child;
    expect(
      exitCode ?? 128 + constants.signals[signalCode ?? "SIGKILL"],
      await stderr,
    ).to.equal(signal === "SIGINT" ? 130 : 143);
    expect(await stderr).to.not.match(/\n\s+at /u);
    return await stdout;
  }

  for (const [signal, each] of withSignals(settlements, 2)) {
    it(`settle leaves a whole journal, and the next run settles once, if ${signal} arrives at ${each[1]}`, async () => {
      const { vault } = await connectTo(anvil.url);
      const mocks = await vault.deployMocks({ scenario: "expired-round" });
      const env = {
        TEST_VAULT: JSON.stringify({ contracts: mocks.addresses }),
        TEST_NETWORK: JSON.stringify({ accounts: [DEV_KEYS[1]] }),
      };
      expect(await interrupt(signal, each, env)).to.equal("");

      const folder = path.join(project.path, "vault-deployments");
      const journals = (await readdir(folder).catch(() => [])).filter((file) =>
        file.includes(mocks.addresses.vault.toLowerCase()),
      );
      expect(journals).to.have.lengthOf(
        each[1] === "eth_getTransactionCount" ? 0 : 1,
      );
      for (const file of journals) {
        expect(
          JSON.parse(await readFile(path.join(folder, file), "utf8")),
        ).to.be.an("object");
      }
      const next = startHardhat(
        ["vault", ...settle.split(" "), "--network", "test"],
        { cwd: project.path, env: { ...env, TEST_URL: anvil.url } },
      );
      await once(next, "close");
      expect(next.exitCode).to.equal(0);
      expect(await mocks.settlements()).to.have.lengthOf(1);
    });
  }

  for (const [signal, each] of withSignals(files, 1)) {
    it(`${each[0]} leaves the earlier file, and no other, if ${signal} arrives`, async () => {
      const { vault } = await connectTo(anvil.url);
      const { addresses } = await vault.deployMocks({
        scenario: "many-orders",
      });
      const out = path.join(project.path, "out");
      await writeFile(out, "earlier");
      await interrupt(signal, each, {
        TEST_VAULT: JSON.stringify({ contracts: addresses }),
      });
      expect(
        (await readdir(project.path)).filter((file) => file.startsWith("out")),
      ).to.deep.equal(["out"]);
      expect(await readFile(out, "utf8")).to.equal("earlier");
    });
  }

  for (const [signal, each] of withSignals(
    [["watch --interval 1", "eth_call", 4]],
    1,
  )) {
    it(`watch prints whole lines until ${signal} arrives`, async () => {
      const { vault } = await connectTo(anvil.url);
      const { addresses } = await vault.deployMocks();
      const printed = await interrupt(signal, each, {
        TEST_VAULT: JSON.stringify({ contracts: addresses }),
      });
      expect(printed).to.match(/^\{.*\}\n$/u);
      expect(JSON.parse(printed)).to.have.property("changed");
    });
  }
});
