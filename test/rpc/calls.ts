import { expect } from "chai";
import { Interface } from "ethers";

import { callContract, tryCall } from "../../src/rpc/chain.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { SECOND } from "../helpers/names.js";
import { call, recording } from "../helpers/recording-node.js";

describe("a call of a contract", () => {
  it("is VAULT_RPC_ERROR on one line, without URLs, if it reverts and is a request that executes no contract", async () => {
    const { rpc } = recording(() => {
      throw Object.assign(
        new Error("execution reverted: see\nhttps://node.test/key"),
        { code: 3, data: "0x" },
      );
    });
    const { message } = await expectVaultError(
      rpc.request("eth_estimateGas", [{}]),
      "VAULT_RPC_ERROR",
    );
    expect(message).to.contain("refused eth_estimateGas: see <url>");
  });

  it("has no secret in the reason of its revert", async () => {
    const data = new Interface(["error Error(string)"]).encodeErrorResult(
      "Error",
      ["no secret-1"],
    );
    const { rpc } = recording(() => {
      throw Object.assign(new Error("execution reverted"), { code: 3, data });
    });
    rpc.redactor.keep("secret-1");
    expect(await callContract(rpc, call, 5)).to.deep.equal({
      reverted: { kind: "string", text: "no <hidden>", data },
    });
  });

  it("is sent with its overrides, and answered with the data", async () => {
    const { rpc, asked } = recording(() => "0x12345678");
    const overrides = { [SECOND]: { code: "0x" } };
    expect(await callContract(rpc, call, "latest", overrides)).to.deep.equal({
      data: Buffer.from("12345678", "hex"),
    });
    expect(asked).to.deep.equal([
      { method: "eth_call", params: [call, "latest", overrides] },
    ]);
  });

  it("is sent again with EIP-7825's gas if the node refuses more, and not after a revert", async () => {
    for (const [code, message, expected] of [
      [-32_000, "gas limit is greater than the cap", "0x1c9c380 0x1000000"],
      [3, "execution reverted", "0x1c9c380"],
    ] as const) {
      const { rpc, asked } = recording((_, [given]) => {
        if (fieldsOf(given)["gas"] !== "0x1000000") {
          throw Object.assign(new Error(message), { code, data: "0x" });
        }
        return "0x";
      });
      const reverted = await tryCall(rpc, call, 12, 30_000_000n);
      const gas = asked.map(({ params }) => fieldsOf(params[0])["gas"]);
      expect(gas.join(" ")).to.equal(expected);
      expect(reverted !== undefined).to.equal(code === 3);
    }
  });

  it("is not sent again with EIP-7825's gas if the node refuses less, or does not answer", async () => {
    for (const [gas, code] of [
      [16_777_216n, -32_000],
      [30_000_000n, "ECONNREFUSED"],
    ] as const) {
      const { rpc, asked } = recording(() => {
        throw Object.assign(new Error("no"), { code });
      });
      const [end] = await Promise.allSettled([tryCall(rpc, call, 12, gas)]);
      expect(end.status).to.equal("rejected");
      expect(asked).to.have.lengthOf(1);
    }
  });
});
