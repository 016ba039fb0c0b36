import { once } from "node:events";
import { readFileSync } from "node:fs";
import path from "node:path";

import { expect } from "chai";
import { Wallet } from "ethers";

import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { runHardhat, startHardhat } from "../helpers/cli.js";
import { startFaultyRpcServer } from "../helpers/faulty-rpc-server.js";
import type { FaultyRpcServer } from "../helpers/faulty-rpc-server.js";
import { fieldsOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { isFull } from "../helpers/sample.js";
import { describeOnPosix } from "../helpers/posix.js";
import { killAt } from "../helpers/keeper-on-node.js";
import { DEV_KEYS, openRound, openChain } from "../helpers/world.js";
import type { SettlementChain } from "../helpers/world.js";
import { mined } from "../helpers/transactions.js";

/** The keeper's command wherever the guide has it: in a shell, systemd and cron. */
const documented = readFileSync("docs/monitoring.md", "utf8").match(
  /vault settle --if-expired --yes.*?--network mainnet/gu,
);
const KEEPER = (documented?.[0] ?? "").replace("mainnet", "test");
const LENGTH_SECONDS = 1_000;
/** A scheduler starts the keepers again and again. */
const MOST_RUNS = 8;
const SEND = { method: "eth_sendRawTransaction", occurrence: 0 };

/** What the document of a keeper's run has. */
type Run = Readonly<Record<"status" | "code", unknown>>;

describeOnPosix("two keepers", () => {
  let node: ServerProcess;
  let server: FaultyRpcServer;
  let chain: SettlementChain;
  let project: FixtureProject;
  /** When each round ends, by its number. */
  const ends: number[] = [];

  before(async () => {
    project = await useFixtureProject("plain");
    node = await startAnvil({ args: keepingState() });
    chain = await openChain(node.url);
    server = await startFaultyRpcServer(node.url, 0);
  });
  after(async () => {
    chain.close();
    await server.stop();
    await node.stop();
    await project.remove();
  });

  const keepingState = (): readonly string[] => [
    "--state",
    path.join(project.path, "state.json"),
  ];
  const restartNode = async (): Promise<void> => {
    const exited = once(node.process, "exit");
    // Not killed, so that it writes its state.
    node.process.kill("SIGTERM");
    await exited;
    node = await startAnvil({ port: node.port, args: keepingState() });
    // Its clock does not outlive it.
    await chain.provider.send("anvil_setTime", [(await now()) + 1]);
  };
  const now = async (): Promise<number> =>
    (await chain.provider.getBlock("latest"))?.timestamp ?? 0;
  const startRound = async (): Promise<void> => {
    const startTime = await now();
    const endTime = startTime + LENGTH_SECONDS;
    await mined(
      await chain.factory.startNextRound({
        ...openRound,
        startTime,
        endTime,
      }),
    );
    ends.push(endTime);
  };

  const commandOptions = (): Parameters<typeof runHardhat>[1] => ({
    cwd: project.path,
    env: {
      TEST_URL: server.url,
      TEST_VAULT: JSON.stringify({ contracts: chain.contracts }),
      TEST_NETWORK: JSON.stringify({ accounts: [DEV_KEYS[0]] }),
    },
  });
  const keep = async (): Promise<Run> => {
    const { stdout, exitCode } = await runHardhat(
      KEEPER.split(" "),
      commandOptions(),
    );
    const { settlement, error } = fieldsOf(JSON.parse(stdout));
    const { status, code } = fieldsOf(settlement ?? error);
    const isGood = status === "settled" || status === "nothing-to-do";
    expect(exitCode, stdout).to.equal(isGood ? 0 : 1);
    return { status, code };
  };
  const keepAndKill = async (moment: "before" | "after"): Promise<void> => {
    const child = startHardhat(KEEPER.split(" "), commandOptions());
    await killAt({ ...SEND, moment }, child, server);
  };

  const faults = [
    [
      "one is killed before it sends",
      async () => {
        await keepAndKill("before");
      },
    ],
    [
      "one is killed when the node has the transaction",
      async () => {
        await keepAndKill("after");
      },
    ],
    [
      "one is killed, and the node restarts and loses the transaction",
      async () => {
        await chain.provider.send("evm_setAutomine", [false]);
        await keepAndKill("after");
        await restartNode();
      },
    ],
    [
      "somebody else settles, and the next round opens, before one sends",
      async () => {
        server.before(
          { method: "eth_getTransactionCount", occurrence: 0 },
          async () => {
            await chain.settleByOther();
            await startRound();
          },
        );
        expect(await keep()).to.include({
          status: "refused",
          code: "VAULT_ROUND_CHANGED",
        });
      },
    ],
  ] as const;

  it("run the only command that the guide has for them", () => {
    expect(new Set(documented)).to.have.property("size", 1);
  });

  const chosen = isFull
    ? faults
    : faults.filter(
        ([name]) => name === "one is killed when the node has the transaction",
      );
  for (const [name, act] of chosen) {
    it(`settle a round once, and not before its end, if ${name}`, async () => {
      const index = await chain.settlementCount();
      if (ends.length === index) {
        await startRound();
      }
      const endTime = ends[index] ?? 0;
      server.reset();
      expect(await keep(), "early").to.include({ status: "nothing-to-do" });
      expect(await chain.settlementCount(), "early").to.equal(index);

      await chain.provider.send("evm_setNextBlockTimestamp", [endTime]);
      await chain.mine();
      server.reset();
      await act();
      const runs: Run[] = [];
      do {
        runs.push(...(await Promise.all([keep(), keep()])));
      } while (
        (await chain.settlementCount()) === index &&
        runs.length < MOST_RUNS
      );

      expect(server.unused).to.deep.equal([]);
      expect(await chain.settlementCount(), JSON.stringify(runs)).to.equal(
        index + 1,
      );
      const { timestamp, caller } = await chain.vault.settlement(index);
      expect(Number(timestamp)).to.be.at.least(endTime);
      expect(caller === new Wallet(DEV_KEYS[0]).address).to.equal(
        !name.startsWith("somebody else settles"),
      );
    });
  }
});
