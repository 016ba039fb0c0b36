import { Assertion, expect, use } from "chai";

import vaultMatchers from "../../src/chai/index.js";

describe("chai - registration", () => {
  it("should add exactly the documented matchers", () => {
    const added = new Set<string>();
    const own = Object.getOwnPropertyNames(Assertion.prototype);
    for (const name of [
      "settleRound",
      "settledRound",
      "withPrice",
      "withAmount",
      "changeReadings",
      "open",
      "closed",
      "call",
      "put",
    ]) {
      expect(own, name).to.include(name);
      added.add(name);
    }
    expect(added.size).to.equal(9);
  });

  it("should do no harm when it is used again", () => {
    use(vaultMatchers);
    expect({ state: 1, contractType: 1 }).to.be.open;
    expect([1]).to.be.an("array").that.includes(1);
  });
});
