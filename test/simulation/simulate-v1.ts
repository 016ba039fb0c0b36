import { expect } from "chai";

import { expectVaultError } from "../helpers/assertions.js";
import { documentedContracts } from "../helpers/documented-node.js";
import {
  OPEN_ROUND,
  VAULT,
  nextRound,
  settledRound,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import { feeIn, simulateOn } from "../helpers/simulate-on.js";

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
