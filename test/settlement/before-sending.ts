import { mkdirSync } from "node:fs";
import { setImmediate } from "node:timers/promises";

import { expect } from "chai";

import { staleAge } from "../../src/settlement/head-age.js";
import { endDeadlines, useWallClock } from "../helpers/deadlines.js";
import {
  OPEN_ROUND,
  nextRound,
  settledRound,
} from "../helpers/scripted-contracts.js";
import { itSettles, useKeeper } from "../helpers/keeper.js";
import type { Keeper } from "../helpers/keeper.js";

// The scripted node has none of the methods of development nodes, so it is a live one.
/** The lens' call at the newest block, made beside the request for its header. */
const isLastLook = ([, block, ...overrides]: readonly unknown[]): boolean =>
  block === "latest" && overrides.length === 1;

describe("settleAll, before it sends", () => {
  const keeper = useKeeper();

  const clock = useWallClock();

  const isDevelopmentNode = (on: Keeper): void => {
    on.makeDevelopmentNode();
  };
  const leavesUnsettled = ({ chain }: Keeper): void => {
    chain.effect = (round) => round;
  };
  const yes = { confirm: async () => await Promise.resolve(true as const) };

  describe("by the verdict of its preview", () => {
    for (const [where, given] of [
      ["a live network", leavesUnsettled],
      [
        "a development node",
        (on: Keeper) => {
          leavesUnsettled(on);
          isDevelopmentNode(on);
        },
      ],
    ] as const) {
      itSettles(keeper, [
        {
          title: `settleAll without a question refuses a preview that does not settle the round, on ${where}: VAULT_WOULD_NOT_SETTLE`,
          given,
          is: { status: "refused", code: "VAULT_WOULD_NOT_SETTLE" },
          events: "preflight",
        },
      ]);
    }

    itSettles(keeper, [
      {
        title: "settleAll sends it with `partial`",
        given: leavesUnsettled,
        options: { partial: true },
        is: { status: "not-settled" },
        sends: 1,
      },
      {
        title: "settleAll sends it if a person agrees",
        given: leavesUnsettled,
        options: yes,
        is: { status: "not-settled" },
        sends: 1,
      },
      {
        title:
          "settleAll sends without a question if no engine works on the node and the call succeeds",
        given: (on) => {
          leavesUnsettled(on);
          on.chain.overrides = false;
        },
        is: { status: "not-settled", preview: null },
        sends: 1,
      },
    ]);
  });

  describe("on a node whose newest block is old", () => {
    const network = { vault: { maxHeadAge: 300 } };

    itSettles(keeper, [
      {
        title:
          "settleAll without a question refuses, with the block's age: VAULT_STALE_HEAD",
        network,
        is: { status: "refused", code: "VAULT_STALE_HEAD" },
        says: /is \d{8,} s old \(block 5\), and the limit is 300 s/u,
        events: "preflight",
      },
      {
        title: "settleAll settles with maxHeadAge false",
        network: { vault: { maxHeadAge: false } },
        is: { status: "settled" },
        sends: 1,
      },
      {
        title: "settleAll settles on a development node",
        given: isDevelopmentNode,
        network,
        is: { status: "settled" },
        sends: 1,
      },
      {
        title: "settleAll shows a person the age, and settles if they agree",
        network,
        options: yes,
        is: { status: "settled" },
        sends: 1,
        then: ({ events: [first] }) => {
          expect(first)
            .to.have.nested.property("preflight.headAge")
            .that.is.above(300);
        },
      },
      {
        title: "resume does not send again, and keeps the journal",
        given: async () => {
          await keeper.interrupt();
          keeper.endAtLook(3);
        },
        network,
        options: { resume: true },
        is: { status: "unconfirmed" },
        says: ["could not be sent again: The newest block of network scripted"],
        then: async () => {
          expect(await keeper.journal()).to.have.property("transactions");
        },
      },
    ]);
  });

  it("settleAll refuses if no block came while it waited for its key: VAULT_STALE_HEAD", async () => {
    clock.stoppedAt = 1_700_000_105_000;
    keeper.chain.on("eth_call", async (params, answer) => {
      if (isLastLook(params)) {
        clock.stoppedAt = 1_700_000_405_000;
      }
      return await answer();
    });
    const { code } = await keeper.settle({}, { vault: { maxHeadAge: 300 } });
    expect([code, keeper.sends]).to.deep.equal(["VAULT_STALE_HEAD", 0]);
  });

  it("a block is old above a maxHeadAge of 300 s by default, and not at it", async () => {
    const host = keeper.host({ vault: { maxHeadAge: undefined } });
    const block = { number: 5, timestamp: 1_700_000_005 };
    const ages: unknown[] = [];
    for (const age of [300, 301]) {
      clock.stoppedAt = (block.timestamp + age) * 1_000;
      ages.push(await staleAge(host, block));
    }
    expect(ages).to.deep.equal([undefined, 301]);
  });

  describe("with its last look at the round", () => {
    /** The look before sending; `act` comes before its answer. */
    const atLastLook = (act: (look: number) => void): void => {
      let looks = 0;
      keeper.chain.on("eth_call", async (params, answer) => {
        if (isLastLook(params)) {
          looks += 1;
          act(looks);
        }
        return await answer();
      });
    };

    it("settleAll says that the round changed also if its journal cannot be finished, which is a warning", async () => {
      atLastLook(() => {
        mkdirSync(keeper.journalFile(".finished"), { recursive: true });
        keeper.chain.rounds.push({ ...OPEN_ROUND, startTime: 1n });
      });
      expect(await keeper.settle()).to.include({ code: "VAULT_ROUND_CHANGED" });
      expect(keeper.troubles).to.match(/journal .*EISDIR/u);
    });

    it("settleAll leaves its journal to another process that resumed and sent it meanwhile", async () => {
      let looks = 0;
      keeper.chain.mines = false;
      keeper.chain.on("eth_call", async (params, answer) => {
        const isLast = isLastLook(params);
        looks += isLast ? 1 : 0;
        if (isLast && looks === 1) {
          keeper.beforeSending(async () => {
            endDeadlines();
            await Promise.resolve();
          });
          expect(await keeper.settle({ resume: true })).to.include({
            status: "unconfirmed",
          });
          keeper.chain.rounds.push({ ...OPEN_ROUND, startTime: 1n });
        }
        return await answer();
      });
      await keeper.settle();
      expect(keeper.sends).to.equal(1);
      const { transactions } = await keeper.journal();
      expect(transactions).to.have.length(1);
    });

    it("settleAll refuses, and finishes its journal, if the look has no answer within its timeout", async () => {
      keeper.chain.on("eth_call", async (params, answer) =>
        isLastLook(params)
          ? await new Promise<never>(() => undefined)
          : await answer(),
      );
      const { code, hash } = await keeper.settle({ timeout: 50 });
      expect([code, hash, keeper.sends]).to.deep.equal([
        "VAULT_RPC_TIMEOUT",
        null,
        0,
      ]);
      expect(await keeper.journal(".finished")).to.not.have.property("mined");
    }).timeout(100_000);

    it("settleAll reads the round again if an answer takes more than five seconds, and refuses if the round changed meanwhile", async () => {
      let looks = 0;
      keeper.chain.on("eth_call", async (params, answer) => {
        if (isLastLook(params)) {
          looks += 1;
          if (looks === 1) {
            keeper.chain.rounds.push({ ...OPEN_ROUND, startTime: 1n });
            return await new Promise<never>(() => undefined);
          }
        }
        return await answer();
      });
      expect(await keeper.settle()).to.include({
        status: "refused",
        code: "VAULT_ROUND_CHANGED",
      });
      expect(keeper.sends).to.equal(0);
      expect(keeper.troubles).to.include("did not answer");
    }).timeout(60_000);
  });

  describe("by a last look whose header and call are of two blocks", () => {
    const atLastLook = (
      change: (params: readonly unknown[]) => readonly unknown[],
    ): void => {
      const { chain } = keeper;
      chain.on("eth_call", async (params, answer) => {
        if (!isLastLook(params)) {
          return await answer();
        }
        // The header has its answer by then.
        await setImmediate();
        return await chain.answerTo("eth_call", change(params));
      });
    };
    const changed = (change: typeof settledRound) => (): void => {
      let isChanged = false;
      atLastLook((params) => {
        if (!isChanged) {
          isChanged = true;
          keeper.chain.mine(change);
        }
        return params;
      });
    };

    itSettles(keeper, [
      {
        title:
          "settleAll sends nothing if somebody else settles the round after the header is read",
        given: changed(settledRound),
        is: { status: "nothing-to-do" },
      },
      {
        title:
          "settleAll refuses if the next round opens after the header is read: VAULT_ROUND_CHANGED",
        given: changed(nextRound),
        is: { status: "refused", code: "VAULT_ROUND_CHANGED" },
      },
      {
        title:
          "settleAll settles if another node, which is still in the round before, answers the call",
        given: ({ chain }) => {
          chain.mine(nextRound);
          atLastLook(([call, , overrides]) => [call, "0x5", overrides]);
        },
        is: { status: "settled" },
        sends: 1,
      },
    ]);
  });

  describe("with ifExpired on a node without a pending block", () => {
    itSettles(keeper, [
      {
        title:
          "settleAll settles a round that has ended by this machine's clock",
        given: ({ chain }) => {
          const endTime = BigInt(Math.floor(Date.now() / 1_000) - 60);
          chain.rounds = chain.rounds.map((round) => ({ ...round, endTime }));
          chain.on("eth_getBlockByNumber", async ([tag], answer) =>
            tag === "pending" ? null : await answer(),
          );
        },
        options: { ifExpired: true },
        is: { status: "settled" },
        sends: 1,
      },
    ]);
  });
});
