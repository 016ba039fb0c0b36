import { expect } from "chai";
import { Transaction } from "ethers";

import type { SettlementPreflight } from "../../src/types.js";
import { nextRound } from "../helpers/scripted-contracts.js";
import { useWallClock } from "../helpers/deadlines.js";
import { SENDS, itSettles, useKeeper } from "../helpers/keeper.js";
import type { Keeper } from "../helpers/keeper.js";

describe("settleAll, after a question that took long", () => {
  const keeper = useKeeper();
  const clock = useWallClock();
  const leavesUnsettled = ({ chain }: Keeper): void => {
    chain.effect = (round) => round;
  };

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
    keeper.chain.mine();
    keeper.chain.mine();
  };
  const simulations = (): number => keeper.chain.count("eth_simulateV1");
  const doubled = (): void => {
    keeper.chain.on("eth_maxPriorityFeePerGas", () => "0xffff");
  };

  for (const [what, act, count] of [
    [
      "does not simulate again one block later",
      () => {
        keeper.chain.mine();
      },
      1,
    ],
    ["simulates again two blocks later", mineTwice, 2],
    [
      "simulates again 16 s later",
      () => {
        clock.ahead += 16_000;
      },
      2,
    ],
    [
      "simulates again if the clock was set back by 16 s",
      () => {
        clock.ahead -= 16_000;
      },
      2,
    ],
  ] as const) {
    it(`settleAll ${what}, and asks once if nothing changed`, async () => {
      const { status } = await keeper.settle(afterThinking(act));
      expect([status, shown.length, simulations()]).to.deep.equal([
        "settled",
        1,
        count,
      ]);
    });
  }

  it("settleAll asks once more if the settlement does not settle the round by then", async () => {
    const { preview } = await keeper.settle(
      afterThinking(() => {
        mineTwice();
        leavesUnsettled(keeper);
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
    const { code } = await keeper.settle(
      afterThinking(() => {
        mineTwice();
        keeper.chain.mine(nextRound);
        leavesUnsettled(keeper);
      }),
    );
    expect([code, shown.length, simulations()]).to.deep.equal([
      "VAULT_ROUND_CHANGED",
      1,
      1,
    ]);
  });

  it("settleAll has the preview of the second question if it sends nothing after it", async () => {
    const { code, preview } = await keeper.settle(
      afterThinking(
        () => {
          mineTwice();
          leavesUnsettled(keeper);
        },
        () => {
          keeper.chain.mine(nextRound);
        },
      ),
    );
    expect([code, preview?.status]).to.deep.equal([
      "VAULT_ROUND_CHANGED",
      "not-settled",
    ]);
  });

  it("settleAll is reverted if the contract reverts by then, and sends nothing", async () => {
    const { status } = await keeper.settle(
      afterThinking(() => {
        mineTwice();
        keeper.chain.revertsWith = "0x";
      }),
    );
    expect([status, keeper.sends]).to.deep.equal(["reverted", 0]);
  });

  it("settleAll asks once more if the fee is above what was shown", async () => {
    const { status } = await keeper.settle(
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
    await keeper.settle(
      afterThinking(() => {
        mineTwice();
        // The base fee is 7: 15 in all were shown, and 12 are needed now.
        keeper.chain.on("eth_maxPriorityFeePerGas", () => "0x5");
      }),
    );
    const send = keeper.chain.asked.find(({ method }) =>
      SENDS.includes(method),
    );
    const { maxFeePerGas, maxPriorityFeePerGas } = Transaction.from(
      String(send?.params[0]),
    );
    expect(shown).to.have.length(1);
    expect([maxFeePerGas, maxPriorityFeePerGas]).to.deep.equal([15n, 5n]);
  });

  itSettles(keeper, [
    {
      title:
        "settleAll refuses if it is another one after the second question, too: VAULT_PREVIEW_CHANGED",
      options: () =>
        afterThinking(
          () => {
            mineTwice();
            leavesUnsettled(keeper);
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
            clock.ahead += 16_000;
            leavesUnsettled(keeper);
          }
          return answered;
        });
      },
      is: { status: "refused", code: "VAULT_PREVIEW_CHANGED" },
      says: ["its outcome is another one now"],
    },
  ]);
});
