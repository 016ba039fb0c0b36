import { expect } from "chai";
import { Transaction, toQuantity } from "ethers";

import { VaultError, vaultError } from "../../src/errors.js";
import type { SettlementResult } from "../../src/settlement/effect.js";
import type { SettleAllOptions, SettlementPreflight } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { useWallClock } from "../helpers/deadlines.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import {
  SENDS,
  itSettles,
  remote,
  unlimited,
  useKeeper,
} from "../helpers/keeper.js";
import type { Keeper } from "../helpers/keeper.js";
import {
  SETTLER,
  VAULT,
  nextRound,
  settledRound,
} from "../helpers/scripted-contracts.js";
import { NOT_YET } from "../helpers/settlement-cases.js";

const yes: SettleAllOptions = {
  confirm: async () => await Promise.resolve(true),
};

// The settlement of the scripted node uses 60,000 gas, at a base fee of 7 and
// a priority fee of 1. Its account has 10^18 wei.
describe("the proposal of settleAll", () => {
  const keeper = useKeeper();
  const neverAsk = {
    confirm: async () => await Promise.reject(new Error("asked")),
  };
  const withoutEngine = ({ chain }: Keeper): void => {
    chain.overrides = false;
  };
  /** The simulation reports that the settlement used up the gas of a block. */
  const useUp = ({ chain }: Keeper): void => {
    const outOfGas = {
      ...{ status: "0x0", returnData: "0x", gasUsed: "0x1c9c380", logs: [] },
      error: { code: -32_015, message: "out of gas" },
    };
    chain.on("eth_simulateV1", async (_, answer) =>
      listOf(await answer()).map((block) => ({
        ...fieldsOf(block),
        calls: listOf(fieldsOf(block)["calls"]).map((call) =>
          listOf(fieldsOf(call)["logs"]).length > 0 ? outOfGas : call,
        ),
      })),
    );
  };

  itSettles(keeper, [
    ...(
      [
        ["gas below that of any transaction", { gas: 20_999n }],
        ["1 gas less than it uses", { gas: 59_999n }],
        ["a gasMultiplier that leaves less", { gasMultiplier: 0.5 }],
      ] as const
    ).map(([title, network]) => ({
      title: `refuses ${title}, and does not ask: VAULT_GAS_LIMIT_TOO_LOW`,
      network,
      options: neverAsk,
      is: "refused VAULT_GAS_LIMIT_TOO_LOW" as const,
    })),
    {
      title: "settles with exactly the gas that it uses",
      network: { gas: 60_000n },
      is: { status: "settled", gasUsed: 60_000n },
    },
    ...(
      [
        ["settles", 0n, "settled"],
        ["refuses", 1n, "refused VAULT_INSUFFICIENT_FUNDS"],
      ] as const
    ).map(([title, missing, is]) => ({
      title: `${title} if the account has its highest cost less ${missing} wei for each gas`,
      network: { gas: 100_000n, gasPrice: 10n ** 13n + missing },
      is,
      says: missing === 0n ? [] : [String(10n ** 18n + 100_000n)],
    })),
    {
      title:
        "without an engine refuses if 1 wei of its highest cost is missing",
      given: (on) => {
        withoutEngine(on);
        on.chain.on("eth_getBalance", () => toQuantity(75_000n * 15n - 1n));
      },
      is: "refused VAULT_INSUFFICIENT_FUNDS",
    },
    {
      title: "is reverted if it uses all gas of a block: VAULT_OUT_OF_GAS",
      given: useUp,
      options: neverAsk,
      is: "reverted VAULT_OUT_OF_GAS",
      says: ["30000000"],
      events: "preflight",
    },
    {
      title: "is reverted if it uses all configured gas: VAULT_OUT_OF_GAS",
      given: useUp,
      network: { gas: 30_000n },
      options: neverAsk,
      is: "reverted VAULT_OUT_OF_GAS",
      says: ["30000"],
    },
    {
      title: "without an engine estimates the gas, with a quarter more",
      given: withoutEngine,
      is: { status: "settled", preview: null },
      then: ({ events: [first] }) => {
        expect(first).to.have.deep.nested.include({
          "preflight.gas": 75_000n,
          "preflight.chainTime": 1_700_000_006,
          "preflight.preview": null,
          "preflight.tokens": new Map(),
        });
      },
    },
    {
      title:
        "without an engine refuses a gasMultiplier that leaves less than any settlement: VAULT_GAS_LIMIT_TOO_LOW",
      given: withoutEngine,
      network: { gasMultiplier: 0.35 },
      is: "refused VAULT_GAS_LIMIT_TOO_LOW",
      says: ["21000 gas"],
    },
    {
      title: "without an engine calls it with the configured gas",
      given: withoutEngine,
      network: { gas: 70_000n },
      is: "settled",
      then: ({ chain }) => {
        const gas = chain.asked
          .filter(({ method }) => method === "eth_call")
          .map(({ params: [call] }) => fieldsOf(call)["gas"]);
        expect(gas).to.include(toQuantity(70_000n));
      },
    },
    {
      title: "goes by the base fee of the next block, not of the newest",
      given: ({ chain }) => {
        chain.on("eth_getBlockByNumber", async ([tag], answer) => ({
          ...fieldsOf(await answer()),
          ...(tag === "pending" && { baseFeePerGas: "0x9" }),
        }));
      },
      is: "settled",
      then: ({ events: [first] }) => {
        expect(first).to.have.deep.nested.include({
          ...{ "preflight.cost": 93_750n * 10n },
          "preflight.maxCost": 93_750n * 19n,
        });
      },
    },
    {
      title: "without an engine is reverted with the reason of its estimate",
      given: (on) => {
        withoutEngine(on);
        on.chain.on("eth_estimateGas", () => {
          throw Object.assign(new Error("execution reverted"), {
            ...{ code: 3, data: NOT_YET },
          });
        });
      },
      is: { status: "reverted", reason: "not yet" },
    },
    {
      title: "has nothing to do if the round is settled while it reads prices",
      given: ({ chain }) => {
        chain.on("eth_maxPriorityFeePerGas", async (_, answer) => {
          chain.rounds = chain.rounds.map(settledRound);
          return await answer();
        });
      },
      is: "nothing-to-do",
      says: ["settled already"],
      events: "",
    },
    {
      title:
        "refuses a price above the limit of the network, also if a person would agree: VAULT_FEE_ABOVE_LIMIT",
      network: { vault: { maxFeePerGasLimit: 7n } },
      options: yes,
      is: "refused VAULT_FEE_ABOVE_LIMIT",
      says: ["8 wei", "7 wei", "networks.scripted.vault.maxFeePerGasLimit"],
      events: "preflight",
    },
    {
      title:
        "refuses a tip above the limit of the network: VAULT_FEE_ABOVE_LIMIT",
      network: { vault: { maxPriorityFeePerGasLimit: 0n } },
      is: "refused VAULT_FEE_ABOVE_LIMIT",
      says: ["networks.scripted.vault.maxPriorityFeePerGasLimit"],
    },
    {
      title:
        "refuses a price above the option maxFeePerGas: VAULT_FEE_ABOVE_LIMIT",
      network: { vault: { maxFeePerGasLimit: 8n } },
      options: { maxFeePerGas: 7n },
      is: "refused VAULT_FEE_ABOVE_LIMIT",
      says: ["(maxFeePerGas)"],
    },
    {
      title:
        "refuses a price above the limit of the network, whatever maxFeePerGas allows: VAULT_FEE_ABOVE_LIMIT",
      network: { vault: { maxFeePerGasLimit: 7n } },
      options: { maxFeePerGas: 100n },
      is: "refused VAULT_FEE_ABOVE_LIMIT",
      says: [
        "networks.scripted.vault.maxFeePerGasLimit: an option only lowers",
      ],
    },
    {
      title: "signs with no more than the limit",
      network: { vault: { maxFeePerGasLimit: 9n }, ...remote },
      is: "settled",
      then: async (on) => {
        expect(on.events[0]).to.have.deep.nested.include({
          ...{ "preflight.cost": 93_750n * 8n },
          "preflight.maxCost": 93_750n * 9n,
        });
        const { transactions } = await on.journal(".finished");
        expect(transactions).to.have.deep.nested.property("[0].fees", {
          ...{ maxFeePerGas: "9", maxPriorityFeePerGas: "1" },
        });
      },
    },
  ]);

  /** Without `eth_simulateV1`, and with a fork that ends so. */
  const forkEnds = async (problem: VaultError): Promise<SettlementResult> => {
    keeper.chain.overrides = false;
    const host = keeper.host();
    const config = {
      paths: { root: keeper.projectRoot },
      get networks(): never {
        throw problem;
      },
    };
    Object.defineProperty(host, "context", { value: { config } });
    return await keeper.end({}, host);
  };
  for (const problem of [
    vaultError("VAULT_ENGINE_UNAVAILABLE", {
      ...{ network: "scripted", engine: "fork", problem: "no" },
    }),
    vaultError("VAULT_RPC_ERROR", {
      ...{ network: "scripted", method: "eth_getProof", problem: "no" },
    }),
  ]) {
    it(`is a plain call if a fork ends with ${problem.code}`, async () => {
      const { settlement } = await forkEnds(problem);
      expect(settlement).to.include({ status: "settled", preview: null });
    });
  }

  it("fails if a fork fails in another way, and sends nothing", async () => {
    const problem = vaultError("VAULT_INTERNAL", { problem: "x" });
    await expectVaultError(forkEnds(problem), "VAULT_INTERNAL");
    expect(keeper.sends).to.equal(0);
  });
});

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
      outcome: "succeeds",
    });
  });
});

describe("what settleAll asks a person, and refuses without one", () => {
  const keeper = useKeeper();

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
    ...[{}, yes].map((options) => ({
      title: `refuses on an old block, with its age, ${"confirm" in options ? "and asks nobody" : "unattended"}: VAULT_STALE_HEAD`,
      network: { vault: { maxHeadAge: 300 } },
      options,
      is: "refused VAULT_STALE_HEAD" as const,
      says: /is \d{8,} s old \(block 5\), and the limit is 300 s/u,
      events: "",
    })),
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
  const think = (): void => {
    clock.ahead += 16_000;
  };
  const unsettle = (): void => {
    think();
    leavesUnsettled(keeper);
  };
  const suggest = (tip: string) => (): void => {
    think();
    keeper.chain.on("eth_maxPriorityFeePerGas", () => tip);
  };

  for (const [what, act, count] of [
    ["simulates again if the clock is 16 s ahead", think, 2],
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
      "refuses if the settlement does not settle the round by then",
      [unsettle],
      { code: "VAULT_PREVIEW_CHANGED" },
      ["settled"],
    ],
    [
      "refuses if the cost is above what was shown",
      [suggest("0x9")],
      { code: "VAULT_PREVIEW_CHANGED" },
      ["settled"],
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
          think();
          keeper.chain.revertsWith = "0x";
        },
      ],
      { status: "reverted" },
      ["settled"],
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

  it("refuses if the newest block is too old by then: VAULT_STALE_HEAD", async () => {
    clock.stoppedAt = 1_700_000_305_000;
    const grow = (): void => {
      clock.stoppedAt = 1_700_000_321_000;
    };
    const vault = { maxHeadAge: 300 };
    const { code } = await keeper.settle(afterThinking(grow), { vault });
    expect([code, shown.length]).to.deep.equal(["VAULT_STALE_HEAD", 1]);
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
        "refuses unattended if it does not settle the round 16 s later: VAULT_WOULD_NOT_SETTLE",
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
      is: "refused VAULT_WOULD_NOT_SETTLE",
    },
  ]);
});
