import { expect } from "chai";

import { vaultError } from "../../src/errors.js";
import { describeTime } from "../../src/protocol/time.js";
import { operations } from "../../src/protocol/index.js";
import type { OperationName, VaultRound } from "../../src/protocol/index.js";
import { createStyle } from "../../tasks/output/style.js";
import { Time } from "../../tasks/parsers.js";
import { readState } from "../../tasks/vault-state.js";
import type { VaultState } from "../../tasks/vault-state.js";
import { createDisplay, watch } from "../../tasks/watch.js";
import type { WatchEvent } from "../../tasks/watch.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import {
  OPEN_ROUND,
  nextRound,
  settledRound,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

/** Something that happens to the node in a pause. */
type Step = (node: ScriptedNode) => void;

const PAUSE_MS = 60_000;
const hostOf = (node: ScriptedNode): ReturnType<ScriptedNode["host"]> =>
  node.host({
    networkConfig: { type: "http", from: undefined, accounts: "remote" },
    projectRoot: import.meta.dirname,
  });

/** Watches through the steps; whoever waits longer fails. */
async function watchThrough(
  until: "settled" | "expired" | Time | undefined,
  ...steps: readonly Step[]
): Promise<WatchEvent[]> {
  const node = new ScriptedNode({ overrides: false });
  let [now, at] = [0, 0];
  return await Array.fromAsync(
    watch(
      hostOf(node),
      { until, interval: PAUSE_MS, from: undefined },
      {
        now: () => now,
        sleep: async (milliseconds) => {
          now += milliseconds;
          const step = steps[at] ?? expect.fail("it does not end");
          at += 1;
          step(node);
          await Promise.resolve();
        },
      },
    ),
  );
}

/** The time of so many pauses after the first check. */
const after = (pauses: number): Time =>
  new Time("", (time) => BigInt(time + (pauses * PAUSE_MS) / 1_000));

const mine =
  (change: (round: VaultRound) => VaultRound): Step =>
  (node) => {
    node.mine(change);
  };
const nothing: Step = () => undefined;
const refuse =
  (code: number): Step =>
  (node) => {
    for (const method of ["eth_call", "eth_getBlockByNumber"]) {
      node.on(method, () => {
        throw Object.assign(new Error("go\u001bne"), { code });
      });
    }
  };
const garble: Step = (node) => {
  for (const method of ["eth_call", "eth_getBlockByNumber"]) {
    node.on(method, () => "garbled");
  }
};
const recover: Step = (node) => {
  for (const method of ["eth_call", "eth_getBlockByNumber"]) {
    node.on(method, async (_params, answer) => await answer());
  }
};
/** Calls of an operation fail. */
const failCalls =
  (operation: OperationName, error: object): Step =>
  (node) => {
    const { selector } = operations[operation];
    node.on("eth_call", async (params, answer) => {
      if (JSON.stringify(params).includes(selector)) {
        throw Object.assign(new Error("no"), error);
      }
      return await answer();
    });
  };
const loseRound = failCalls("getLatestRoundInfo", { code: 3, data: "0x" });
const refuseVolume = failCalls("queryVolume", { code: -32_601 });

const kindsOf = (events: readonly WatchEvent[]): string[] =>
  events.map((event) =>
    event.kind === "outage" ? event.error.code : event.kind,
  );

describe("events of vault watch", () => {
  it("watch --until settled ends if another round is seen, and the first one was settled", async () => {
    const events = await watchThrough("settled", (node) => {
      node.mine(settledRound);
      node.mine(nextRound);
    });
    expect(events.map(({ isLast }) => isLast)).to.deep.equal([false, true]);
  });

  it("watch --until expired fails with VAULT_ROUND_CHANGED if another round is seen before the end, also if the first one was settled", async () => {
    await expectVaultError(
      watchThrough("expired", (node) => {
        node.mine(settledRound);
        node.mine(nextRound);
      }),
      "VAULT_ROUND_CHANGED",
    );
  });

  it("watch --until settled goes on while the round cannot be read", async () => {
    const events = await watchThrough("settled", loseRound, (node) => {
      recover(node);
      node.mine(settledRound);
    });
    expect(events.map(({ isLast }) => isLast)).to.deep.equal([
      ...[false, false, true],
    ]);
  });

  it("watch --until settled ends at once if the round is settled, and fails if it cannot be read at first", async () => {
    for (const [step, expected] of [
      [mine(settledRound), "first, the last"],
      [loseRound, "VAULT_CALL_REVERTED"],
    ] as const) {
      const node = new ScriptedNode({ overrides: false });
      step(node);
      const found = await Array.fromAsync(
        watch(hostOf(node), { until: "settled", interval: 1, from: undefined }),
        ({ kind, isLast }) => `${kind}${isLast ? ", the last" : ""}`,
      ).catch((error: unknown) => fieldsOf(error)["code"]);
      expect(String(found)).to.equal(expected);
    }
  });

  it("watch fails if the first check finds no node, and shows each outage after it once, and again as another one or after an answer", async () => {
    const events = await watchThrough(
      after(8),
      ...[refuse(-32_601), nothing, garble, nothing],
      ...[recover, nothing, refuse(-32_601), recover],
    );
    expect(kindsOf(events)).to.deep.equal([
      ...["first", "VAULT_RPC_ERROR", "VAULT_RPC_INVALID_RESPONSE"],
      ...["change", "VAULT_RPC_ERROR", "change"],
    ]);
    expect(events.map(({ isLast }) => isLast)).to.deep.equal([
      ...[false, false, false, false, false, true],
    ]);
    const node = new ScriptedNode();
    refuse(-32_601)(node);
    await expectVaultError(
      Array.fromAsync(
        watch(hostOf(node), { until: after(1), interval: 1, from: undefined }),
      ),
      "VAULT_RPC_ERROR",
    );
  });

  it("watch gives each check 10 s, and the search for a settlement", async () => {
    const node = new ScriptedNode({ overrides: false });
    const timeouts: unknown[] = [];
    const host = new Proxy(hostOf(node), {
      get: (target, name): unknown =>
        name === "withOptions"
          ? (options: { readonly timeout: number }) => {
              timeouts.push(options.timeout);
              return target.withOptions(options);
            }
          : Reflect.get(target, name, target),
    });
    await Array.fromAsync(
      watch(
        host,
        { until: "settled", interval: PAUSE_MS, from: undefined },
        {
          now: () => 0,
          sleep: async () => {
            node.mine(settledRound);
            node.mine(nextRound);
            await Promise.resolve();
          },
        },
      ),
    );
    expect(timeouts).to.deep.equal([10_000, 10_000, 10_000]);
  });

  it("watch takes a reading without an answer for an outage, beside one without an address", async () => {
    const events = await watchThrough(after(2), refuseVolume, recover);
    expect(kindsOf(events)).to.deep.equal([
      ...["first", "VAULT_RPC_ERROR", "change"],
    ]);
  });

  it("watch ends at a time by this machine's clock if the node is lost", async () => {
    const events = await watchThrough(after(2), refuse(-32_601), nothing);
    expect(kindsOf(events)).to.deep.equal(["first", "VAULT_RPC_ERROR"]);
  });

  it("watch sees a change in the block that it saw before, and none in an earlier one", async () => {
    const events = await watchThrough(
      after(2),
      (node) => {
        node.rounds.splice(-1, 1, { ...OPEN_ROUND, filledVolume: 7n });
      },
      (node) => {
        node.rounds.splice(-1, 1);
      },
    );
    const changes = events.map((event) => "changed" in event && event.changed);
    expect(changes).to.deep.equal([[], ["round.filledVolume"]]);
  });
});

describe("what vault watch prints of an event", () => {
  let seen: VaultState;
  before(async () => {
    const node = new ScriptedNode();
    node.mine((round) => ({ ...round, filledVolume: 7n }));
    seen = await readState(hostOf(node), {}, null);
  });

  const print = (
    event: WatchEvent,
    {
      json = false,
      isTTY = true,
      until,
    }: {
      json?: boolean;
      isTTY?: boolean;
      until?: "settled" | Time | undefined;
    } = {},
  ): string =>
    createDisplay(
      { json, raw: false, tokenDecimals: 0, until },
      {
        isTTY,
        style: createStyle({}),
        write: async () => await Promise.resolve(true),
      },
    )(event);

  it("watch prints JSON with --json, and without a terminal", () => {
    const event: WatchEvent = {
      ...{ kind: "change", isLast: false, changed: ["expired"] },
      seen: { ...seen, reason: "why" },
    };
    for (const options of [{ json: true }, { isTTY: false }]) {
      const { canBeSettled, canBeSettledBy, expired } = seen.keeper;
      const printed: unknown = JSON.parse(print(event, options));
      expect(printed).to.deep.include({
        ...{ network: "scripted", chainId: 31_337, block: seen.envelope.block },
        ...{ canBeSettled, canBeSettledBy, expired, reason: "why" },
        changed: ["expired"],
      });
      expect(printed).to.have.nested.property("status.round.filledVolume", "7");
    }
  });

  it("watch prints a line for each change, with the block, the label and the new value", () => {
    const changed = ["round.filledVolume", "expired", "canBeSettled"];
    const keeper = { ...seen.keeper, expired: true };
    expect(
      print({
        kind: "change",
        isLast: false,
        changed,
        seen: { ...seen, keeper },
      }),
    ).to.equal(
      [
        "block 6  Filled volume  7 tokens",
        "block 6  Expired  yes",
        "block 6  Can be settled  yes",
        "",
      ].join("\n"),
    );
  });

  it("watch names the end of --until in its title, a time as it was read", () => {
    const first: WatchEvent = {
      ...{ kind: "first", seen, changed: [], isLast: false },
    };
    const { time } = seen;
    for (const [until, expected] of [
      [undefined, "Watching  "],
      ["settled", "Watching until settled  "],
      [
        new Time("+1d", (now) => BigInt(now) + 86_400n),
        `Watching until ${describeTime(BigInt(time) + 86_400n)}  `,
      ],
    ] as const) {
      expect(print(first, { until }).slice(0, expected.length)).to.equal(
        expected,
      );
    }
  });

  it("watch prints an outage in one line", () => {
    const error = vaultError("VAULT_RPC_TIMEOUT", {
      ...{ network: "li\u001bve", method: "eth_call" },
    });
    expect(print({ kind: "outage", isLast: false, error })).to.equal(
      "No answer, trying again: Network li\\u{1b}ve did not answer eth_call in time.\n",
    );
  });
});
