import { once } from "node:events";
import { Readable } from "node:stream";
import { text as readText } from "node:stream/consumers";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NetworkConnection } from "hardhat/types/network";

import type { MockVaultHandle } from "../../src/plugin/hardhat-vault.js";
import { parseWatchArguments, watch } from "../../tasks/watch.js";
import type { WatchClock } from "../../tasks/watch.js";
import { createStyle } from "../../tasks/output/style.js";
import {
  createLineDisplay,
  createTerminalDisplay,
} from "../../tasks/output/watch.js";
import type { Sighting, WatchDisplay } from "../../tasks/output/watch.js";
import { startAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { runHardhat, startHardhat } from "../helpers/cli.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { runVaultTask } from "../helpers/run-vault-task.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { argumentsOf } from "../helpers/task-arguments.js";
import { runInTerminal } from "../helpers/terminal.js";

/** What a display was told, in order. */
type Told =
  | { seen: Sighting; changed: readonly string[] }
  | { lost: string; seconds: number }
  | "same"
  | "end";

function recordDisplay(): { told: Told[]; display: WatchDisplay } {
  const told: Told[] = [];
  return {
    told,
    display: {
      seen: (seen, changed) =>
        told.push(changed === undefined ? "same" : { seen, changed }),
      lost: ({ code }, seconds) => told.push({ lost: code, seconds }),
      tick: () => undefined,
      end: () => told.push("end"),
    },
  };
}

/** What changed at each look that brought something. */
const changesIn = (told: readonly Told[]): Array<readonly string[]> =>
  told.flatMap((entry) =>
    typeof entry === "object" && "changed" in entry ? [entry.changed] : [],
  );

describe("tasks - watch", () => {
  let anvil: ServerProcess;
  let server: RpcServer;
  let hre: HardhatRuntimeEnvironment;
  let connection: NetworkConnection;
  let mocks: MockVaultHandle;

  before(async () => {
    anvil = await startAnvil();
    server = await startRpcServer({ upstream: anvil.url });
    hre = await createTestHre(
      { networks: { remote: httpNetwork(server.url) } },
      { network: "remote" },
    );
  });
  after(async () => {
    await server.stop();
    await anvil.stop();
  });
  beforeEach(async () => {
    server.handler = () => undefined;
    connection = await hre.network.create("remote");
    mocks = await connection.vault.deployMocks();
  });
  afterEach(async () => {
    await connection.close();
  });

  const rpc = async (method: string, ...params: unknown[]): Promise<unknown> =>
    await connection.provider.request({ method, params });

  /** The mocks as `--at` names them. */
  const atMocks = (): string =>
    Object.entries(mocks.addresses)
      .map((pair) => pair.join("="))
      .join(",");

  /** A clock that does one thing in each pause, and fails after the last. */
  const clockOf = (steps: ReadonlyArray<() => unknown>): WatchClock => {
    let [now, step] = [0, 0];
    return {
      now: () => now,
      async sleep(milliseconds) {
        now += milliseconds;
        const next = steps[step];
        step += 1;
        if (next === undefined) {
          throw new Error("there was nothing more to wait for");
        }
        await next();
      },
    };
  };

  const request = (
    until: string | undefined,
  ): ReturnType<typeof parseWatchArguments> =>
    parseWatchArguments(argumentsOf("watch", { until, interval: "1" }));

  const watchThrough = async (
    until: string | undefined,
    steps: ReadonlyArray<() => unknown>,
  ): Promise<Told[]> => {
    const { told, display } = recordDisplay();
    const report = await watch(
      connection.vault,
      request(until),
      display,
      clockOf(steps),
    );
    expect(report).to.deep.equal({ streamed: true, ok: true });
    return told;
  };

  it("should tell each change once, and end when the round is settled", async () => {
    const told = await watchThrough("settled", [
      () => undefined,
      async () => {
        await mocks.setRound({ filledVolume: 7n });
      },
      async () => {
        await connection.vault.settleAll();
      },
    ]);
    expect(told.filter((entry) => entry === "same")).to.have.length(1);
    expect(changesIn(told)).to.deep.equal([
      [],
      ["round.filledVolume"],
      [
        "round.settledPrice",
        "round.settledAmount",
        "round.settled",
        "canBeSettled",
      ],
    ]);
    expect(told.at(-1)).to.equal("end");
  });

  it("should say whether a settlement is accepted, and why not", async () => {
    const told = await watchThrough("settled", [
      async () => {
        await mocks.fail("settleAll", "too early");
      },
      async () => {
        await mocks.succeed("settleAll");
        await connection.vault.settleAll();
      },
    ]);
    expect(
      told.flatMap((entry) =>
        typeof entry === "object" && "seen" in entry
          ? [[entry.seen.canBeSettled, entry.seen.reason]]
          : [],
      ),
    ).to.deep.equal([
      [true, null],
      [false, "too early"],
      [false, "the round is settled"],
    ]);
  });

  it("should name a contract that has no settleAll", async () => {
    const { address } = await connection.vault.addressOf("vault");
    const code = String(await rpc("eth_getCode", address, "latest"));
    await rpc(
      "anvil_setCode",
      address,
      code.replaceAll("a015aefe", "a015aeff"),
    );
    const [first] = await watchThrough("+1s", [() => undefined]);
    if (typeof first !== "object" || !("seen" in first)) {
      throw new Error("nothing was seen");
    }
    expect(first.seen.canBeSettled).to.equal(false);
    expect(first.seen.reason).to.include(`${address} has no \`settleAll\``);
  });

  it("should end when the round expires by the chain's clock", async () => {
    const { endTime } = await connection.vault.getLatestRoundInfo();
    const told = await watchThrough("expired", [
      async () => {
        await rpc("evm_setNextBlockTimestamp", Number(endTime) - 1);
        await rpc("evm_mine");
      },
      async () => {
        await rpc("evm_setNextBlockTimestamp", Number(endTime));
        await rpc("evm_mine");
      },
    ]);
    expect(told.slice(1)).to.have.length(3);
    expect(changesIn(told)).to.deep.equal([[], ["expired"]]);
  });

  it("should end at a time, also on a chain whose clock stands still", async () => {
    const told = await watchThrough("+3s", [
      () => undefined,
      () => undefined,
      () => undefined,
    ]);
    expect(told.slice(1)).to.deep.equal(["same", "same", "same", "end"]);
  });

  it("should survive an outage, say since when, and what there is afterwards", async () => {
    const told = await watchThrough("settled", [
      () => {
        server.handler = () => ({ error: { code: -32000, message: "down" } });
      },
      () => undefined,
      () => {
        server.handler = () => undefined;
      },
      async () => {
        await connection.vault.settleAll();
      },
    ]);
    expect(told.slice(1, 3)).to.deep.equal([
      { lost: "VAULT_RPC_ERROR", seconds: 0 },
      { lost: "VAULT_RPC_ERROR", seconds: 1 },
    ]);
    expect(changesIn(told)[1]).to.deep.equal([]);
    expect(changesIn(told)).to.have.length(3);
  });

  it("should fail where the first look does", async () => {
    server.handler = () => ({ error: { code: -32000, message: "down" } });
    const { told, display } = recordDisplay();
    await expectVaultError(
      watch(connection.vault, request(undefined), display, clockOf([])),
      "VAULT_RPC_ERROR",
    );
    expect(told).to.deep.equal([]);
  });

  it("should take a round that was settled and replaced between two looks for settled", async () => {
    const told = await watchThrough("settled", [
      async () => {
        await connection.vault.settleAll();
        await mocks.startNextRound();
      },
    ]);
    expect(told.at(-1)).to.equal("end");
  });

  for (const until of ["settled", "expired"]) {
    it(`should fail where the round is replaced, not ${until}`, async () => {
      const { told, display } = recordDisplay();
      await expectVaultError(
        watch(
          connection.vault,
          request(until),
          display,
          clockOf([async () => await mocks.startNextRound()]),
        ),
        "VAULT_ROUND_CHANGED",
      );
      expect(told.at(-1)).to.equal("end");
    });
  }

  it("should fail where the chain becomes another one", async () => {
    const { display } = recordDisplay();
    await expectVaultError(
      watch(
        connection.vault,
        request(undefined),
        display,
        clockOf([async () => await rpc("anvil_setChainId", 4242)]),
      ),
      "VAULT_CHAIN_CHANGED",
    );
    await rpc("anvil_setChainId", 31337);
  });

  it("should look past a node that is blocks behind", async () => {
    const old = await connection.vault.block();
    await rpc("evm_mine");
    const told = await watchThrough("+2s", [
      () => {
        // From now on `latest` is a block that has been.
        server.handler = async ({ request: asked, forward }) => {
          const params = asked.params.map((param) =>
            param === "latest" ? `0x${old.number.toString(16)}` : param,
          );
          const answer: unknown = JSON.parse(
            await forward({ ...asked, params }),
          );
          return { result: Reflect.get(Object(answer), "result") };
        };
      },
      () => undefined,
    ]);
    expect(told.slice(1)).to.deep.equal(["end"]);
  });

  it("should write one document a change, and one an outage", async () => {
    const lines: string[] = [];
    await watch(
      connection.vault,
      request("settled"),
      createLineDisplay((line) => lines.push(line)),
      clockOf([
        () => {
          server.handler = () => ({ error: { code: -32000, message: "down" } });
        },
        () => undefined,
        async () => {
          server.handler = () => undefined;
          await connection.vault.settleAll();
        },
      ]),
    );
    const documents = lines.map((line): unknown => {
      expect(line).to.match(/^[^\n]+\n$/u);
      return JSON.parse(line);
    });
    expect(documents).to.have.length(3);
    expect(documents[0]).to.include.keys(
      ...["network", "chainId", "block", "status"],
      ...["canBeSettled", "reason", "expired", "changed"],
    );
    expect(documents[0]).to.deep.include({ canBeSettled: true, changed: [] });
    expect(documents[1]).to.have.nested.property(
      "error.code",
      "VAULT_RPC_ERROR",
    );
    expect(documents[2]).to.have.nested.property("status.round.settled", true);
  });

  it("should draw a frame that counts down between the looks", async () => {
    const frames: string[] = [];
    let isDone = false;
    const display = createTerminalDisplay(
      {
        json: false,
        raw: false,
        intervalSeconds: 1,
        tokenDecimals: 18,
      },
      createStyle({}),
      Object.assign((text: string) => frames.push(text), {
        done: () => {
          isDone = true;
        },
      }),
    );
    const { endTime } = await connection.vault.getLatestRoundInfo();
    await rpc("evm_setNextBlockTimestamp", Number(endTime) - 90);
    await rpc("evm_mine");
    const clock = clockOf([
      () => {
        server.handler = () => ({
          error: { code: -32000, message: "gone\u001b[2J" },
        });
      },
      () => undefined,
    ]);
    await watch(connection.vault, request("+2s"), display, clock);
    expect(isDone).to.equal(true);
    expect(frames[0]).to.match(/^End .*in 1m 30s$/mu);
    expect(frames[0]).to.match(/^Can be settled +yes$/mu);
    expect(frames[0]).to.include("1 look, one every 1 s. Ctrl-C ends.");
    expect(frames[1]).to.match(/^End .*in 1m 29s$/mu);
    expect(frames.at(-1)).to.include("No answer for");
    expect(frames.at(-1)).to.include("gone\\u{1b}[2J");
  });

  it("should refuse what makes no sense before a network is asked", async () => {
    for (const interval of ["0", "-1", "1e3", "86401", "0.01", "", "soon"]) {
      await expectVaultError(
        () => parseWatchArguments(argumentsOf("watch", { interval })),
        "VAULT_INVALID_ARGUMENT",
      );
    }
    const { shortMessage } = await expectVaultError(
      () => parseWatchArguments(argumentsOf("watch", { until: "someday" })),
      "VAULT_INVALID_TIME",
    );
    expect(shortMessage).to.equal(
      '--until is not settled, expired or a time: "someday".',
    );
    await expectVaultError(
      () => parseWatchArguments(argumentsOf("watch", { from: "0x1" })),
      "VAULT_INVALID_ADDRESS",
    );
    const { display } = recordDisplay();
    await expectVaultError(
      watch(connection.vault, request("2001-01-01"), display, clockOf([])),
      "VAULT_TIME_IN_PAST",
    );
  });

  it("should fail where its last line cannot be written", async () => {
    await connection.vault.settleAll();
    for (const [code, exitCode, says] of [
      ["ENOSPC", 1, /VAULT_OUTPUT_NOT_WRITTEN/u],
      // It was settled, whether somebody reads of it or not.
      ["EPIPE", 0, /^$/u],
    ] as const) {
      const result = await runVaultTask(
        hre,
        "watch",
        { at: atMocks(), json: true, until: "settled" },
        Object.assign(new Error(code), { code, syscall: "write" }),
      );
      expect(result, code).to.include({ stdout: "", exitCode });
      expect(result.stderr, code).to.match(says);
    }
  });

  it("should fail where its reader goes before what it waits for has come", async () => {
    for (const until of ["settled", undefined]) {
      const result = await runVaultTask(
        hre,
        "watch",
        { at: atMocks(), json: true, until },
        Object.assign(new Error("EPIPE"), { code: "EPIPE", syscall: "write" }),
      );
      expect(result, String(until)).to.deep.equal({
        stdout: "",
        stderr: "",
        exitCode: until === undefined ? 0 : 1,
      });
    }
  });

  describe("as a command", () => {
    let project: FixtureProject;
    before(async () => {
      project = await useFixtureProject("plain");
    });
    after(async () => {
      await project.remove();
    });
    const environment = (): Record<string, string> => ({
      TEST_URL: anvil.url,
      TEST_VAULT: JSON.stringify({ contracts: mocks.addresses }),
    });

    it("should print lines where there is no terminal, and exit with 0 when it has come", async () => {
      await connection.vault.settleAll();
      const { stdout, stderr, exitCode } = await runHardhat(
        ["vault", "watch", "--until", "settled", "--network", "test"],
        { cwd: project.path, env: environment() },
      );
      expect({ stderr, exitCode }).to.deep.equal({ stderr: "", exitCode: 0 });
      expect(JSON.parse(stdout)).to.deep.include({ changed: [] });
    });

    it("should end quietly when nobody reads on", async () => {
      const child = startHardhat(
        ["vault", "watch", "--interval", "0.1", "--network", "test"],
        { cwd: project.path, env: environment() },
      );
      const [stderr] = await Promise.all([
        readText(child.stderr ?? Readable.from([])),
        once(child, "close"),
        (async () => {
          await once(child.stdout ?? child, "data");
          child.stdout?.destroy();
          await mocks.setRound({ filledVolume: 7n });
        })(),
      ]);
      expect({ stderr, exitCode: child.exitCode }).to.deep.equal({
        stderr: "",
        exitCode: 0,
      });
    });

    it("should give the terminal back on Ctrl-C", async () => {
      const { lines, isCursorShown } = await runInTerminal(
        ["vault", "watch", "--interval", "60", "--network", "test"],
        {
          cwd: project.path,
          columns: 80,
          env: environment(),
          answers: [["Ctrl-C ends", "\u0003"]],
        },
      );
      expect(isCursorShown).to.equal(true);
      const screen = lines.map(({ text }) => text).join("\n");
      expect(screen).to.include("Watching  test (chain 31337)");
      // One frame, drawn over and over.
      expect(screen.split("Watching")).to.have.length(2);
    });
  });
});
