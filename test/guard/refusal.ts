import { expect } from "chai";
import { Interface } from "ethers";

import { RoundGuardArtifact } from "../../src/guard/artifact.js";
import { decodeRevertReason } from "../../src/rpc/revert-reason.js";

import {
  explainRefusal,
  outOfGas,
  statusOfRefusal,
  usesAllGas,
} from "../../src/guard/refusal.js";
import { GUARD } from "../helpers/keeper.js";
import {
  FACTORY,
  OPEN_ROUND,
  SETTLER,
  VAULT,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

describe("the status of a settlement that is refused before it is sent", () => {
  for (const [code, is] of [
    [null, "nothing-to-do"],
    ["VAULT_ROUND_NOT_ENDED", "nothing-to-do"],
    ["VAULT_ROUND_CHANGED", "refused"],
    ["VAULT_WOULD_NOT_SETTLE", "refused"],
    ["VAULT_NOT_SETTLER", "refused"],
    ["VAULT_GUARD_KEEPS_TOKENS", "refused"],
    ["VAULT_CALL_REVERTED", "reverted"],
  ] as const) {
    it(`is ${is} with ${String(code)}`, () => {
      expect(statusOfRefusal(code)).to.equal(is);
    });
  }
});

describe("a settlement that runs out of gas", () => {
  it("has used 95 % of its gas or more", () => {
    const isOf = (gasUsed: bigint) => usesAllGas({ gasUsed, gasGiven: 200n });
    expect([isOf(189n), isOf(190n)]).to.deep.equal([false, true]);
  });

  for (const [isCertain, cause] of [
    [true, "out of gas: it uses all of the 7 that a test gives. Raise it."],
    [false, "out of gas, or an invalid instruction: it uses all of the 7 "],
  ] as const) {
    it(`is explained as "${cause}"`, () => {
      const limit = { gas: 7n, limit: "a test gives", remedy: "Raise it." };
      const { code, reason } = outOfGas("live", isCertain, limit);
      expect(code).to.equal("VAULT_OUT_OF_GAS");
      expect(reason.slice(0, cause.length)).to.equal(cause);
    });
  }
});

describe("explainRefusal(), of a guard", () => {
  const open = OPEN_ROUND;
  const guardAbi = new Interface(RoundGuardArtifact.abi);
  const route = {
    ...{ from: SETTLER, vaultAddress: VAULT },
    guard: {
      ...{ address: GUARD, factory: FACTORY, round: open, tokens: [] },
      ...{ mustHaveEnded: true, mustSettle: true },
    },
  } as const;
  const { startTime, strikePrice } = open;
  const nested = guardAbi.encodeErrorResult("RoundAlreadySettled");
  for (const [name, values, code, says] of [
    [
      "RoundChanged",
      [startTime + 1n, strikePrice],
      "VAULT_ROUND_CHANGED",
      /Expected: the round from 2027-01-15T08:00:00Z .*2027-01-15T08:00:01Z/u,
    ],
    ["RoundAlreadySettled", [], null, /^The round is settled already\.$/u],
    ["RoundNotEnded", [open.endTime], "VAULT_ROUND_NOT_ENDED", /2027-01-22/u],
    [
      "RoundNotSettled",
      [],
      "VAULT_WOULD_NOT_SETTLE",
      new RegExp(`${VAULT} and ${FACTORY} belong together`, "u"),
    ],
    [
      "NotSettler",
      [VAULT],
      "VAULT_NOT_SETTLER",
      new RegExp(`^${SETTLER} may not settle through the guard ${GUARD}`, "u"),
    ],
    ["NestedCall", [], "VAULT_GUARD_REFUSED", /vault calls the guard again/u],
    ["PaymentRefused", [], "VAULT_GUARD_REFUSED", /does not take the native/u],
    [
      "TokenNotForwarded",
      [VAULT],
      "VAULT_GUARD_REFUSED",
      /token 0x\S+A1 cannot be forwarded to 0x/u,
    ],
    // As a vault that imitates the guard, or calls it again.
    [
      "VaultReverted",
      [nested],
      "VAULT_CALL_REVERTED",
      /^RoundAlreadySettled\(\)$/u,
    ],
    ["FactoryReverted", [nested], "VAULT_CALL_REVERTED", /^RoundAlready/u],
  ] as const) {
    it(`${name} is ${String(code)}`, async () => {
      const host = new ScriptedNode().host();
      const data = guardAbi.encodeErrorResult(name, [...values]);
      const found = await explainRefusal(host, decodeRevertReason(data), route);
      expect(found.code).to.equal(code);
      expect(found.reason).to.match(says);
    });
  }

  it("has a hint for a revert without a reason, which is another for a mock", async () => {
    for (const [source, hint] of [
      ["--at", /check the address, which comes from --at/u],
      ["deployMocks()", /The contract is a mock \(deployMocks\(\)\)/u],
    ] as const) {
      const host = new ScriptedNode().host();
      const located = { address: VAULT, source };
      Object.defineProperty(host, "addressOf", {
        value: async () => await Promise.resolve(located),
      });
      const { reason } = await explainRefusal(host, decodeRevertReason("0x"));
      expect(reason).to.match(hint);
    }
  });

  it("is of the vault if no guard is on the way", async () => {
    const host = new ScriptedNode().host();
    const { from, vaultAddress } = route;
    const reverted = decodeRevertReason(nested);
    expect(
      await explainRefusal(host, reverted, { from, vaultAddress }),
    ).to.include({
      code: "VAULT_CALL_REVERTED",
    });
  });
});
