import { expect } from "chai";
import { Transaction } from "ethers";

import { VaultError } from "../../src/client/index.js";
import type { SettleAllOptions, SettlementPreflight } from "../../src/types.js";
import { useWallClock } from "../helpers/deadlines.js";
import { SENDS, itSettles, unlimited, useKeeper } from "../helpers/keeper.js";
import type { Keeper } from "../helpers/keeper.js";
import { SETTLER, VAULT, nextRound } from "../helpers/scripted-contracts.js";

const yes: SettleAllOptions = {
  confirm: async () => await Promise.resolve(true),
};
const leavesUnsettled = ({ chain }: Keeper): void => {
  chain.effect = (round) => round;
};

describe("the question of settleAll", () => {
  const keeper = useKeeper();
  /** A person, or a function, that answers with any value. */
  const answering = (answer: unknown): SettleAllOptions => ({
    confirm: async () =>
      // JavaScript may return another type
      await Promise.resolve(answer as true),
  });

  itSettles(keeper, [
    ...[undefined, 1, ""].map((answer) => ({
      title: `is not confirmed by ${JSON.stringify(answer)}: VAULT_NOT_CONFIRMED`,
      options: answering(answer),
      is: "refused VAULT_NOT_CONFIRMED" as const,
      says: ["Nothing was sent"],
      events: "preflight",
    })),
    {
      // The task escapes what it prints.
      title: "has the text of its answer as reason, as it is",
      options: answering("\u001b[2J because"),
      is: { code: "VAULT_NOT_CONFIRMED", reason: "\u001b[2J because" },
    },
    {
      title: "has the code of the VaultError that is its answer",
      options: answering(new VaultError("VAULT_NO_TERMINAL", {})),
      is: "refused VAULT_NO_TERMINAL",
    },
  ]);

  it("throws what the answer throws, and sends nothing", async () => {
    const problem = new TypeError("the terminal is lost");
    const confirm = async (): Promise<true> => await Promise.reject(problem);
    const thrown: unknown = await keeper
      .settle({ confirm })
      .catch((error: unknown) => error);
    expect(thrown).to.equal(problem);
    expect(keeper.sends).to.equal(0);
  });

  it("shows account, contract, balance and costs in wei, and compares no price", async () => {
    const shown: SettlementPreflight[] = [];
    await keeper.settle({
      confirm: async (preflight) => {
        shown.push(preflight);
        return await Promise.resolve("no");
      },
    });
    expect(shown).to.have.length(1);
    expect(keeper.chain.count("eth_feeHistory")).to.equal(0);
    expect(shown[0]).to.deep.include({
      ...{ chainId: 31_337, chainTime: 1_700_000_006, from: SETTLER },
      contract: { address: VAULT, source: "VaultClient" },
      ...{ signing: "local", balance: 10n ** 18n, gas: 93_750n },
      // The base fee of 7, twice in the highest price, and the tip of 1.
      ...{ cost: 93_750n * 8n, maxCost: 93_750n * 15n },
      ...{ outcome: "succeeds", warnings: [] },
    });
  });
});

describe("what settleAll asks a person, and refuses without one", () => {
  const keeper = useKeeper();
  const old = { vault: { maxHeadAge: 300 } };

  itSettles(keeper, [
    {
      title:
        "refuses a preview that does not settle the round: VAULT_WOULD_NOT_SETTLE",
      given: leavesUnsettled,
      is: "refused VAULT_WOULD_NOT_SETTLE",
      events: "preflight",
    },
    ...[{ partial: true }, yes].map((options) => ({
      title: `sends such a settlement with ${Object.keys(options).join()}`,
      given: leavesUnsettled,
      options,
      is: "not-settled" as const,
    })),
    {
      title: "sends without a preview if the call succeeds",
      given: (on) => {
        leavesUnsettled(on);
        on.chain.overrides = false;
      },
      is: { status: "not-settled", preview: null },
    },
    {
      title: "settles if the account has no more than what it can cost",
      network: { gas: 100_000n, gasPrice: 10n ** 13n },
      options: yes,
      is: "settled",
    },
    {
      title:
        "refuses without a limit of the fee, with the line to write: VAULT_FEE_LIMIT_NEEDED",
      network: unlimited,
      is: "refused VAULT_FEE_LIMIT_NEEDED",
      says: ["8 wei", "`maxFeePerGasLimit: 80n,` into networks.scripted.vault"],
      events: "preflight",
    },
    {
      title: "settles with a limit of this run alone",
      network: unlimited,
      options: { maxFeePerGas: 80n },
      is: "settled",
    },
    {
      title: "asks a person about the price, who needs no limit",
      network: unlimited,
      options: yes,
      is: "settled",
    },
    {
      title: "settles at any price on a development node",
      given: ({ chain }) => {
        chain.makeDevelopmentNode();
      },
      network: unlimited,
      is: "settled",
    },
    {
      title: "refuses on an old block, with its age: VAULT_STALE_HEAD",
      network: old,
      is: "refused VAULT_STALE_HEAD",
      says: /is \d{8,} s old \(block 5\), and the limit is 300 s/u,
      events: "preflight",
    },
    {
      title: "shows a person the age of the block, and settles if they agree",
      network: old,
      options: yes,
      is: "settled",
      then: ({ events: [first] }) => {
        expect(first)
          .to.have.nested.property("preflight.headAge")
          .that.is.above(300);
      },
    },
  ]);
});

describe("settleAll, after a question that took long", () => {
  const keeper = useKeeper();
  const clock = useWallClock();
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
  const unsettle = (): void => {
    mineTwice();
    leavesUnsettled(keeper);
  };
  const suggest = (tip: string) => (): void => {
    mineTwice();
    keeper.chain.on("eth_maxPriorityFeePerGas", () => tip);
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
      "simulates again if the clock is 16 s ahead",
      () => {
        clock.ahead += 16_000;
      },
      2,
    ],
    [
      "simulates again if the clock is 16 s behind",
      () => {
        clock.ahead -= 16_000;
      },
      2,
    ],
    [
      "does not simulate again if the clock is 14 s ahead",
      () => {
        clock.ahead += 14_000;
      },
      1,
    ],
  ] as const) {
    it(`${what}, and asks once if nothing changed`, async () => {
      const { status, preview } = await keeper.settle(afterThinking(act));
      expect(status).to.equal("settled");
      expect(shown).to.have.length(1);
      expect(preview?.block).to.deep.equal(shown[0]?.preview?.block);
      expect(keeper.chain.count("eth_simulateV1")).to.equal(count);
    });
  }

  for (const [title, acts, is, previews] of [
    [
      "asks once more if the settlement does not settle the round by then",
      [unsettle],
      { status: "not-settled", "preview.status": "not-settled" },
      ["settled", "not-settled"],
    ],
    [
      "asks once more if the cost is above what was shown",
      [suggest("0x9")],
      { status: "settled" },
      ["settled", "settled"],
    ],
    [
      "asks nothing about the next round, if that is current by then",
      [
        () => {
          unsettle();
          keeper.chain.mine(nextRound);
        },
      ],
      { code: "VAULT_ROUND_CHANGED" },
      ["settled"],
    ],
    [
      "is reverted, and sends nothing, if the contract reverts by then",
      [
        () => {
          mineTwice();
          keeper.chain.revertsWith = "0x";
        },
      ],
      { status: "reverted" },
      ["settled"],
    ],
    [
      "refuses if it is another settlement after the second question, too",
      [unsettle, suggest("0xffff")],
      { code: "VAULT_PREVIEW_CHANGED" },
      ["settled", "not-settled"],
    ],
  ] as const) {
    it(title, async () => {
      const settlement = await keeper.settle(afterThinking(...acts));
      expect(settlement).to.nested.include(is);
      expect(shown.map(({ preview }) => preview?.status)).to.deep.equal(
        previews,
      );
      expect(keeper.sends).to.equal(Number(settlement.hash !== null));
    });
  }

  it("asks once more if the newest block is too old by then", async () => {
    clock.stoppedAt = 1_700_000_305_000;
    const grow = (): void => {
      clock.stoppedAt = 1_700_000_321_000;
    };
    await keeper.settle(afterThinking(grow), { vault: { maxHeadAge: 300 } });
    const ages = shown.map(({ headAge }) => headAge);
    expect(ages).to.deep.equal([null, 316]);
  });

  it("offers no more than it showed if the price rose within that", async () => {
    // The base fee is 7: 15 in all were shown, and as many are needed now.
    await keeper.settle(afterThinking(suggest("0x8")));
    const send = keeper.chain.asked.find(({ method }) =>
      SENDS.includes(method),
    );
    const { maxFeePerGas, maxPriorityFeePerGas } = Transaction.from(
      String(send?.params[0]),
    );
    expect(shown).to.have.length(1);
    expect([maxFeePerGas, maxPriorityFeePerGas]).to.deep.equal([15n, 8n]);
  });

  it("signs no more than it showed if gas and price rose within that", async () => {
    const simulateAt = (gasUsed: string) => (): void => {
      keeper.chain.on("eth_simulateV1", async (_, answer) => {
        const text = JSON.stringify(await answer());
        const changed: unknown = JSON.parse(
          text.replaceAll(/"gasUsed":"[^"]+"/gu, `"gasUsed":"${gasUsed}"`),
        );
        return changed;
      });
    };
    simulateAt("0x10000")();
    const thought = (): void => {
      simulateAt("0x12000")();
      suggest("0x5")();
    };
    const { status } = await keeper.settle(afterThinking(thought));
    expect(status).to.equal("settled");
    const send = keeper.chain.asked.find(({ method }) =>
      SENDS.includes(method),
    );
    const { gasLimit, maxFeePerGas } = Transaction.from(
      String(send?.params[0]),
    );
    expect(shown).to.have.length(1);
    const [{ gas, maxCost } = { gas: null, maxCost: null }] = shown;
    expect(gasLimit > (gas ?? gasLimit), "more gas is needed").to.equal(true);
    const most = gasLimit * (maxFeePerGas ?? 0n);
    expect(most <= (maxCost ?? 0n), `${most} of ${maxCost}`).to.equal(true);
  });

  itSettles(keeper, [
    {
      title:
        "refuses without a question if it is another one 16 s later: VAULT_PREVIEW_CHANGED",
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
      is: "refused VAULT_PREVIEW_CHANGED",
      says: ["its outcome is another one now"],
    },
  ]);
});
