import { expect } from "chai";

import type { Simulation, SimulateSettleAllOptions } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { FACTORY, SETTLER, VAULT } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import {
  changeSettlement,
  changeSimulated,
  feeIn,
  hostOn,
  refuse,
  settlementIn,
  simulateOn,
} from "../helpers/simulate-on.js";
import { simulateSettleAll } from "../../src/simulation/simulate-settle-all.js";

const OUT_OF_GAS = { code: -32_000, message: "out of gas" };
const INVALID = { code: -32_000, message: "invalid opcode: INVALID" };

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

  for (const from of [VAULT, FACTORY]) {
    it(`simulateSettleAll subtracts the fee from ${from} once if that contract is the sender`, async () => {
      const { balances } = await simulateOn(new ScriptedNode(), { from });
      expect(balances).to.deep.equal([
        {
          ...{ account: from, token: "native", before: 10n ** 18n },
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
    // The least that a transaction of settleAll takes.
    ["0x5248", "0x5248", undefined],
    ["0x1000000", "0x1000000", undefined],
    ["0xf42400", "0x1000001", "limit of 16777217 may"],
    ["0x1000001", "0x1000001", "limit of 16777217 may"],
    // Before refunds, which are a fifth of the gas at most.
    ["0xcccccc", undefined, undefined],
    ["0xcccccd", undefined, "limit of 16777217 may"],
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

  it("simulateV1 predicts VAULT_CALL_REVERTED with the reason for a settlement that reverts after it used up the gas", async () => {
    const data = "0x12345678";
    const { code, reason } = await predict({
      ...{ ...failed, gasUsed: "0x1c9c380" },
      error: { code: 3, message: "execution reverted: out of gas", data },
    });
    expect(code).to.equal("VAULT_CALL_REVERTED");
    expect(reason).to.match(/^unknown error 0x12345678/u);
  });

  it("simulateV1 predicts VAULT_CALL_REVERTED with the node's words for another failure, without secrets, and none that say only that it failed", async () => {
    const node = new ScriptedNode();
    const host = hostOn(node);
    host.rpc.redactor.keep("s3cret-key");
    for (const [message, words] of [
      [
        "stack overflow at https://s3cret-key",
        /^stack overflow at (?!.*s3cret)/u,
      ],
      ["Execution failed", /^no reason given\./u],
      ["execution reverted", /^no reason given\./u],
      ["VM execution error.", /^no reason given\./u],
    ] as const) {
      changeSettlement(node, { ...failed, error: { code: -32_015, message } });
      const { code, reason } = (await simulateSettleAll(host, {})).simulation;
      expect(code).to.equal("VAULT_CALL_REVERTED");
      expect(reason).to.match(words);
    }
  });

  for (const message of [
    "invalid jump destination",
    "stack underflow (0 <=> 1)",
  ]) {
    it(`simulateV1 predicts VAULT_CALL_REVERTED for a halt that takes all the gas, by the node's words: ${message}`, async () => {
      const error = { code: -32_000, message };
      const answer = { ...failed, gasUsed: "0x1c9c380", error };
      const { code, reason } = await predict(answer);
      expect(code).to.equal("VAULT_CALL_REVERTED");
      expect(reason).to.equal(message);
    });
  }

  it("simulateSettleAll asks by the same call, with its gas on its block, what used up the gas if the node does not say, and takes an invalid instruction", async () => {
    const node = new ScriptedNode();
    changeSettlement(node, { ...failed, gasUsed: "0xea60" });
    node.on("eth_call", refuse(INVALID.message));
    const { code, reason } = await simulateOn(node, {
      ...{ gas: 60_000, blockNumber: 2 },
    });
    expect(code).to.equal("VAULT_CALL_REVERTED");
    expect(reason).to.match(/^invalid opcode, as of an assert/u);
    expect(
      node.asked
        .filter(({ method }) => method === "eth_call")
        .map(({ params }) => params),
    ).to.deep.equal([
      [{ from: SETTLER, to: VAULT, data: "0xa015aefe", gas: "0xea60" }, "0x2"],
    ]);
  });

  /** A node whose reads of an order fail in this way, with all of their gas. */
  const nodeWithHaltedReads = (
    error: Readonly<Record<string, unknown>> | undefined,
  ): ScriptedNode => {
    const node = new ScriptedNode();
    changeSimulated(node, (block, calls) => {
      const order = settlementIn(calls) - 1;
      const halted = { ...failed, gasUsed: "0x989680", logs: [], error };
      return [
        {
          ...block,
          calls: calls.map((call, index) =>
            index === order || index === calls.length - 2 ? halted : call,
          ),
        },
      ];
    });
    return node;
  };
  const readsOrder = { engine: "simulateV1", orders: [7n] } as const;
  const contracts = {
    ...{ vault: VAULT, vaultFactory: FACTORY, trading: VAULT },
  };

  it("simulateV1 takes a reading that hits an invalid instruction for one that fails", async () => {
    for (const error of [
      INVALID,
      { code: -32_000, message: "invalid jump destination" },
    ]) {
      const { status, notes } = await simulateOn(
        nodeWithHaltedReads(error),
        readsOrder,
        { contracts },
      );
      expect(status).to.equal("settled");
      expect(notes).to.include("Orders that could not be read: 1 of 1.");
    }
  });

  for (const [title, error, ending] of [
    ["the node says so", OUT_OF_GAS, "for the readings."],
    [
      "the node does not say why it fails",
      undefined,
      "for the readings, or one hits an invalid instruction.",
    ],
  ] as const) {
    it(`simulateV1 is no engine if a reading uses up its gas and ${title}: VAULT_ENGINE_UNAVAILABLE`, async () => {
      const { message } = await expectVaultError(
        simulateOn(nodeWithHaltedReads(error), readsOrder, { contracts }),
        "VAULT_ENGINE_UNAVAILABLE",
      );
      expect(message).to.contain(`does not suffice ${ending}`);
    });
  }

  it("simulateV1 predicts VAULT_CALL_REVERTED for an invalid instruction that used up the gas", async () => {
    const used = { gasUsed: "0x1c9c380", error: INVALID };
    const { code, reason } = await predict({ ...failed, ...used });
    expect(code).to.equal("VAULT_CALL_REVERTED");
    expect(reason).to.match(/^invalid opcode, as of an assert/u);
  });
});
