import { expect } from "chai";

import { VaultError } from "../src/errors.js";
import { toJsonValue } from "../src/json.js";

const error = new VaultError("VAULT_CALL_REVERTED", { reason: "no" });
const readings = { round: { error, prices: [7n, [error]] }, settled: false };

describe("values for JSON", () => {
  it("toJsonValue() converts bigints and errors at any depth, and leaves other values alone", () => {
    const { code, message } = error;
    expect(toJsonValue(readings)).to.deep.equal({
      round: { error: { code, message }, prices: ["7", [{ code, message }]] },
      settled: false,
    });
    expect(toJsonValue([null, "7", 7, undefined])).to.deep.equal([
      null,
      "7",
      7,
      undefined,
    ]);
  });

  it("toJsonValue() takes the text of each error from the caller, at any depth", () => {
    const { code } = error;
    const found = { code, message: "shown" };
    expect(toJsonValue(readings, () => "shown")).to.deep.equal({
      round: { error: found, prices: ["7", [found]] },
      settled: false,
    });
  });
});
