import { expect } from "chai";

import { vaultError } from "../../src/errors.js";
import {
  SettlementStopped,
  asStopped,
  refusal,
} from "../../src/settlement/stopped.js";

describe("the end of a settlement before it is sent", () => {
  const wrongChain = vaultError("VAULT_WRONG_CHAIN", {
    network: "test",
    expected: 1,
    actual: 2,
  });

  it("should be a refusal in the words of the error", () => {
    const stopped = refusal(
      "VAULT_WRONG_CHAIN",
      { network: "test", expected: 1, actual: 2 },
      "0xab",
    );
    expect(stopped).to.include({
      status: "refused",
      code: "VAULT_WRONG_CHAIN",
      reason: wrongChain.message,
      hash: "0xab",
    });
  });

  it("should be what it is, a wrong chain, and no other error", () => {
    const stopped = new SettlementStopped("nothing-to-do", "settled");
    expect(asStopped(stopped)).to.equal(stopped);
    expect(asStopped(wrongChain)).to.include({
      status: "refused",
      code: "VAULT_WRONG_CHAIN",
      reason: wrongChain.message,
    });
    for (const error of [
      new Error("no"),
      vaultError("VAULT_INTERNAL", { problem: "x" }),
    ]) {
      expect(() => asStopped(error)).to.throw(error);
    }
  });
});
