import { expect } from "chai";

import type { VaultErrorCode } from "../../src/errors.js";
import { operations } from "../../src/protocol/index.js";
import type {
  Address,
  OperationName,
  VaultRound,
} from "../../src/protocol/index.js";
import { toDocument } from "../../tasks/run-task.js";
import { watch } from "../../tasks/watch.js";
import type { WatchEvent } from "../../tasks/watch.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { hreOnLive } from "../helpers/hre.js";
import { NOBODY } from "../helpers/names.js";
import { runVaultTask } from "../helpers/run-vault-task.js";
import { linesOf } from "../helpers/screens.js";
import {
  OPEN_ROUND,
  TIME_OF_GENESIS,
  nextRound,
  settledRound,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import { useTasks } from "../helpers/use-tasks.js";

/** Something that happens to the node in a pause. */
type Step = (node: ScriptedNode) => void;
type Until = string | undefined;

const HEAD_TIME = TIME_OF_GENESIS + 5;
const PAUSE_MS = 60_000;

const nodeOf = (...steps: readonly Step[]): ScriptedNode => {
  const node = new ScriptedNode({ overrides: false });
  for (const step of steps) {
    step(node);
  }
  return node;
};
const hostOf = (node: ScriptedNode): ReturnType<ScriptedNode["host"]> =>
  node.host({
    // Of a live chain, whose blocks are old here.
    settings: {
      from: undefined,
      accounts: "remote",
      vault: { maxHeadAge: 1e12 },
    },
    projectRoot: import.meta.dirname,
  });

/** Watches through the steps, one in each pause; a longer wait fails. */
async function watchThrough(
  until: Until,
  steps: readonly Step[],
  {
    node = nodeOf(),
    interval = PAUSE_MS,
    from,
    guard,
  }: {
    readonly node?: ScriptedNode;
    readonly interval?: number;
    readonly from?: Address;
    readonly guard?: Address;
  } = {},
): Promise<WatchEvent[]> {
  let [now, at] = [0, 0];
  return await Array.fromAsync(
    watch(
      Object.assign(hostOf(node), { guard }),
      { until, interval, from, raw: false },
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
const after = (pauses: number): string => `+${(pauses * PAUSE_MS) / 1_000}s`;

const nothing: Step = () => undefined;
const mine =
  (...changes: ReadonlyArray<(round: VaultRound) => VaultRound>): Step =>
  (node) => {
    for (const change of changes) {
      node.mine(change);
    }
  };
const same = (round: VaultRound): VaultRound => round;
const fill = (round: VaultRound): VaultRound => ({
  ...round,
  filledVolume: 7n,
});
const settle = mine(settledRound);
/** Replaces the newest block by another one of its number. */
const replaceBy =
  (change: (round: VaultRound) => VaultRound): Step =>
  (node) => {
    node.rounds.splice(-1, 1, change(OPEN_ROUND));
  };
/** The chain replaces its newest block while it is read, once. */
const reorganise: Step = (node) => {
  let isDone = false;
  node.on("eth_call", async (_params, answer) => {
    if (!isDone) {
      node.reorganise(node.head);
    }
    isDone = true;
    return await answer();
  });
};
/** By the node, the next block has a time of the year 2106. */
const hurry: Step = (node) => {
  node.on("eth_getBlockByNumber", async ([block], answer) => ({
    ...fieldsOf(await answer()),
    ...(block === "pending" && { timestamp: "0xffffffff" }),
  }));
};
const endAt =
  (time: number): Step =>
  (node) => {
    node.rounds = node.rounds.map((round) => ({
      ...round,
      endTime: BigInt(time),
    }));
  };

const answerReads =
  (answer: Parameters<ScriptedNode["on"]>[1]): Step =>
  (node) => {
    node.on("eth_call", answer);
    node.on("eth_getBlockByNumber", answer);
  };
const refuse = answerReads(() => {
  throw Object.assign(new Error("go\u001bne"), { code: -32_601 });
});
const garble = answerReads(() => "garbled");
const recover = answerReads(async (_params, answer) => await answer());
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
const reverted = { code: 3, data: "0x" };
const replaceChain: Step = (node) => {
  node.rounds.splice(-1, 1);
  node.on("eth_chainId", () => "0x1092");
};
const loseAll: Step = (node) => {
  node.on("eth_call", () => {
    throw Object.assign(new Error("no"), reverted);
  });
};
const loseRound = failCalls("getLatestRoundInfo", reverted);

/** The code of an outage, or what changed, and if the event is the last. */
const shownBy = ({ json, isLast }: WatchEvent): string => {
  const { error, changed } = fieldsOf(toDocument(json));
  return error === undefined
    ? listOf(changed).join(" ") + (isLast ? " LAST" : "")
    : String(fieldsOf(error)["code"]);
};
const textOf = ({ screen }: Pick<WatchEvent, "screen">): string =>
  linesOf(screen).join("\n");

const settled =
  "round.settledPrice round.settledAmount round.settled canBeSettled";
const another = "round.startTime round.endTime";
const wholeRound = operations.getLatestRoundInfo.outputs
  .map(({ name }) => `round.${name}`)
  .join(" ");

describe("events of vault watch", () => {
  /** So many seconds before the end of the round, by the newest block. */
  const ending = (seconds: number) => ({
    node: nodeOf(endAt(HEAD_TIME + seconds)),
    interval: 1,
  });

  const recovered: Step = (node) => {
    recover(node);
    settle(node);
  };
  const endings: ReadonlyArray<
    readonly [string, Parameters<typeof watchThrough>, string]
  > = [
    [
      "shows each change once, and ends when the round is settled",
      ["settled", [nothing, mine(fill), settle]],
      `/round.filledVolume/${settled} LAST`,
    ],
    [
      "--until settled goes on after the round's end",
      ["settled", [mine(same), settle], ending(1)],
      `/expired/${settled} LAST`,
    ],
    [
      "takes no round for ended that only the node's next block is past",
      ["settled", [hurry, settle], { node: nodeOf(endAt(4_000_000_000)) }],
      `/${settled} LAST`,
    ],
    [
      "shows nothing of a check during which the chain replaced its block",
      [after(2), [reorganise, mine(fill)]],
      "/round.filledVolume LAST",
    ],
    [
      "--until settled goes on while the round cannot be read",
      ["settled", [loseRound, recovered]],
      `/round expired/${wholeRound} canBeSettled expired LAST`,
    ],
    [
      "--until expired ends at the round's end, also if the next round has begun",
      ["expired", [mine(same, nextRound)], ending(2)],
      `/${another} LAST`,
    ],
    [
      "ends at a time, by the clock that is ahead, and sees a change in the block that it saw before",
      [after(2 / 60), [mine(same), replaceBy(fill)], { interval: 1_500 }],
      "/round.filledVolume LAST",
    ],
    [
      "names a reading that fails as one change, and its fields when it answers again",
      [after(2), [failCalls("queryMarginBalance", reverted), recover]],
      "/marginBalance/marginBalance.baseMarginAmount marginBalance.xMarginAmount LAST",
    ],
    [
      "shows no change while nobody can be asked if the round can be settled",
      [after(2), [nothing, mine(fill)], { guard: NOBODY }],
      "/round.filledVolume LAST",
    ],
    [
      "takes a reading without an answer for an outage, beside one without an address",
      [after(2), [failCalls("queryVolume", { code: -32_601 }), recover]],
      "/VAULT_RPC_ERROR/ LAST",
    ],
    [
      "takes for an outage that it is not answered if the round can be settled",
      [after(2), [failCalls("settleAll", { code: -32_601 }), recover]],
      "/VAULT_RPC_ERROR/ LAST",
    ],
    [
      "shows an outage once, and again as another one or after an answer",
      [
        after(8),
        [refuse, nothing, garble, nothing, recover, nothing, refuse, recover],
      ],
      "/VAULT_RPC_ERROR/VAULT_RPC_INVALID_RESPONSE//VAULT_RPC_ERROR/ LAST",
    ],
  ];
  for (const [title, watched, expected] of endings) {
    it(`watch ${title}`, async () => {
      const events = await watchThrough(...watched);
      expect(events.map(shownBy).join("/")).to.equal(expected);
    });
  }

  it("watch pauses for five seconds without --interval", async () => {
    const pauses: number[] = [];
    const until = "+10s";
    const events = watch(
      hostOf(nodeOf()),
      { until, interval: undefined, from: undefined, raw: false },
      {
        now: () => pauses.length * 5_000,
        sleep: async (milliseconds) =>
          await Promise.resolve(pauses.push(milliseconds)),
      },
    );
    expect(await Array.fromAsync(events)).to.have.lengthOf(1);
    expect(pauses).to.deep.equal([5_000, 5_000]);
  });

  const failures: ReadonlyArray<
    readonly [string, Parameters<typeof watchThrough>, VaultErrorCode]
  > = [
    [
      "the round cannot be read at first",
      ["settled", [], { node: nodeOf(loseRound) }],
      "VAULT_CALL_REVERTED",
    ],
    [
      "nothing can be read at first",
      [undefined, [], { node: nodeOf(loseAll) }],
      "VAULT_CONTRACT_NOT_CONFIGURED",
    ],
    [
      "another round is seen before the end, also if the first one was settled",
      ["expired", [mine(settledRound, nextRound)]],
      "VAULT_ROUND_CHANGED",
    ],
    [
      "another round is seen before this one is seen settled",
      ["settled", [mine(settledRound, nextRound)]],
      "VAULT_ROUND_CHANGED",
    ],
    [
      "the chain becomes another one, which is shorter, too",
      ["settled", [replaceChain]],
      "VAULT_CHAIN_CHANGED",
    ],
  ];
  for (const [title, watched, code] of failures) {
    it(`watch fails with ${code} if ${title}`, async () => {
      const { details } = await expectVaultError(
        watchThrough(...watched),
        code,
      );
      // What was seen at first.
      expect(String(details["expected"])).to.match(
        /^(?:undefined|31337|.*2027-01-15T08:00:00Z.*)$/u,
      );
    });
  }
});

describe("what vault watch prints of an event", () => {
  it("the document of a change has the block, every reading, and would the next run settle", async () => {
    const [, { json } = expect.fail("no change")] = await watchThrough(
      after(1),
      [mine(fill)],
      { from: NOBODY },
    );
    const document = toDocument(json);
    expect(document).to.deep.include({
      ...{ network: "scripted", chainId: 31_337 },
      block: { number: 6, timestamp: TIME_OF_GENESIS + 6 },
      ...{ canBeSettled: true, canBeSettledBy: NOBODY, expired: false },
      ...{ reason: null, code: null, changed: ["round.filledVolume"] },
    });
    expect(document).to.have.nested.property("status.round.filledVolume", "7");
  });

  it("watch begins with the round by the time of the newest block, for whom it can be settled, and what failed with its fix", async () => {
    const node = nodeOf(
      endAt(HEAD_TIME + 61),
      failCalls("queryVolume", reverted),
    );
    const [first = expect.fail("nothing is seen")] = await watchThrough(
      after(1),
      [nothing],
      { node, from: NOBODY },
    );
    expect(first).to.have.nested.property("json.canBeSettledBy", NOBODY);
    const lines = textOf(first).split("\n");
    expect(lines[0]).to.match(
      /^Watching until 2023-11-14T22:14:25Z · scripted .*, block 5, /u,
    );
    expect(lines).to.include.members([
      ...[
        "End · 2023-11-14T22:14:26Z · in 1m 1s",
        "Can be settled · <good>yes</>",
      ],
      ...["<bad>5 of the readings failed.</>", "Press Ctrl-C to stop."],
    ]);
    expect(lines.join("\n")).to.match(
      /^The contract refused the call without a reason/mu,
    );
  });

  it("watch prints a line for each change, with the block, the label and the new value", async () => {
    const events = await watchThrough(after(4), [
      mine(fill),
      refuse,
      recover,
      failCalls("queryVolume", reverted),
    ]);
    const { label } = operations.getLatestRoundInfo.outputs[3];
    const shown = events.slice(1).map(textOf);
    expect(shown[0]?.split("\n")).to.deep.equal([
      `block 6 · ${label} · 7 raw`,
      "block 6 · Filled · ░░░░░░░░░░ 0.7 %",
    ]);
    expect(shown[3]).to.match(/^block 6 · Volume · failed: queryVolume /mu);
    expect(shown[2]).to.match(/^block 6 · answers again$/u);
  });

  it("watch prints an outage in one line, escaped", async () => {
    const [, outage = expect.fail("none")] = await watchThrough(after(2), [
      refuse,
      recover,
    ]);
    expect(textOf(outage)).to.match(
      /^<warn>No answer, trying again: .*go\\u\{1b\}ne.*<\/>$/u,
    );
  });
});

describe("vault watch on a node", () => {
  const tasks = useTasks();

  it("watch --from reads as that account, whose calls fail", async () => {
    await tasks.run("settle --yes");
    await tasks.mocks.fail("queryVolume", "closed", { from: NOBODY });
    const seen = async (options: string): Promise<string> =>
      (await tasks.run(`watch --until settled --json ${options}`)).stdout;
    expect(await seen(`--from ${NOBODY}`))
      .to.include("queryVolume reverted: closed")
      .and.include(`"canBeSettledBy":"${NOBODY}"`);
    expect(await seen(""))
      .to.include('"settled":true')
      .and.not.include("closed");
  });

  it("watch exits with 1 if nothing can be read, and prints the error alone", async () => {
    const gone = { vault: { contracts: { vault: NOBODY } } };
    const hre = await hreOnLive(tasks.url, gone);
    const { stdout, exitCode } = await runVaultTask(hre, "watch", {
      json: true,
    });
    expect(exitCode).to.equal(1);
    expect(Object.keys(fieldsOf(JSON.parse(stdout)))).to.deep.equal(["error"]);
  });

  for (const [code, until, exitCode, says] of [
    ["ENOSPC", "settled", 1, /VAULT_OUTPUT_NOT_WRITTEN/u],
    // It was settled, though nobody reads of it.
    ["EPIPE", "settled", 0, /^$/u],
    ["EPIPE", undefined, 0, /^$/u],
    ["EPIPE", "+1h", 1, /^$/u],
  ] as const) {
    it(`watch --until ${until ?? "never"} exits with ${exitCode} if its output meets ${code}`, async () => {
      await tasks.run("settle --yes");
      const vault = { contracts: tasks.mocks.addresses };
      const result = await runVaultTask(
        await hreOnLive(tasks.url, { vault }),
        "watch",
        { json: true, until },
        Object.assign(new Error(code), { code, syscall: "write" }),
      );
      expect(result).to.include({ stdout: "", exitCode });
      expect(result.stderr).to.match(says);
    });
  }
});
