import { stripVTControlCharacters } from "node:util";

import { expect } from "chai";
import { toQuantity } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NetworkConnection } from "hardhat/types/network";

import type { MockVaultHandle } from "../../src/types.js";
import { parseOptions } from "../../tasks/parse-options.js";
import { watchTask } from "../../tasks/definitions/watch.js";
import { createStyle } from "../../tasks/output/style.js";
import { createDisplay, watch } from "../../tasks/watch.js";
import type { WatchClock, WatchEvent } from "../../tasks/watch.js";
import { useAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import { hreOnLive } from "../helpers/hre.js";
import { runVaultTask } from "../helpers/run-vault-task.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { runInTerminal } from "../helpers/terminal.js";

const display: ReturnType<typeof createDisplay> = createDisplay(
  { json: false, raw: false, tokenDecimals: 18 },
  {
    isTTY: true,
    style: createStyle({ isTTY: true, columns: 200 }),
    write: async () => await Promise.resolve(true),
  },
);

describe("vault watch", () => {
  const anvil = useAnvil();
  let server: RpcServer;
  let hre: HardhatRuntimeEnvironment;
  let connection: NetworkConnection;
  let mocks: MockVaultHandle;

  before(async () => {
    server = await startRpcServer({ upstream: anvil.url });
    hre = await hreOnLive(server.url);
  });
  after(async () => {
    await server.stop();
  });
  beforeEach(async () => {
    server.handler = () => undefined;
    connection = await hre.network.create("live");
    mocks = await connection.vault.deployMocks();
  });
  afterEach(async () => {
    await connection.close();
  });

  const rpc = async (method: string, ...params: unknown[]): Promise<unknown> =>
    await connection.provider.request({ method, params });

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

  const settle = async (): Promise<unknown> =>
    await connection.vault.settleAll();
  const down = (): void => {
    const message = "gone\u001b[2J";
    server.handler = () => ({ error: { code: -32000, message } });
  };
  const up = (): void => {
    server.handler = () => undefined;
  };

  /** @returns What was shown until then. */
  const watchThrough = async (
    until: string | undefined,
    steps: ReadonlyArray<() => unknown>,
  ): Promise<WatchEvent[]> =>
    await Array.fromAsync(
      watch(
        connection.vault,
        parseOptions(watchTask.options, { until, interval: "60" }, hre),
        clockOf(steps),
      ),
    );

  const nothing = (): void => undefined;
  const setFilledVolume = async (): Promise<unknown> =>
    await mocks.set({ round: { filledVolume: 7n * 10n ** 18n } });
  const reachEnd = (seconds: bigint) => async (): Promise<void> => {
    const { endTime } = await connection.vault.getLatestRoundInfo();
    await rpc("evm_setNextBlockTimestamp", Number(endTime + seconds));
    await rpc("evm_mine");
  };
  /** From now on, `latest` is the block before the last one. */
  const fallBehind = async (): Promise<void> => {
    const { number } = await connection.vault.block();
    server.handler = async ({ request: asked, forward }) => {
      const params = asked.params.map((param) =>
        param === "latest" ? toQuantity(number - 1) : param,
      );
      const answer = await forward({ ...asked, params });
      return { result: fieldsOf(JSON.parse(answer))["result"] };
    };
  };

  const settlement = [
    ...["round.settledPrice", "round.settledAmount", "round.settled"],
    "canBeSettled",
  ];
  for (const [title, until, steps, expected] of [
    [
      "watch shows each change once, and ends when the round is settled",
      "settled",
      [nothing, setFilledVolume, settle],
      [[], ["round.filledVolume"], settlement],
    ],
    [
      "watch --until settled goes on after the round's end",
      "settled",
      [reachEnd(5n), settle],
      [[], ["expired"], settlement],
    ],
    [
      "watch --until expired goes on after a settlement before the round's end",
      "expired",
      [settle, reachEnd(0n)],
      [[], settlement, ["expired"]],
    ],
    [
      "watch --until expired ends at the round's end by the chain's clock",
      "expired",
      [reachEnd(-2n), reachEnd(0n)],
      [[], ["expired"]],
    ],
    [
      "watch --until expired ends by the time that the next block would have, on a chain without new blocks",
      "expired",
      [async () => await rpc("evm_increaseTime", 8 * 86_400)],
      [[], ["expired"]],
    ],
    [
      "watch --until expired ends at the round's end, also if the next round has begun",
      "expired",
      [
        async () => {
          await reachEnd(0n)();
          await mocks.startNextRound();
        },
      ],
      [[], ["round.filledVolume", "round.startTime", "round.endTime"]],
    ],
    [
      "watch ends at a time, also on a chain whose clock stands still",
      "+3m",
      [nothing, nothing, nothing],
      [[]],
    ],
    [
      "watch names a reading that fails as one change, and its fields when it answers again",
      "+3m",
      [
        async () => await mocks.fail("queryMarginBalance", "closed"),
        async () => await mocks.succeed("queryMarginBalance"),
        nothing,
      ],
      [
        [],
        ["marginBalance"],
        ["marginBalance.baseMarginAmount", "marginBalance.xMarginAmount"],
      ],
    ],
    [
      "watch ignores an answer of a node that is blocks behind",
      "+3m",
      [setFilledVolume, fallBehind, nothing],
      [[], ["round.filledVolume"]],
    ],
    [
      "watch fails with VAULT_CHAIN_CHANGED if the chain becomes another one, a shorter one, too",
      undefined,
      [
        async () => {
          await rpc("anvil_rollback", 1);
          await rpc("anvil_setChainId", 4242);
        },
      ],
      { code: "VAULT_CHAIN_CHANGED", says: "31337 at first and 4242 now" },
    ],
  ] as const) {
    it(title, async () => {
      const watched = watchThrough(until, steps);
      if ("code" in expected) {
        const { message } = await expectVaultError(watched, expected.code);
        expect(message).to.contain(expected.says);
      } else {
        expect(
          (await watched).map((event) => "changed" in event && event.changed),
        ).to.deep.equal(expected);
      }
      await rpc("anvil_setChainId", 31337);
    });
  }

  it("watch --until expired goes on while there is no round, and fails with VAULT_ROUND_CHANGED at the first one", async () => {
    const { vaultFactory } = mocks.addresses;
    const code = await rpc("eth_getCode", vaultFactory, "latest");
    // Returns zeros.
    await rpc("anvil_setCode", vaultFactory, "0x6101405ff3");
    const first = async () => await rpc("anvil_setCode", vaultFactory, code);
    await expectVaultError(
      watchThrough("expired", [nothing, first]),
      "VAULT_ROUND_CHANGED",
    );
  });

  it("watch checks as often as its help tells, unless --interval tells otherwise", async () => {
    const { interval } = watchTask.options;
    const [, inHelp] = /\(default: (\d+)\)$/u.exec(interval.help) ?? [];
    for (const [typed, seconds] of [
      [undefined, Number(inHelp)],
      ["60", 60],
    ] as const) {
      const pauses: number[] = [];
      const clock = clockOf([nothing]);
      await Array.fromAsync(
        watch(
          connection.vault,
          parseOptions(
            watchTask.options,
            { until: "+1s", ...(typed !== undefined && { interval: typed }) },
            hre,
          ),
          {
            ...clock,
            async sleep(milliseconds) {
              pauses.push(milliseconds);
              return await clock.sleep(milliseconds);
            },
          },
        ),
      );
      expect(pauses, `milliseconds with --interval ${typed}`).to.deep.equal([
        seconds * 1_000,
      ]);
    }
  });

  it("watch shows a person on a terminal the round once, then a line at every change, an outage and its end", async () => {
    await reachEnd(-90n)();
    const events = await watchThrough("+5m", [
      async () => {
        await mocks.fail("queryVolume", "no\u001b[2J");
        await mocks.fail("settleAll", "too early\u001b[2J");
      },
      down,
      nothing,
      up,
      setFilledVolume,
    ]);
    const shown = events.map((event) =>
      stripVTControlCharacters(display(event)),
    );
    const [first = "", change, outage, back, filled] = shown;
    expect(first).to.match(/^Watching {2}live \(chain 31337\), block \d+, /u);
    expect(first).to.match(/^End .*in 1m (?:30|2\d)s$/mu);
    expect(first).to.match(/^Can be settled {2}yes$/mu);
    expect(first).to.match(/^Press Ctrl-C to stop\.\n$/mu);
    expect(change).to.match(
      /^block \d+ {2}Volume {2}failed: .*no\\u\{1b\}\[2J.*\nblock \d+ {2}Can be settled {2}no, too early\\u\{1b\}\[2J\n$/u,
    );
    expect(outage).to.match(/^No answer, trying again: .*gone\\u\{1b\}\[2J/u);
    expect(back).to.match(/^block \d+ {2}answers again\n$/u);
    expect(filled).to.match(/^block \d+ {2}Filled volume {2}7 tokens\n$/u);
    expect(shown).to.have.length(5);
    await mocks.fail("getLatestRoundInfo", "lost");
    const lost = (await watchThrough("+1m", [up])).map(display).join("");
    expect(lost.split("lost")).to.have.length(2);
  });

  it("watch exits with 1 if its last line cannot be written, or if its reader goes before the end", async () => {
    await settle();
    const at = Object.entries(mocks.addresses)
      .map((pair) => pair.join("="))
      .join();
    for (const [code, until, exitCode, says] of [
      ["ENOSPC", "settled", 1, /VAULT_OUTPUT_NOT_WRITTEN/u],
      // It was settled, whether somebody reads of it or not.
      ["EPIPE", "settled", 0, /^$/u],
      ["EPIPE", undefined, 0, /^$/u],
      ["EPIPE", "+1h", 1, /^$/u],
    ] as const) {
      const result = await runVaultTask(
        hre,
        "watch",
        { at, json: true, until },
        Object.assign(new Error(code), { code, syscall: "write" }),
      );
      expect(result, code).to.include({ stdout: "", exitCode });
      expect(result.stderr, code).to.match(says);
    }
  });

  it("watch leaves the terminal as it was on Ctrl-C", async () => {
    const project = await useFixtureProject("plain");
    const { lines, isCursorShown } = await runInTerminal(
      ["vault", "watch", "--interval", "60", "--network", "test"],
      {
        cwd: project.path,
        columns: 80,
        env: {
          TEST_URL: anvil.url,
          TEST_VAULT: JSON.stringify({ contracts: mocks.addresses }),
        },
        answers: [["Ctrl-C to stop", "\u0003"]],
      },
    );
    await project.remove();
    expect(isCursorShown).to.equal(true);
    const screen = lines.map(({ text }) => text).join("\n");
    expect(screen).to.include("Watching  test (chain 31337)");
  });
});
