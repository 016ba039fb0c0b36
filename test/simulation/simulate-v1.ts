import { expect } from "chai";

import type { Simulation, SimulateSettleAllOptions } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { documentedContracts } from "../helpers/documented-node.js";
import {
  FACTORY,
  OPEN_ROUND,
  SETTLER,
  VAULT,
  nextRound,
  settledRound,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import {
  changeSettlement,
  changeSimulated,
  hostOn,
  simulateOn,
} from "../helpers/simulate-on.js";
import { simulateSettleAll } from "../../src/simulation/simulate-settle-all.js";

const OUT_OF_GAS = { code: -32_000, message: "out of gas" };
const INVALID = { code: -32_000, message: "invalid opcode: INVALID" };

const refuse =
  (message: string, code = -32_000) =>
  (): never => {
    throw Object.assign(new Error(message), { code });
  };

/** The change that a simulation predicts of the sender's native balance, in wei. */
const feeIn = ({ balances }: Simulation): bigint | undefined =>
  balances[0] === undefined
    ? undefined
    : balances[0].before - balances[0].after;

describe("what simulateV1 predicts", () => {
  it("simulateV1 predicts settled, with the block, the gas, the changes of the round and the transfers of the logs", async () => {
    expect(await simulateOn(new ScriptedNode())).to.deep.include({
      status: "settled",
      code: null,
      reason: null,
      engine: "simulateV1",
      guard: null,
      gasUsed: 60_000n,
      block: { number: 6, timestamp: 1_700_000_006 },
      changes: [
        ["settledPrice", 0n, OPEN_ROUND.strikePrice + 1n] as const,
        ["settledAmount", 0n, 400n] as const,
        ["settled", false, true] as const,
      ].map(([field, before, after]) => ({
        ...{ reading: "round", field, before, after },
      })),
      transfers: [{ token: VAULT, from: VAULT, to: VAULT, amount: 5n }],
    });
  });

  it("simulateV1 predicts reverted with the reason, no change, and the fee", async () => {
    const node = new ScriptedNode();
    node.revertsWith = "0x12345678";
    const simulation = await simulateOn(node);
    expect(simulation).to.deep.include({
      status: "reverted",
      code: "VAULT_CALL_REVERTED",
      reason: "unknown error 0x12345678 with 0 bytes of arguments",
      changes: [],
      transfers: [],
    });
    expect(feeIn(simulation)).to.equal(60_000n * 8n);
  });

  it("simulateV1 predicts not-settled if the round stays open", async () => {
    const node = new ScriptedNode();
    node.effect = (round) => round;
    expect(await simulateOn(node)).to.deep.include({
      status: "not-settled",
      code: "VAULT_NOT_SETTLED",
      changes: [],
    });
  });

  it("simulateV1 predicts settled if the next round is opened", async () => {
    const node = new ScriptedNode();
    node.effect = nextRound;
    const { status, changes } = await simulateOn(node);
    expect(status).to.equal("settled");
    expect(changes.map(({ field }) => field)).to.deep.equal([
      ...["startTime", "endTime"],
    ]);
  });

  it("simulateV1 predicts nothing-to-do, without block, gas and notes, if the round is settled", async () => {
    const node = new ScriptedNode();
    node.rounds = node.rounds.map(settledRound);
    expect(await simulateOn(node)).to.deep.equal({
      status: "nothing-to-do",
      code: null,
      reason: "the round is settled already",
      engine: "simulateV1",
      guard: null,
      gasUsed: null,
      block: null,
      changes: [],
      balances: [],
      transfers: [],
      notes: [],
    });
  });

  it("simulateSettleAll throws VAULT_NO_CODE if the vault has no code", async () => {
    const node = new ScriptedNode({ codeOf: () => "0x" });
    const { details } = await expectVaultError(
      simulateOn(node, {}, { contracts: documentedContracts }),
      "VAULT_NO_CODE",
    );
    expect(details).to.include({
      contract: "vault",
      address: documentedContracts.vault,
    });
  });
});

describe("the fee in a simulation", () => {
  const withBaseFee = (baseFeePerGas: unknown): ScriptedNode => {
    const node = new ScriptedNode();
    node.on("eth_getBlockByNumber", async (_, answer) => ({
      ...fieldsOf(await answer()),
      baseFeePerGas,
    }));
    return node;
  };

  for (const [title, node, settings, price] of [
    ["base fee and tip of the node", () => new ScriptedNode(), {}, 8n],
    ["a raised base fee", () => withBaseFee("0x9"), {}, 10n],
    [
      "the gas price of a legacy chain",
      () => withBaseFee(undefined),
      {},
      10n ** 9n,
    ],
    ["a configured price", () => new ScriptedNode(), { gasPrice: 3n }, 3n],
    ["a configured price of 0", () => new ScriptedNode(), { gasPrice: 0n }, 0n],
  ] as const) {
    it(`simulateSettleAll subtracts the gas used × ${title} from the sender`, async () => {
      const simulation = await simulateOn(node(), {}, { settings });
      expect(feeIn(simulation) ?? 0n).to.equal(60_000n * price);
      expect(simulation.balances.map(({ account }) => account)).to.deep.equal(
        price === 0n ? [] : [SETTLER],
      );
    });
  }

  for (const as of [VAULT, FACTORY]) {
    it(`simulateSettleAll subtracts the fee from ${as} once if that contract is the sender`, async () => {
      const { balances } = await simulateOn(new ScriptedNode(), { as });
      expect(balances).to.deep.equal([
        {
          ...{ account: as, token: "native", before: 10n ** 18n },
          after: 10n ** 18n - 480_000n,
        },
      ]);
    });
  }

  it("simulateSettleAll subtracts no fee from a sender who cannot pay it, and names both in wei", async () => {
    const settings = { gasPrice: 10n ** 14n };
    const simulation = await simulateOn(new ScriptedNode(), {}, { settings });
    expect(simulation.balances).to.deep.equal([]);
    expect(simulation.notes[0]).to.equal(
      `The sender cannot pay for gas: it has ${10n ** 18n} wei, and the fee is ${6n * 10n ** 18n} wei. The fee is not subtracted.`,
    );
  });

  it("simulateSettleAll subtracts no fee, and notes it, if the node does not know a price", async () => {
    const node = withBaseFee(undefined);
    node.on("eth_gasPrice", refuse("the method is not available", -32_601));
    const simulation = await simulateOn(node);
    expect(simulation.balances).to.deep.equal([]);
    expect(simulation.notes[0]).to.equal(
      "The price of gas is not known: no fee is subtracted.",
    );
  });

  it("simulateSettleAll notes a base fee that the node does not simulate with", async () => {
    const { notes } = await simulateOn(withBaseFee("0x9"));
    expect(notes.join()).to.contain("a base fee of 7 wei instead of 9");
  });
});

describe("the gas of a simulation", () => {
  /** What simulateV1 predicts if the node returns this of settleAll. */
  const predict = async (
    answer: Readonly<Record<string, unknown>>,
    options: SimulateSettleAllOptions = {},
    settings: Readonly<Record<string, unknown>> = {},
  ): Promise<Simulation> => {
    const node = new ScriptedNode();
    changeSettlement(node, answer);
    const asked = { engine: "simulateV1", ...options } as const;
    return await simulateOn(node, asked, { settings });
  };
  const failed = { status: "0x0", returnData: "0x" };

  for (const [used, needed, limit] of [
    ["0x1000000", "0x1000000", undefined],
    ["0xf42400", "0x1000001", "limit of 16777217 may"],
    ["0x1000001", "0x1000001", "limit of 16777217 may"],
    // Before refunds, which are a fifth of the gas at most.
    ["0xccccc0", undefined, undefined],
    ["0xe00000", undefined, "limit of 18350080 may"],
  ] as const) {
    it(`simulateV1 ${limit === undefined ? "has no note" : "notes EIP-7825"} for gasUsed ${used} and maxUsedGas ${String(needed)}`, async () => {
      const { status, notes } = await predict({
        gasUsed: used,
        ...(needed !== undefined && { maxUsedGas: needed }),
      });
      expect(status).to.equal("settled");
      expect(notes.some((note) => note.includes("EIP-7825"))).to.equal(
        limit !== undefined,
      );
      expect(notes.join()).to.contain(limit ?? "");
    });
  }

  for (const [title, answer, options, settings, reason] of [
    [
      "a block",
      { ...failed, gasUsed: "0x1c9c380" },
      {},
      {},
      "out of gas, or an invalid instruction: it uses all of the 30000000 that a block of this chain has room for.",
    ],
    [
      "the option",
      { ...failed, error: OUT_OF_GAS },
      { gas: 60_000 },
      {},
      "out of gas: it uses all of the 60000 that it is given.",
    ],
    [
      "the configuration",
      { ...failed, error: OUT_OF_GAS },
      {},
      { gas: 60_000n },
      "out of gas: it uses all of the 60000 that it is given.",
    ],
    [
      "the option before the configuration, at 95 %",
      { ...failed, gasUsed: "0xdea8" },
      { gas: 60_000 },
      { gas: 5n },
      "out of gas, or an invalid instruction: it uses all of the 60000",
    ],
  ] as const) {
    it(`simulateV1 predicts reverted with VAULT_OUT_OF_GAS for a settlement that uses up the limit of ${title}`, async () => {
      const simulation = await predict(answer, options, settings);
      expect(simulation).to.include({
        status: "reverted",
        code: "VAULT_OUT_OF_GAS",
      });
      expect(simulation.reason?.slice(0, reason.length)).to.equal(reason);
    });
  }

  it("simulateV1 predicts VAULT_CALL_REVERTED for a settlement without a reason that uses less than 95 % of its limit", async () => {
    const { code, reason } = await predict(
      { ...failed, gasUsed: "0xdea7" },
      { gas: 60_000 },
    );
    expect(code).to.equal("VAULT_CALL_REVERTED");
    expect(reason).to.match(/^no reason given\./u);
  });

  it("simulateV1 predicts VAULT_CALL_REVERTED for an invalid instruction that used up the gas", async () => {
    const used = { gasUsed: "0x1c9c380", error: INVALID };
    const { code, reason } = await predict({ ...failed, ...used });
    expect(code).to.equal("VAULT_CALL_REVERTED");
    expect(reason).to.match(/^invalid opcode, as of an assert/u);
  });
});

describe("wrong answers of eth_simulateV1", () => {
  const otherForm = /something else than it should/u;
  const wrong: ReadonlyArray<
    readonly [
      title: string,
      change: (node: ScriptedNode) => void,
      problem: RegExp,
    ]
  > = [
    [
      "another block number",
      (node) => {
        changeSimulated(node, (block) => [{ ...block, number: "0x1" }]);
      },
      /asked for block 6 .* executes in block 1 at 1700000006/u,
    ],
    [
      "another time",
      (node) => {
        changeSimulated(node, (block) => [{ ...block, timestamp: "0x5" }]);
      },
      /executes in block 6 at 5$/u,
    ],
    [
      "contracts that see another block number than the answer has",
      (node) => {
        const [six, seven] = [6, 7].map((number) =>
          String(number).padStart(64, "0"),
        );
        node.on("eth_simulateV1", async (_, answer) => {
          const text = JSON.stringify(await answer());
          const changed: unknown = JSON.parse(
            text.replaceAll(`"0x${six}`, `"0x${seven}`),
          );
          return changed;
        });
      },
      /executes in block 7 at 1700000006/u,
    ],
    [
      "less gas for settleAll than any transaction takes",
      (node) => {
        changeSettlement(node, { gasUsed: "0x5207" });
      },
      otherForm,
    ],
    [
      "less gas before refunds than after them",
      (node) => {
        changeSettlement(node, { maxUsedGas: "0xea5f" });
      },
      otherForm,
    ],
    [
      "a call too few",
      (node) => {
        changeSimulated(node, (block, calls) => [
          { ...block, calls: calls.slice(1) },
        ]);
      },
      otherForm,
    ],
    [
      "a call too many",
      (node) => {
        changeSimulated(node, (block, calls) => [
          { ...block, calls: [...calls, calls[0]] },
        ]);
      },
      otherForm,
    ],
    [
      "a block too many",
      (node) => {
        changeSimulated(node, (block) => [block, block]);
      },
      otherForm,
    ],
    [
      "no list",
      (node) => {
        changeSimulated(node, () => "0x");
      },
      otherForm,
    ],
    [
      "that the method is missing",
      (node) => {
        node.overrides = false;
      },
      /refuses eth_simulateV1: Method not found/u,
    ],
  ];
  for (const [title, change, problem] of wrong) {
    it(`simulateV1 throws VAULT_ENGINE_UNAVAILABLE for ${title}, and does not ask again`, async () => {
      const node = new ScriptedNode();
      change(node);
      const host = hostOn(node);
      for (let attempt = 1; attempt <= 2; attempt += 1) {
        const { details } = await expectVaultError(
          simulateSettleAll(host, { engine: "simulateV1" }),
          "VAULT_ENGINE_UNAVAILABLE",
        );
        expect(details["problem"]).to.match(problem);
      }
      expect(node.count("eth_simulateV1")).to.equal(1);
    });
  }

  it("simulateV1 asks again after a refusal that is not of the method", async () => {
    const node = new ScriptedNode();
    node.on("eth_simulateV1", refuse("unlucky"));
    const host = hostOn(node);
    for (const count of [1, 2]) {
      await expectVaultError(
        simulateSettleAll(host, { engine: "simulateV1" }),
        "VAULT_ENGINE_UNAVAILABLE",
      );
      expect(node.count("eth_simulateV1")).to.equal(count);
    }
  });

  for (const blockNumber of [4, "latest"] as const) {
    it(`simulateV1 throws VAULT_ENGINE_UNAVAILABLE for { blockNumber: ${blockNumber} } if the state of that block is gone`, async () => {
      const node = new ScriptedNode({ oldestState: 6 });
      const { details } = await expectVaultError(
        simulateOn(node, { blockNumber, engine: "simulateV1" }),
        "VAULT_ENGINE_UNAVAILABLE",
      );
      expect(details["problem"]).to.contain("missing trie node");
    });
  }

  it("simulateSettleAll calls onRetry for each request, that for the block included", async () => {
    const node = new ScriptedNode();
    const refused = new Set<string>();
    const busy = async (
      name: string,
      answer: () => Promise<unknown>,
    ): Promise<unknown> => {
      if (refused.has(name)) {
        return await answer();
      }
      refused.add(name);
      return refuse("limit exceeded", -32_005)();
    };
    node.on("eth_getBlockByNumber", async ([tag], answer) =>
      tag === "latest" ? await busy("the block", answer) : await answer(),
    );
    node.on("eth_simulateV1", async (_, answer) => await busy("it", answer));
    const retried: string[] = [];
    await simulateOn(node, {
      onRetry: ({ method }) => {
        retried.push(method);
      },
    });
    expect(retried).to.deep.equal(["eth_getBlockByNumber", "eth_simulateV1"]);
  });

  it("simulateSettleAll throws VAULT_RPC_INVALID_RESPONSE for a block without a number, and VAULT_RPC_TIMEOUT for none in time", async () => {
    const node = new ScriptedNode();
    node.on("eth_getBlockByNumber", () => ({}));
    await expectVaultError(simulateOn(node), "VAULT_RPC_INVALID_RESPONSE");
    node.on(
      "eth_getBlockByNumber",
      async () => await new Promise(() => undefined),
    );
    await expectVaultError(
      simulateOn(node, { timeout: 50 }),
      "VAULT_RPC_TIMEOUT",
    );
  });

  it("simulateSettleAll simulates a second after the latest block if the node does not know a pending one", async () => {
    const node = new ScriptedNode();
    node.on("eth_getBlockByNumber", async ([tag], answer) =>
      tag === "pending"
        ? refuse("not available", -32_601)()
        : // Later than this machine's clock.
          { ...fieldsOf(await answer()), timestamp: "0x77359400" },
    );
    const { block } = await simulateOn(node);
    expect(block).to.deep.equal({ number: 6, timestamp: 2_000_000_001 });
  });
});
