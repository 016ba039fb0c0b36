import { expect } from "chai";
import { Interface } from "ethers";

import {
  callContract,
  isDevelopmentNode,
  isDevelopmentNodeNow,
  tryCall,
} from "../../src/rpc/chain.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { codedError } from "../helpers/foreign-errors.js";
import { HASH, SECOND } from "../helpers/names.js";
import { answering, call, recording } from "../helpers/recording-node.js";

const hardhat = {
  clientVersion: "HardhatNetwork/3.18.0",
  chainId: 31_337,
  instanceId: HASH,
  latestBlockNumber: 5,
  latestBlockHash: HASH,
};
const anvil = {
  currentBlockNumber: "0x5",
  currentBlockTimestamp: 1,
  currentBlockHash: HASH,
  hardFork: "Bpo1",
  environment: { baseFee: "0x1", chainId: 31_337, gasLimit: "0x1" },
};
const unknown = codedError("", { code: -32_601 });
// Real nodes answer in the tests of the settlement.
describe("a development node", () => {
  for (const [title, method, answer] of [
    ["hardhat node", "hardhat_metadata", hardhat],
    ["anvil", "anvil_nodeInfo", anvil],
    ["new anvil", "anvil_nodeInfo", { ...anvil, currentBlockNumber: 0 }],
  ] as const) {
    it(`${title} is known by the fields of its ${method}`, async () => {
      const { rpc } = recording((asked) =>
        asked === method ? answer : unknown,
      );
      expect(await isDevelopmentNode(rpc)).to.equal(true);
    });
  }

  for (const [title, answer] of [
    ["null", null],
    ["the field with another type", { ...hardhat, instanceId: "0x1" }],
    ["no instanceId", { ...hardhat, instanceId: null }],
    ["no currentBlockHash", { ...anvil, currentBlockHash: null }],
    ["an HTTP error", codedError("ECONNREFUSED")],
    ["that it does not know the method", unknown],
  ] as const) {
    it(`a node that answers both methods with ${title} is none`, async () => {
      expect(await isDevelopmentNode(answering(answer))).to.equal(false);
    });
  }

  it("a node is asked once per connection, unless the answer has to be new", async () => {
    const { rpc, asked } = recording(() => null);
    for (const client of [rpc, rpc.withOptions({ timeout: 9_000 })]) {
      expect(await isDevelopmentNode(client)).to.equal(false);
    }
    expect(asked).to.have.lengthOf(2);
    expect(await isDevelopmentNodeNow(rpc)).to.equal(false);
    expect(asked).to.have.lengthOf(4);
  });

  it("a node that does not answer in time is not told from another: VAULT_RPC_TIMEOUT", async () => {
    const hanging = answering(new Promise(() => undefined));
    await expectVaultError(
      isDevelopmentNode(hanging.withOptions({ timeout: 20 })),
      "VAULT_RPC_TIMEOUT",
    );
  });
});

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
