import { expect } from "chai";
import { toQuantity } from "ethers";

import { parseAddress } from "../../src/client/inputs.js";
import type { GuardedSettlement } from "../../src/guard/round-guard.js";
import type { Address } from "../../src/protocol/index.js";
import { getNextBlock } from "../../src/rpc/blocks.js";
import { executeBySimulateV1 } from "../../src/simulation/engines/simulate-v1.js";
import { toSimulation } from "../../src/simulation/outcome.js";
import { simulateSettleAll } from "../../src/simulation/simulate.js";
import type { Attempt } from "../../src/simulation/types.js";
import { makeWatchList } from "../../src/simulation/watch-list.js";
import type { Simulation, SimulateSettleAllOptions } from "../../src/types.js";
import { GUARD } from "../helpers/keeper.js";
import {
  FACTORY,
  OPEN_ROUND,
  SETTLER,
  VAULT,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import {
  FACTS,
  changeCalls,
  changeFacts,
  changeSettlement,
  settlementIn,
  simulateOn,
} from "../helpers/simulate-on.js";

const TOKEN = `0x${"44".repeat(20)}` as const;
const OUT_OF_GAS = { code: -32_000, message: "out of gas" };
const INVALID = { code: -32_000, message: "invalid opcode: INVALID" };
const failed = { status: "0x0", returnData: "0x" };
const ALL_OF_BLOCK = "0x1c9c380";

describe("the fee of a simulated settlement", () => {
  for (const [title, code, isNoted] of [
    ["that only delegates", `0xef0100${"11".repeat(20)}`, false],
    ["that is a contract's, a byte longer", `0x${"11".repeat(24)}`, true],
  ] as const) {
    it(`is ${isNoted ? "not paid, with a note," : "paid"} by a sender with code ${title}`, async () => {
      const node = new ScriptedNode({
        codeOf: (account) =>
          account.toLowerCase() === SETTLER.toLowerCase() ? code : "0x01",
      });
      const { balances, notes } = await simulateOn(node, {
        engine: "simulateV1",
      });
      const [paid] = balances.filter(({ account }) => account === SETTLER);
      expect(paid === undefined).to.equal(isNoted);
      expect(notes.join().includes("another account sends")).to.equal(isNoted);
    });
  }
});

describe("the funds of a sender that only delegates", () => {
  it("are what it has after the settlement, if its code spends some in it", async () => {
    const fee = 480_000n;
    const node = new ScriptedNode({
      codeOf: (account) =>
        account.toLowerCase() === SETTLER.toLowerCase()
          ? `0xef0100${"11".repeat(20)}`
          : "0x01",
    });
    // The loan pays the fee.
    changeFacts(node, {
      before: { [FACTS.senderBalance]: fee },
      after: { [FACTS.senderBalance]: 0n },
    });
    const { balances, notes } = await simulateOn(node, {
      ...{ engine: "simulateV1", gas: 60_000 },
    });
    expect(balances[0]?.after).to.equal(0n);
    expect(notes.join()).to.contain("cannot pay for gas: it has 0 wei");
  });
});

describe("a simulation whose guard would keep a token", () => {
  const simulateKept = async (
    node: ScriptedNode,
    ...kept: readonly Address[]
  ): Promise<Simulation> => {
    const host = node.host();
    const next = await getNextBlock(host.rpc);
    const contracts = await host.locateAll();
    const from = parseAddress(SETTLER, "from");
    const attempt: Attempt = {
      route: { from, vaultAddress: VAULT },
      ...{ gas: next.gasLimit, isGasGiven: false, gasPrice: 1n },
      ...{ next, hardfork: undefined },
    };
    const accounts = [from, ...contracts.map(({ address }) => address)];
    const network = host.networkName;
    const execution = await executeBySimulateV1(
      host,
      attempt,
      makeWatchList({ network, contracts, accounts, tokens: [] }),
    );
    if ("unavailable" in execution) {
      return expect.fail(execution.unavailable);
    }
    const guard: GuardedSettlement = {
      ...{ address: GUARD, factory: FACTORY, round: OPEN_ROUND, tokens: [] },
      ...{ mustHaveEnded: false, mustSettle: false },
    };
    const guarded = { ...attempt, route: { ...attempt.route, guard } };
    return await toSimulation(host, guarded, execution, kept);
  };

  it("is settled, with the code VAULT_GUARD_KEEPS_TOKENS and the line to write as its reason, which no note repeats", async () => {
    const simulation = await simulateKept(new ScriptedNode(), TOKEN);
    expect(simulation).to.include({
      ...{ status: "settled", code: "VAULT_GUARD_KEEPS_TOKENS" },
    });
    expect(simulation.reason)
      .to.match(/^The settlement would leave tokens in the guard/u)
      .and.contain(`networks.scripted.vault.tokens to ["${TOKEN}"]`);
    expect(simulation.notes).to.deep.equal([]);
  });

  it("says so, too, if the round stays open: VAULT_WOULD_NOT_SETTLE", async () => {
    const node = new ScriptedNode();
    node.effect = (round) => round;
    const { status, code, reason } = await simulateKept(node, TOKEN);
    expect({ status, code }).to.deep.equal({
      ...{ status: "not-settled", code: "VAULT_WOULD_NOT_SETTLE" },
    });
    expect(reason).to.match(/is not settled by it\. .*\.vault\.tokens to/u);
  });

  it("has no code if nothing stays", async () => {
    const simulation = await simulateKept(new ScriptedNode());
    expect(simulation).to.include({
      ...{ status: "settled", code: null, reason: null },
    });
  });
});

describe("why a simulation predicts a settlement that reverts", () => {
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

  const given = /^out of gas: it uses all of the 60000 that it is given\./u;
  for (const [title, answer, options, settings, reason] of [
    [
      "a block",
      { gasUsed: ALL_OF_BLOCK },
      ...[{}, {}],
      /^out of gas, or an invalid instruction: it uses all of the 30000000 that a block of this chain, or a transaction of this network \(EIP-7825, or `transactionGasCap`\), has room for\./u,
    ],
    ["the configuration", { error: OUT_OF_GAS }, {}, { gas: 60_000n }, given],
    [
      "the option before the configuration, at 95 %",
      { gasUsed: "0xdea8" },
      ...[{ gas: 60_000 }, { gas: 5n }],
      /^out of gas, or an invalid instruction: it uses all of the 60000 that it is given/u,
    ],
  ] as const) {
    it(`a settlement that uses up the limit of ${title} has the code VAULT_OUT_OF_GAS`, async () => {
      const simulation = await predict(
        { ...failed, ...answer },
        ...([options, settings] as const),
      );
      expect(simulation).to.include({
        ...{ status: "reverted", code: "VAULT_OUT_OF_GAS" },
      });
      expect(simulation.reason).to.match(reason);
    });
  }

  for (const [gasUsed, isNoted] of [
    [16_777_216, false],
    [16_777_217, true],
  ] as const) {
    it(`a settlement that reverts after ${gasUsed} gas has ${isNoted ? "a" : "no"} note on EIP-7825`, async () => {
      const { notes } = await predict({
        ...failed,
        gasUsed: toQuantity(gasUsed),
      });
      expect(notes.join().includes("EIP-7825")).to.equal(isNoted);
    });
  }

  const data = "0x12345678";
  for (const [title, answer, reason] of [
    [
      "without a reason that uses less than 95 % of its limit",
      { gasUsed: "0xdea7" },
      /^no reason given\./u,
    ],
    [
      "with a reason that reverts after it used up the gas",
      {
        gasUsed: ALL_OF_BLOCK,
        error: { code: 3, message: "execution reverted: out of gas", data },
      },
      /^unknown error 0x12345678/u,
    ],
    [
      "that hits an invalid instruction, which uses up the gas",
      { gasUsed: ALL_OF_BLOCK, error: INVALID },
      /^invalid opcode, as of an assert/u,
    ],
    [
      "that halts with all the gas",
      {
        gasUsed: ALL_OF_BLOCK,
        error: { code: -32_000, message: "invalid jump destination" },
      },
      /^invalid jump destination$/u,
    ],
    [
      "of which the node says only that it failed",
      {
        gasUsed: "0x7530",
        error: { code: -32_015, message: "VM execution error." },
      },
      /^no reason given\./u,
    ],
  ] as const) {
    it(`a settlement ${title} has the code VAULT_CALL_REVERTED`, async () => {
      const simulation = await predict(
        { ...failed, ...answer },
        { gas: 60_000 },
      );
      expect(simulation.code).to.equal("VAULT_CALL_REVERTED");
      expect(simulation.reason).to.match(reason);
    });
  }

  it("the words of the node are shown without a secret that they repeat, and escaped", async () => {
    const node = new ScriptedNode();
    const host = node.host();
    host.rpc.redactor.keep("s3cret-key");
    const message = "stack overflow by s3cret-key\u001b[2J";
    changeSettlement(node, { ...failed, error: { code: -32_015, message } });
    const { simulation } = await simulateSettleAll(host, {});
    expect(simulation).to.include({
      code: "VAULT_CALL_REVERTED",
      reason: "stack overflow by <hidden>\\u{1b}[2J",
    });
  });

  it("a reading that hits an invalid instruction is one that fails", async () => {
    const node = new ScriptedNode();
    const halted = { ...failed, gasUsed: "0x989680", logs: [], error: INVALID };
    // The last reading before the settlement, and after it.
    changeCalls(node, (place, _call, calls) =>
      [-2, settlementIn(calls) - 1].includes(place) ? halted : {},
    );
    const { status, notes } = await simulateOn(
      node,
      { engine: "simulateV1", orders: [7n] },
      { contracts: { vault: VAULT, vaultFactory: FACTORY, trading: VAULT } },
    );
    expect(status).to.equal("settled");
    expect(notes).to.include("Orders that could not be read: 1 of 1.");
  });
});
