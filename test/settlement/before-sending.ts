import { mock } from "node:test";
import { setImmediate } from "node:timers/promises";

import { expect } from "chai";
import { Transaction } from "ethers";

import { noRetries } from "../../src/rpc/retry.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { carryOut } from "../../src/settlement/carry-out.js";
import {
  TimeLimit,
  isRecent,
  staleAge,
} from "../../src/settlement/freshness.js";
import { Journal } from "../../src/settlement/journal.js";
import { roundChecker } from "../../src/settlement/check-round.js";
import type { SettlementPreflight } from "../../src/types.js";
import { endDeadlines } from "../helpers/deadlines.js";
import { fieldsOf } from "../helpers/fields.js";
import {
  OPEN_ROUND,
  VAULT,
  nextRound,
  settledRound,
} from "../helpers/scripted-contracts.js";
import {
  HASH,
  SENDS,
  itSettles,
  remote,
  sent,
  useStage,
} from "../helpers/settlement-stage.js";
import type { SettlementStage } from "../helpers/settlement-stage.js";

// The scripted node has none of the methods of development nodes, so it is a live one.
describe("settleAll, before it sends", () => {
  const stage = useStage();

  /** Milliseconds that the wall clock is ahead. */
  let ahead: number;
  let clock: ReturnType<typeof mock.method>;
  beforeEach(() => {
    ahead = 0;
    const now = Date.now.bind(Date);
    clock = mock.method(Date, "now", () => now() + ahead);
  });
  afterEach(() => {
    clock.mock.restore();
  });

  const isDevelopmentNode = (on: SettlementStage): void => {
    on.makeDevelopmentNode();
  };
  const leavesUnsettled = ({ chain }: SettlementStage): void => {
    chain.effect = (round) => round;
  };
  const yes = { confirm: async () => await Promise.resolve(true as const) };

  describe("by the verdict of its preview", () => {
    for (const [where, given] of [
      ["a live network", leavesUnsettled],
      [
        "a development node",
        (on: SettlementStage) => {
          leavesUnsettled(on);
          isDevelopmentNode(on);
        },
      ],
    ] as const) {
      itSettles(stage, [
        {
          title: `settleAll without a question refuses a preview that does not settle the round, on ${where}: VAULT_WOULD_NOT_SETTLE`,
          given,
          is: { status: "refused", code: "VAULT_WOULD_NOT_SETTLE" },
          events: "preflight",
        },
      ]);
    }

    itSettles(stage, [
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

    itSettles(stage, [
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
          await stage.interrupt();
          stage.endAtLook(3);
        },
        network,
        options: { resume: true },
        is: { status: "unconfirmed" },
        says: ["could not be sent again: The newest block of network scripted"],
        then: async () => {
          expect(await stage.journal()).to.have.property("transactions");
        },
      },
    ]);
  });

  it("settleAll refuses if no block came while it waited for its key: VAULT_STALE_HEAD", async () => {
    let age = 100;
    clock.mock.mockImplementation(() => (1_700_000_005 + age) * 1_000);
    stage.chain.on("eth_getTransactionCount", async (_, answer) => {
      age = 400;
      return await answer();
    });
    const { code } = await stage.settle({}, { vault: { maxHeadAge: 300 } });
    expect([code, stage.sends]).to.deep.equal(["VAULT_STALE_HEAD", 0]);
  });

  it("a block is old above a maxHeadAge of 300 s by default, and not at it", async () => {
    const host = stage.host({ vault: { maxHeadAge: undefined } });
    const block = { number: 5, timestamp: 1_700_000_005 };
    const ages: unknown[] = [];
    for (const age of [300, 301]) {
      clock.mock.mockImplementation(() => (block.timestamp + age) * 1_000);
      ages.push(await staleAge(host, block));
    }
    expect(ages).to.deep.equal([undefined, 301]);
  });

  describe("with its last look at the round", () => {
    /** The look before sending; `act` comes before its answer. */
    const atLastLook = (act: (look: number) => void): void => {
      let looks = 0;
      stage.chain.on("eth_call", async (_, answer) => {
        if (stage.chain.count("eth_getTransactionCount") > 0) {
          looks += 1;
          act(looks);
        }
        return await answer();
      });
    };

    it("settleAll looks again if the answer came 15 s late, and refuses if the round changed meanwhile", async () => {
      atLastLook((look) => {
        ahead += look === 1 ? 15_000 : 0;
        if (look === 2) {
          stage.chain.rounds.push({ ...OPEN_ROUND, startTime: 1n });
        }
      });
      expect(await stage.settle()).to.include({
        status: "refused",
        code: "VAULT_ROUND_CHANGED",
      });
      expect(stage.sends).to.equal(0);
    });

    itSettles(stage, [
      {
        title:
          "settleAll refuses if every answer comes late, until its timeout: VAULT_LATE_ANSWER",
        given: () => {
          atLastLook((look) => {
            ahead += 15_000;
            if (look === 3) {
              endDeadlines();
            }
          });
        },
        is: { status: "refused", code: "VAULT_LATE_ANSWER" },
        then: async () => {
          expect(await stage.journal(".finished")).to.not.have.property(
            "mined",
          );
        },
      },
    ]);

    it("settleAll refuses if the look has no answer within its timeout: VAULT_LATE_ANSWER", async () => {
      stage.chain.on("eth_call", async (_, answer) =>
        stage.chain.count("eth_getTransactionCount") > 0
          ? await new Promise<never>(() => undefined)
          : await answer(),
      );
      const { code } = await stage.settle({ timeout: 50 });
      expect([code, stage.sends]).to.deep.equal(["VAULT_LATE_ANSWER", 0]);
    }).timeout(100_000);

    it("a look at the round counts for 5 s, by a clock that does not stand still", async () => {
      const host = stage.host();
      const journal = await Journal.open(host, 31_337, VAULT);
      const look = roundChecker(
        host,
        journal,
        { round: OPEN_ROUND },
        { ifExpired: false },
      );
      const { answeredAt } = await look();
      const counts: boolean[] = [];
      for (const passes of [4_900, 200]) {
        ahead += passes;
        counts.push(isRecent(answeredAt));
      }
      expect(counts).to.deep.equal([true, false]);
    });

    it("a process that was suspended after its look looks again before it sends", async () => {
      const order: string[] = [];
      stage.chain.on("eth_sendRawTransaction", () => {
        order.push("send");
        endDeadlines();
        return HASH;
      });
      const rpc = new RpcClient(stage.chain, "scripted");
      await carryOut(
        {
          network: "scripted",
          transactions: [sent],
          sentAfterBlock: 5,
          start: "send",
          confirmations: 1,
          maxFeeBumps: 0,
        },
        {
          rpc: rpc.withRetries(noRetries),
          limit: new TimeLimit(60_000),
          pollingIntervalMs: 1,
          firstCheckAfterMs: 0,
          checkRound: async () => {
            order.push("look");
            return await Promise.resolve({
              obstacle: undefined,
              answeredAt: Date.now(),
            });
          },
          checkedAt: Date.now() - 6_000,
          sign: async () => await Promise.resolve("never"),
          record: async (transactions) => await Promise.resolve(transactions),
          emit: () => undefined,
        },
      );
      expect(order.slice(0, 2)).to.deep.equal(["look", "send"]);
    });
  });

  describe("after a question that took long", () => {
    const shown: SettlementPreflight[] = [];
    beforeEach(() => {
      shown.length = 0;
    });
    const afterThinking = (...acts: ReadonlyArray<() => void>) => ({
      confirm: async (preflight: SettlementPreflight) => {
        acts[shown.length]?.();
        shown.push(preflight);
        return await Promise.resolve(true as const);
      },
    });
    const mineTwice = (): void => {
      stage.chain.mine();
      stage.chain.mine();
    };
    const simulations = (): number => stage.chain.count("eth_simulateV1");
    const doubled = (): void => {
      stage.chain.on("eth_maxPriorityFeePerGas", () => "0xffff");
    };

    for (const [what, act, count] of [
      [
        "does not simulate again one block later",
        () => {
          stage.chain.mine();
        },
        1,
      ],
      ["simulates again two blocks later", mineTwice, 2],
      [
        "simulates again 16 s later",
        () => {
          ahead += 16_000;
        },
        2,
      ],
      [
        "simulates again if the clock was set back by 16 s",
        () => {
          ahead -= 16_000;
        },
        2,
      ],
    ] as const) {
      it(`settleAll ${what}, and asks once if nothing changed`, async () => {
        const { status } = await stage.settle(afterThinking(act));
        expect([status, shown.length, simulations()]).to.deep.equal([
          "settled",
          1,
          count,
        ]);
      });
    }

    it("settleAll asks once more if the settlement does not settle the round by then", async () => {
      const { preview } = await stage.settle(
        afterThinking(() => {
          mineTwice();
          leavesUnsettled(stage);
        }),
      );
      expect(shown.map((one) => one.preview?.status)).to.deep.equal([
        "settled",
        "not-settled",
      ]);
      expect(preview?.status, "the one that was agreed to").to.equal(
        "not-settled",
      );
    });

    it("settleAll does not simulate the next round, nor ask about it, if that is current by then: VAULT_ROUND_CHANGED", async () => {
      const { code } = await stage.settle(
        afterThinking(() => {
          mineTwice();
          stage.chain.mine(nextRound);
          leavesUnsettled(stage);
        }),
      );
      expect([code, shown.length, simulations()]).to.deep.equal([
        "VAULT_ROUND_CHANGED",
        1,
        1,
      ]);
    });

    it("settleAll has the preview of the second question if it sends nothing after it", async () => {
      const { code, preview } = await stage.settle(
        afterThinking(
          () => {
            mineTwice();
            leavesUnsettled(stage);
          },
          () => {
            stage.chain.mine(nextRound);
          },
        ),
      );
      expect([code, preview?.status]).to.deep.equal([
        "VAULT_ROUND_CHANGED",
        "not-settled",
      ]);
    });

    it("settleAll is reverted if the contract reverts by then, and sends nothing", async () => {
      const { status } = await stage.settle(
        afterThinking(() => {
          mineTwice();
          stage.chain.revertsWith = "0x";
        }),
      );
      expect([status, stage.sends]).to.deep.equal(["reverted", 0]);
    });

    it("settleAll asks once more if the fee is above what was shown", async () => {
      const { status } = await stage.settle(
        afterThinking(() => {
          mineTwice();
          doubled();
        }),
      );
      const [first, second] = shown.map(({ maxCost }) => maxCost ?? 0n);
      expect(status).to.equal("settled");
      expect(second).to.be.above(first ?? 0n);
    });

    it("settleAll offers no more than it showed if the price rose within that", async () => {
      await stage.settle(
        afterThinking(() => {
          mineTwice();
          // The base fee is 7: 15 in all were shown, and 12 are needed now.
          stage.chain.on("eth_maxPriorityFeePerGas", () => "0x5");
        }),
      );
      const send = stage.chain.asked.find(({ method }) =>
        SENDS.includes(method),
      );
      const { maxFeePerGas, maxPriorityFeePerGas } = Transaction.from(
        String(send?.params[0]),
      );
      expect(shown).to.have.length(1);
      expect([maxFeePerGas, maxPriorityFeePerGas]).to.deep.equal([15n, 5n]);
    });

    itSettles(stage, [
      {
        title:
          "settleAll refuses if it is another one after the second question, too: VAULT_PREVIEW_CHANGED",
        options: () =>
          afterThinking(
            () => {
              mineTwice();
              leavesUnsettled(stage);
            },
            () => {
              mineTwice();
              doubled();
            },
          ),
        is: { status: "refused", code: "VAULT_PREVIEW_CHANGED" },
      },
      {
        title:
          "settleAll without a question refuses if it is another one 16 s later: VAULT_PREVIEW_CHANGED",
        given: ({ chain }) => {
          chain.on("eth_simulateV1", async (_, answer, before) => {
            const answered = await answer();
            if (before === 0) {
              ahead += 16_000;
              leavesUnsettled(stage);
            }
            return answered;
          });
        },
        is: { status: "refused", code: "VAULT_PREVIEW_CHANGED" },
        says: ["its outcome is another one now"],
      },
    ]);
  });

  describe("by a last look whose header and call are of two blocks", () => {
    /** The lens' call at the newest block, made beside the request for its header. */
    const atLastLook = (
      change: (params: readonly unknown[]) => readonly unknown[],
    ): void => {
      const { chain } = stage;
      chain.on("eth_call", async (params, answer) => {
        if (params[1] !== "latest" || params.length < 3) {
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
          stage.chain.mine(change);
        }
        return params;
      });
    };

    itSettles(stage, [
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
    itSettles(stage, [
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

  describe("by its fee", () => {
    /** The base fee of the scripted node is 7, and its tip 1. */
    const limited = (limits: object) => ({ vault: limits });
    const suggesting = (tip: string) => (): void => {
      stage.chain.on("eth_maxPriorityFeePerGas", () => tip);
    };
    const paid = (...prices: readonly string[]): void => {
      paidAbove("0x0", ...prices);
    };
    /** Of a base fee and tips; without a tip, the chain's own transaction is alone. */
    const paidAbove = (baseFee: string, ...prices: readonly string[]): void => {
      stage.chain.on("eth_feeHistory", () => ({
        baseFeePerGas: prices.map(() => baseFee),
        gasUsedRatio: prices.map((price) =>
          price === "0x0" && baseFee === "0x0" ? 0 : 0.5,
        ),
        reward: prices.map((price) => [price]),
      }));
    };

    itSettles(stage, [
      {
        title:
          "settleAll refuses a price above maxFeePerGasLimit, with both figures and the setting: VAULT_FEE_ABOVE_LIMIT",
        network: limited({ maxFeePerGasLimit: 7n }),
        is: { status: "refused", code: "VAULT_FEE_ABOVE_LIMIT" },
        says: ["8 wei", "7 wei", "networks.scripted.vault.maxFeePerGasLimit"],
      },
      {
        title:
          "settleAll refuses a tip above maxPriorityFeePerGasLimit, also if a person would agree",
        given: suggesting("0x3"),
        network: limited({ maxPriorityFeePerGasLimit: 2n }),
        options: yes,
        is: { status: "refused", code: "VAULT_FEE_ABOVE_LIMIT" },
        says: ["a priority fee of 3 wei"],
        events: "",
      },
      {
        title: "settleAll refuses a price above its option maxFeePerGas",
        network: limited({ maxFeePerGasLimit: 100n }),
        options: { maxFeePerGas: 7n },
        is: { status: "refused", code: "VAULT_FEE_ABOVE_LIMIT" },
        says: ["(maxFeePerGas)"],
      },
      {
        title:
          "settleAll does not take a maxFeePerGas above the configured limit: VAULT_INVALID_ARGUMENT",
        network: limited({ maxFeePerGasLimit: 100n }),
        options: { maxFeePerGas: 101n },
        throws: "VAULT_INVALID_ARGUMENT",
        says: ["may only lower the configured limit of 100 wei"],
      },
      {
        title:
          "settleAll refuses a gas price above the limit on a chain without a base fee",
        given: ({ chain }) => {
          chain.on("eth_getBlockByNumber", async (_, answer) => {
            const { baseFeePerGas: _fee, ...block } = fieldsOf(await answer());
            return block;
          });
        },
        network: limited({ maxFeePerGasLimit: 999_999_999n }),
        is: { status: "refused", code: "VAULT_FEE_ABOVE_LIMIT" },
        says: ["1000000000 wei"],
      },
      {
        title:
          "settleAll settles below the limit, and offers no more than it, in place of twice the base fee",
        network: { ...limited({ maxFeePerGasLimit: 9n }), ...remote },
        is: { status: "settled" },
        sends: 1,
        then: async (on) => {
          const { transactions } = await on.journal(".finished");
          expect(transactions).to.have.deep.nested.property("[0].fees", {
            maxFeePerGas: "9",
            maxPriorityFeePerGas: "1",
          });
        },
      },
      {
        title:
          "settleAll without a question refuses a price of more than 20 times the recent median, with both figures: VAULT_FEE_UNUSUAL",
        given: () => {
          paid("0x1", "0x2", "0x99", "0x0");
          suggesting("0x22")();
        },
        is: { status: "refused", code: "VAULT_FEE_UNUSUAL" },
        says: ["41 wei", "median: 2 wei", "maxFeePerGasLimit"],
        events: "preflight",
      },
      {
        title: "settleAll settles at exactly 20 times the recent median",
        given: () => {
          paid("0x2");
          suggesting("0x21")();
        },
        is: { status: "settled" },
        sends: 1,
      },
      {
        title:
          "settleAll finds the median in the transactions of the blocks if the node has no fee history",
        given: ({ chain }) => {
          chain.on("eth_feeHistory", () => {
            throw Object.assign(new Error("no such method"), { code: -32601 });
          });
          chain.on("eth_getBlockByNumber", async ([, whole], answer) => {
            const block = fieldsOf(await answer());
            const one = { input: "0x", nonce: "0x0", from: "0x1" };
            const hash = block["hash"] ?? `0x${"ab".repeat(32)}`;
            const prices = ["0x0", "0x1", "0x1"];
            return whole === true
              ? {
                  ...block,
                  transactions: prices.map((gasPrice) => ({
                    ...{ ...one, hash, gasPrice },
                  })),
                }
              : block;
          });
          suggesting("0xe")();
        },
        is: { status: "refused", code: "VAULT_FEE_UNUSUAL" },
        says: ["21 wei", "median: 1 wei"],
      },
      {
        title:
          "settleAll pays a priority fee of 1 gwei on a rollup whose blocks mostly have none",
        given: () => {
          paidAbove("0x1", "0x0", "0x0", "0x2");
          suggesting("0x3b9aca00")();
        },
        is: { status: "settled" },
        sends: 1,
      },
      {
        title:
          "settleAll refuses a priority fee above 1 gwei on such a rollup: VAULT_FEE_UNUSUAL",
        given: () => {
          paidAbove("0x1", "0x0", "0x0", "0x2");
          suggesting("0x3b9aca01")();
        },
        is: { status: "refused", code: "VAULT_FEE_UNUSUAL" },
        says: ["median: 3 wei"],
      },
      {
        title: "settleAll pays an unusual price if no transaction is recent",
        given: () => {
          paid("0x0");
          suggesting("0xffff")();
        },
        is: { status: "settled" },
        sends: 1,
      },
      {
        title: "settleAll pays an unusual price below a configured limit",
        given: () => {
          paid("0x1");
          suggesting("0xff")();
        },
        network: limited({ maxFeePerGasLimit: 1_000n }),
        is: { status: "settled" },
        sends: 1,
      },
      {
        title: "settleAll pays an unusual price on a development node",
        given: (on) => {
          isDevelopmentNode(on);
          paid("0x1");
          suggesting("0xff")();
        },
        is: { status: "settled" },
        sends: 1,
      },
      {
        title: "settleAll pays an unusual price if a person agrees",
        given: () => {
          paid("0x1");
          suggesting("0xff")();
        },
        options: yes,
        is: { status: "settled" },
        sends: 1,
      },
    ]);
  });
});
