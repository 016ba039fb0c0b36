import { expect } from "chai";

import { vaultError } from "../src/errors.js";
import { toJsonValue } from "../src/json.js";

describe("JSON values", () => {
  const error = vaultError("VAULT_INVALID_ADDRESS", {
    where: "here",
    value: '"0x12"',
    problem: "too short",
  });

  it("toJsonValue converts integers and errors at any depth, errors with the message that is asked for", () => {
    const value = [{ all: [7n, error, null, "x"] }];
    const { code, message } = error;
    expect(toJsonValue(value)).to.deep.equal([
      { all: ["7", { code, message }, null, "x"] },
    ]);
    expect(toJsonValue(value, () => "short")).to.deep.equal([
      { all: ["7", { code, message: "short" }, null, "x"] },
    ]);
  });
});
