import { inspect } from "node:util";

import { expect } from "chai";

import { VaultClient, contractRoles } from "../../src/client/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { orderWords } from "../helpers/scripted-contracts.js";

const ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const contracts = Object.fromEntries(
  Object.keys(contractRoles).map((role) => [role, ADDRESS]),
);

const ascii = (text: string): Uint8Array => Buffer.from(text);

/** A client whose every call is answered with these bytes. */
function clientOf(answer: unknown, code: unknown = "0x00"): VaultClient {
  return new VaultClient(
    {
      request: async ({ method }) =>
        await Promise.resolve(method === "eth_getCode" ? code : answer),
    },
    contracts,
    { networkName: "testnet" },
  );
}

describe("answers of contracts", () => {
  it("getOrderInfo() decodes an order word by word", async () => {
    const order = await clientOf(
      orderWords({ exType: ascii("BTC-USDT"), contractType: 2, state: 2 }),
    ).getOrderInfo(5n);
    expect(order).to.deep.equal({
      exType: "BTC-USDT",
      holder: ADDRESS,
      number: 1n,
      exFee: 2n,
      lockFee: 3n,
      newLockFee: 4n,
      openPrice: 5n,
      marginAmount: 6n,
      marginFee: 7n,
      startTime: 8n,
      closePrice: 9n,
      contractType: 2,
      state: 2,
    });
  });

  it("getOrderInfo() returns the number of an enum value that is not documented", async () => {
    const order = await clientOf(
      orderWords({ exType: ascii(""), contractType: 0, state: 255 }),
    ).getOrderInfo(1n);
    expect([order.contractType, order.state]).to.deep.equal([0, 255]);
  });

  for (const actual of [0, 319]) {
    it(`a read refuses ${actual} bytes for a round: VAULT_RETURN_DATA_MALFORMED`, async () => {
      const { details } = await expectVaultError(
        clientOf(`0x${"00".repeat(actual)}`).getLatestRoundInfo(),
        "VAULT_RETURN_DATA_MALFORMED",
      );
      expect(details).to.deep.equal({
        operation: "getLatestRoundInfo",
        problem: `${actual} bytes instead of at least 320`,
        contract: "vault factory",
        address: ADDRESS,
        source: "VaultClient",
      });
    });
  }

  for (const answer of [null, 1, {}, "nonsense", "0x0", "0xzz", undefined]) {
    it(`a read refuses ${inspect(answer)} for bytes: VAULT_RPC_INVALID_RESPONSE`, async () => {
      const { details } = await expectVaultError(
        clientOf(answer).queryVolume(),
        "VAULT_RPC_INVALID_RESPONSE",
      );
      expect(details["network"]).to.equal("testnet");
    });
  }

  it("a read throws VAULT_NO_CODE for an address without code, and VAULT_RETURN_DATA_MALFORMED for a contract without an answer", async () => {
    const { details } = await expectVaultError(
      clientOf("0x", "0x").minXMargin(),
      "VAULT_NO_CODE",
    );
    expect(details).to.deep.equal({
      address: ADDRESS,
      when: "",
      contract: "vault factory",
      network: "testnet",
      source: "VaultClient",
    });
    const { shortMessage } = await expectVaultError(
      clientOf("0x", "0x").minXMargin({ blockTag: 5 }),
      "VAULT_NO_CODE",
    );
    expect(shortMessage).to.include(`at ${ADDRESS} at block 5, the vault`);
    await expectVaultError(
      clientOf("0x", "0x60").minXMargin(),
      "VAULT_RETURN_DATA_MALFORMED",
    );
  });
});
