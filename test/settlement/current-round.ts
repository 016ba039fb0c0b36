import { mkdirSync, rmSync } from "node:fs";

import { expect } from "chai";

import { operations } from "../../src/protocol/index.js";
import type { Stopped } from "../../src/sending/job.js";
import {
  clockForRoundEnd,
  readRoundAt,
  requireFreshHead,
  roundChecker,
} from "../../src/settlement/current-round.js";
import type { IntendedRound } from "../../src/settlement/current-round.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime, useWallClock } from "../helpers/deadlines.js";
import { fieldsOf } from "../helpers/fields.js";
import { itSettles, useKeeper } from "../helpers/keeper.js";
import {
  OPEN_ROUND,
  VAULT,
  nextRound,
  settledRound,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

/** Time of the newest block of the scripted node, which is no development node. */
const NEWEST = 1_700_000_005;

describe("the round of a vault whose volume a node cannot read", () => {
  /** @param code Of the vault. */
  const read = async (code: string) => {
    const node = new ScriptedNode({
      codeOf: (address) => (address === VAULT ? code : "0x01"),
    });
    node.overrides = false;
    node.on("eth_call", async ([call], answer) => {
      if (fieldsOf(call)["data"] === operations.queryVolume.selector) {
        throw Object.assign(new Error("execution timeout"), { code: -32_000 });
      }
      return await answer();
    });
    return await readRoundAt(node.host(), "latest");
  };

  it("is read if the vault has code", async () => {
    expect((await read("0x01")).round).to.deep.equal(OPEN_ROUND);
  });

  it("is VAULT_NO_CODE if it has none, since a call to it succeeds, too", async () => {
    await expectVaultError(read("0x"), "VAULT_NO_CODE");
  });
});

describe("the last look at the round before a transaction leaves", () => {
  const keeper = useKeeper();
  speedUpTime();
  const clock = useWallClock();
  beforeEach(() => {
    clock.stoppedAt = (NEWEST + 1) * 1_000;
  });

  const check = async ({
    ifExpired = false,
    intended = OPEN_ROUND,
    at,
  }: Partial<IntendedRound> & {
    readonly at?: number;
  } = {}): Promise<Stopped | undefined> => {
    const host = keeper.host({ vault: { maxHeadAge: 300 } });
    return await roundChecker(host, { intended, ifExpired })(at);
  };
  const mine = (change: typeof settledRound) => (): void => {
    keeper.chain.mine(change);
  };
  const grow = (seconds: number) => (): void => {
    clock.stoppedAt = (NEWEST + seconds) * 1_000;
  };

  const endAt = (time: number) => (): void => {
    keeper.chain.rounds = keeper.chain.rounds.map((round) => ({
      ...round,
      endTime: BigInt(time),
    }));
  };
  const none = { ...OPEN_ROUND, startTime: 0n, strikePrice: 0n, endTime: 0n };

  for (const [title, given, options, is] of [
    ["finds a settled round", mine(settledRound), {}, "nothing-to-do"],
    ["finds the next round", mine(nextRound), {}, "refused"],
    [
      "finds the round before its end at an old block that is named",
      () => {
        endAt(NEWEST + 1)();
        mine((round) => round)();
        grow(100)();
      },
      { at: 5, ifExpired: true },
      "nothing-to-do",
    ],
    [
      "finds the round before its end",
      grow(1),
      { ifExpired: true },
      "nothing-to-do",
    ],
    ["finds none at its end", endAt(NEWEST), { ifExpired: true }, undefined],
    ["takes a round whose end moved for the same", endAt(7), {}, undefined],
    [
      "finds that there is no round yet, which cannot end",
      mine(() => none),
      { intended: none, ifExpired: true },
      "nothing-to-do",
    ],
    ["finds no obstacle at the limit of the age", grow(300), {}, undefined],
    [
      "finds none at an old block that is named, of before the settlement",
      () => {
        mine(settledRound)();
        grow(301)();
      },
      { at: 5 },
      undefined,
    ],
  ] as const) {
    it(title, async () => {
      given();
      expect((await check(options))?.status).to.equal(is);
    });
  }

  for (const [what, change] of [
    ["an open", (round: typeof OPEN_ROUND) => round],
    ["a settled", settledRound],
  ] as const) {
    it(`trusts no node that is behind, and has ${what} round: VAULT_STALE_HEAD`, async () => {
      mine(change)();
      grow(302)();
      const { message } = await expectVaultError(check(), "VAULT_STALE_HEAD");
      expect(message).to.include("301 s old (block 6)");
    });
  }

  it("ends after five seconds without an answer: VAULT_RPC_TIMEOUT", async () => {
    keeper.chain.on("eth_call", async () => await new Promise(() => undefined));
    const begun = performance.now();
    await expectVaultError(check(), "VAULT_RPC_TIMEOUT");
    expect(Math.round(performance.now() - begun)).to.be.within(5_000, 5_500);
  });

  for (const [age, limit, network, isRefused] of [
    [300, undefined, "http", false],
    [301, undefined, "http", true],
    [999, false, "http", false],
    [999, undefined, "edr-simulated", false],
    [999, undefined, "development node", false],
  ] as const) {
    it(`${isRefused ? "refuses" : "accepts"} a head of ${age} s with a maxHeadAge of ${String(limit)}: ${network}`, async () => {
      grow(age)();
      if (network === "development node") {
        keeper.chain.makeDevelopmentNode();
      }
      const type = network === "edr-simulated" ? network : "http";
      const host = keeper.host({ type, vault: { maxHeadAge: limit } });
      const block = { number: 5, timestamp: NEWEST };
      const looking = requireFreshHead(host, block);
      await (isRefused
        ? expectVaultError(looking, "VAULT_STALE_HEAD")
        : looking);
    });
  }
});

describe("the time by which a round has ended or not", () => {
  for (const [title, type, maxHeadAge, isDevelopment, time] of [
    ["the newest block's on a live chain", "http", 300, false, NEWEST],
    ["the next block's without maxHeadAge", "http", false, false, NEWEST + 1],
    ["the next block's on a development node", "http", 300, true, NEWEST + 1],
    ["the next block's in process", "edr-simulated", 300, false, NEWEST + 1],
  ] as const) {
    it(`is ${title}`, async () => {
      const node = new ScriptedNode();
      if (isDevelopment) {
        node.makeDevelopmentNode();
      }
      const host = node.host({ settings: { type, vault: { maxHeadAge } } });
      const latest = { number: 5, timestamp: NEWEST };
      expect(await clockForRoundEnd(host, latest)).to.equal(time);
    });
  }
});

describe("settleAll, by its last look at the round", () => {
  const keeper = useKeeper();
  const clock = useWallClock();
  const network = { vault: { maxHeadAge: 300 } };
  /** `act` comes before the answer to the second question for the newest block. */
  const atLastLook = (act: () => void): void => {
    let looks = 0;
    keeper.chain.on("eth_getBlockByNumber", async ([block], answer) => {
      looks += Number(block === "latest");
      if (looks === 2) {
        act();
      }
      return await answer();
    });
  };

  itSettles(keeper, [
    {
      title:
        "refuses if no block came while it waited for its key: VAULT_STALE_HEAD",
      given: () => {
        clock.stoppedAt = (NEWEST + 100) * 1_000;
        atLastLook(() => {
          clock.stoppedAt = (NEWEST + 400) * 1_000;
        });
      },
      network,
      is: "refused VAULT_STALE_HEAD",
    },
    {
      title:
        "refuses also if its journal cannot be finished, which is a warning: VAULT_ROUND_CHANGED",
      given: () => {
        atLastLook(() => {
          rmSync(keeper.journalFile());
          mkdirSync(keeper.journalFile());
          keeper.chain.rounds.push({ ...OPEN_ROUND, startTime: 1n });
        });
      },
      is: "refused VAULT_ROUND_CHANGED",
      then: ({ troubles }) => {
        expect(troubles).to.match(/journal .*it is a folder/u);
      },
    },
  ]);
});
