import { existsSync } from "node:fs";

import { expect } from "chai";

import type { SettleAllOptions, VaultRound } from "../../src/types.js";
import { endDeadlines, useWallClock } from "../helpers/deadlines.js";
import { OPEN_ROUND, VAULT, nextRound } from "../helpers/scripted-contracts.js";
import { connectionLost, itSettles, useKeeper } from "../helpers/keeper.js";

/** Time of the next block; the newest one is a second older. */
const NOW = 1_700_000_006n;
const ending = (endTime: bigint): VaultRound => ({ ...OPEN_ROUND, endTime });
const notEnded = (endTime: bigint): string =>
  `The round has not ended yet: it ends at ${new Date(Number(endTime) * 1_000).toISOString().replace(".000", "")}.`;

describe("a settlement by a keeper", () => {
  const keeper = useKeeper();
  const clock = useWallClock();
  beforeEach(() => {
    // A little ahead of the chain.
    clock.stoppedAt = (Number(NOW) + 30) * 1_000;
  });
  const start = (round: VaultRound): void => {
    keeper.chain.rounds = keeper.chain.rounds.map(() => round);
  };

  describe("with ifExpired", () => {
    itSettles(keeper, [
      {
        title:
          "settleAll has nothing to do before the round's end by this machine's clock, if the node's is ahead, and says so",
        given: () => {
          start(ending(NOW));
          clock.stoppedAt = (Number(NOW) - 600) * 1_000;
        },
        options: { ifExpired: true },
        is: { status: "nothing-to-do" },
        events: "trouble",
        then: ({ troubles }) => {
          expect(troubles).to.match(/^clocks differ by 600 s/u);
        },
      },
    ]);
    for (const overrides of [true, false]) {
      const how = overrides ? "one request" : "single calls";
      itSettles(keeper, [
        {
          title: `settleAll has nothing to do one second before the round's end, and settles then, seen by ${how}`,
          given: ({ chain }) => {
            start(ending(NOW + 1n));
            chain.overrides = overrides;
          },
          options: { ifExpired: true },
          is: { status: "nothing-to-do", code: null, hash: null },
          says: [notEnded(NOW + 1n)],
          events: "",
          then: async ({ chain }, settlement) => {
            expect(settlement?.before).to.include({ endTime: NOW + 1n });
            chain.mine();
            const { status } = await keeper.settle({ ifExpired: true });
            expect(status).to.equal("settled");
          },
        },
        {
          title: `settleAll sends nothing if the chain goes back before the round's end while it asks, seen by ${how}`,
          given: ({ chain }) => {
            start(ending(NOW));
            chain.overrides = overrides;
          },
          options: ({ chain }) => ({
            ifExpired: true,
            confirm: async () => {
              chain.rounds.pop();
              return await Promise.resolve(true);
            },
          }),
          is: { status: "nothing-to-do", reason: notEnded(NOW) },
          events: "preflight",
          then: async () => {
            const finished = await keeper.journal(".finished");
            expect(finished).to.not.have.property("mined");
            expect(existsSync(keeper.journalFile())).to.equal(false);
          },
        },
      ]);
    }

    itSettles(keeper, [
      {
        title:
          "settleAll sends a lost transaction again once the round has ended again, after a re-org before its end",
        given: ({ chain }) => {
          start(ending(NOW));
          chain.on("eth_sendRawTransaction", async (_, answer, seen) => {
            if (seen > 0) {
              return await answer();
            }
            chain.rounds.pop();
            throw connectionLost();
          });
          chain.on("eth_getTransactionReceipt", async (_, answer, seen) => {
            if (seen === 5) {
              expect(keeper.sends).to.equal(1);
              chain.mine();
            }
            return await answer();
          });
        },
        options: { ifExpired: true },
        is: { status: "settled" },
        sends: 2,
      },
      {
        title:
          "settleAll says that the round has not ended if its time is over before the round ends again",
        given: ({ chain }) => {
          start(ending(NOW));
          keeper.loseTransactions(() => {
            chain.rounds.pop();
          });
          keeper.endAtLook(4);
        },
        options: { ifExpired: true },
        is: { status: "unconfirmed" },
        says: [
          `the node does not have it, and it is not sent again: ${notEnded(NOW)}`,
        ],
        sends: 1,
      },
      {
        title: "resume sends nothing before the round's end with ifExpired",
        given: async () => {
          await keeper.interrupt();
        },
        options: { resume: true, ifExpired: true },
        is: { status: "nothing-to-do" },
        says: [notEnded(OPEN_ROUND.endTime)],
        events: "resuming",
      },
      {
        title:
          "assertOnly has nothing to do before the round's end with ifExpired",
        options: { ifExpired: true, assertOnly: true },
        is: { status: "nothing-to-do" },
      },
    ]);
  });

  it("resume emits no `sending` if the transaction is mined", async () => {
    await keeper.settle({
      onEvent: ({ type }) => {
        if (type === "mined") {
          endDeadlines();
          keeper.chain.on("eth_call", () => {
            throw new Error("nope");
          });
        }
      },
    });
    keeper.chain.on("eth_call", async (_, answer) => await answer());
    expect(await keeper.settle({ resume: true })).to.include({
      status: "settled",
    });
    expect(keeper.types).to.equal("resuming mined");
  });

  describe("with resumeFirst", () => {
    const options = { resumeFirst: true } as const;

    it("finishes an interrupted settlement of the current round with the bytes of before", async () => {
      const { hash } = await keeper.interrupt();
      expect(await keeper.settle(options)).to.include({
        status: "settled",
        hash,
      });
      expect(keeper.types).to.equal("resuming sending mined resumed");
      expect(keeper.chain.mined.map((one) => one.hash)).to.deep.equal([hash]);
    });

    it("goes on with the next round after it finished an interrupted settlement", async () => {
      await keeper.interrupt();
      await keeper.settleByOther();
      await keeper.openNextRound();
      const settlement = await keeper.settle(options);
      expect(settlement).to.include({ status: "settled" });
      expect(settlement.before).to.deep.equal(nextRound(OPEN_ROUND));
      const [, resumed] = keeper.events;
      expect(resumed?.type === "resumed" && resumed.settlement).to.include({
        status: "refused",
        code: "VAULT_ROUND_CHANGED",
      });
      expect(keeper.sends).to.equal(1);
    });

    const interrupted = async (): Promise<void> => {
      await keeper.interrupt();
    };
    /** The next round opens once the interrupted settlement is finished. */
    const openNext: SettleAllOptions["onEvent"] = (event) => {
      if (event.type === "resumed") {
        keeper.chain.mine(nextRound);
      }
    };
    itSettles(keeper, [
      {
        title:
          "has nothing to do if none was interrupted and the round is settled",
        given: async () => {
          await keeper.settle();
        },
        options,
        is: { status: "nothing-to-do", code: null },
        says: ["settled already"],
        events: "",
        sends: 1,
      },
      {
        title: "does not ask to finish what was confirmed before",
        given: interrupted,
        options: {
          ...options,
          confirm: async () => await Promise.reject(new Error("asked")),
        },
        is: { status: "settled" },
        events: "resuming sending mined resumed",
        sends: 1,
      },
      {
        title:
          "asks about the next round, and returns what was paid for, with a warning, after No",
        given: interrupted,
        options: {
          ...options,
          confirm: async () => await Promise.resolve("not this one"),
          onEvent: openNext,
        },
        is: { status: "settled", blockNumber: 6 },
        events: "resuming sending mined resumed preflight trouble",
        sends: 1,
        then: ({ troubles }) => {
          expect(troubles).to.equal(
            "the next settlement was not begun: not this one",
          );
        },
      },
      {
        title: "waits for the confirmations of what it finishes",
        given: interrupted,
        options: {
          ...options,
          confirmations: 2,
          onEvent: (event) => {
            if (event.type === "mined") {
              keeper.chain.mine();
            }
          },
        },
        is: { status: "settled" },
        events: "resuming sending mined confirmed confirmed resumed",
        sends: 1,
      },
      {
        title: "only asserts with assertOnly",
        given: interrupted,
        options: { ...options, assertOnly: true },
        is: { status: "refused", code: "VAULT_SETTLEMENT_NEEDED" },
        events: "",
      },
      {
        title:
          "refuses an account that the network lacks, and finishes nothing",
        given: interrupted,
        options: { ...options, from: VAULT },
        is: { status: "refused", code: "VAULT_UNKNOWN_SIGNER" },
        events: "",
      },
      {
        title: "sends nothing again before the round's end with ifExpired",
        given: interrupted,
        options: { ...options, ifExpired: true },
        is: {
          status: "nothing-to-do",
          hash: null,
          reason: notEnded(OPEN_ROUND.endTime),
        },
        events: "resuming resumed",
      },
      {
        title: "leaves a next round that has not ended, with ifExpired",
        given: async () => {
          start(ending(NOW));
          await keeper.interrupt();
        },
        options: { ...options, ifExpired: true, onEvent: openNext },
        is: { status: "settled", blockNumber: 6 },
        events: "resuming sending mined resumed",
        sends: 1,
      },
    ]);

    it("returns what it finished if the next settlement fails before it sends, which is a warning", async () => {
      const { hash } = await keeper.interrupt();
      const settlement = await keeper.settle({
        ...options,
        onEvent: (event) => {
          if (event.type === "resumed") {
            keeper.chain.on("eth_call", () => {
              throw new Error("nope");
            });
          }
        },
      });
      expect(settlement).to.include({ status: "settled", hash });
      expect(keeper.troubles).to.match(/next settlement.*nope/u);
    });

    it("begins no other settlement, with VAULT_SETTLEMENT_UNFINISHED, while one may still be mined", async () => {
      const { hash } = await keeper.interrupt();
      await keeper.stopMining();
      expect(await keeper.settle(options)).to.include({
        status: "unconfirmed",
        hash,
      });
      expect(keeper.types).to.not.include("resumed");
      expect(keeper.sends).to.equal(1);
      // Nor without resume.
      expect(await keeper.settle()).to.include({
        status: "refused",
        code: "VAULT_SETTLEMENT_UNFINISHED",
        hash,
      });
      keeper.chain.mine();
      expect(await keeper.settle({ resume: true })).to.include({
        status: "settled",
        hash,
      });
      expect(keeper.sends).to.equal(1);
    });
  });
});
