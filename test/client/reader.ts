import { expect } from "chai";

import { VaultClient } from "../../src/client/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { SECOND } from "../helpers/names.js";
import { recording } from "../helpers/recording-node.js";

/** A client whose every call is answered with these bytes. */
function clientOf(answer: string, code = "0x00"): VaultClient {
  const node = recording((method) =>
    method === "eth_getCode" ? code : answer,
  );
  return new VaultClient(
    node,
    { vault: SECOND, vaultFactory: SECOND },
    { networkName: "testnet" },
  );
}

describe("client - a read", () => {
  for (const actual of [0, 319]) {
    it(`throws VAULT_RETURN_DATA_MALFORMED for ${actual} bytes in place of a round, and names the contract`, async () => {
      const { details } = await expectVaultError(
        clientOf(`0x${"00".repeat(actual)}`).getLatestRoundInfo(),
        "VAULT_RETURN_DATA_MALFORMED",
      );
      expect(details).to.deep.equal({
        operation: "getLatestRoundInfo",
        problem: `${actual} bytes instead of at least 320`,
        contract: "vault factory",
        address: SECOND,
        source: "VaultClient",
      });
    });
  }

  it("throws VAULT_NO_CODE for an address without code, and names the block that it was given", async () => {
    const { details } = await expectVaultError(
      clientOf("0x", "0x").minXMargin(),
      "VAULT_NO_CODE",
    );
    expect(details).to.deep.equal({
      address: SECOND,
      when: "",
      contract: "vault factory",
      network: "testnet",
      source: "VaultClient",
    });
    const { shortMessage } = await expectVaultError(
      clientOf("0x", "0x").minXMargin({ blockTag: 5 }),
      "VAULT_NO_CODE",
    );
    expect(shortMessage).to.include(`at ${SECOND} at block 5, the vault`);
  });
});
