import { expect } from "chai";

import {
  absentContract,
  failedReading,
  isFailedReading,
} from "../../src/client/failed-reading.js";
import { VaultError, vaultError } from "../../src/errors.js";

const missing = vaultError("VAULT_CONTRACT_NOT_CONFIGURED", {
  operation: "queryVolume",
  role: "vault",
  contract: "vault",
  network: "live",
  path: "networks.live.vault.contracts.vault",
  hint: "",
});
const wrong = vaultError("VAULT_INVALID_ADDRESS", {
  where: "vault",
  value: "0x12",
  problem: "it is no address",
});
const defect = vaultError("VAULT_INTERNAL", { problem: "a defect" });

describe("client - readings that failed", () => {
  it("should be known by their errors, and by nothing else", () => {
    expect(isFailedReading({ error: missing })).to.equal(true);
    for (const reading of [
      { error: new Error("no") },
      {},
      null,
      7n,
      undefined,
    ]) {
      expect(isFailedReading(reading)).to.equal(false);
    }
  });

  it("should hide no defect, and no error of another make", () => {
    expect(failedReading(wrong)).to.deep.equal({ error: wrong });
    for (const error of [defect, new Error("no")]) {
      expect(() => failedReading(error))
        .to.throw()
        .that.equals(error);
      expect(() => absentContract(error))
        .to.throw()
        .that.equals(error);
    }
  });

  it("should not take a wrong address for none", () => {
    expect(absentContract(missing)).to.deep.equal({ error: missing });
    expect(() => absentContract(wrong))
      .to.throw(VaultError)
      .that.equals(wrong);
  });
});
