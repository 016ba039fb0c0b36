import { expect } from "chai";
import { Interface } from "ethers";

import { getBalance, getNonce, hasCode } from "../../src/rpc/accounts.js";
import {
  UNKNOWN_GENESIS,
  getBlock,
  getBlockNumber,
  getGenesisHash,
} from "../../src/rpc/blocks.js";
import { callContract, tryCall } from "../../src/rpc/calls.js";
import { getChainId, getGasPrice } from "../../src/rpc/chain.js";
import type { RpcClient } from "../../src/rpc/rpc-client.js";
import {
  getReceipt,
  getTransaction,
  getTransactions,
} from "../../src/rpc/transactions.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { HASH, SECOND } from "../helpers/names.js";
import {
  answering,
  call,
  header,
  recording,
} from "../helpers/recording-node.js";

describe("a response of another type", () => {
  const parser = answering(null).parser("eth_test");

  for (const [name, read, wrong] of [
    ["an object", (value: unknown) => parser.record(value), [1, "x", null, []]],
    ["a list", (value: unknown) => parser.list(value), [1, "x", null, {}]],
    [
      "a quantity",
      (value: unknown) => parser.quantity(value),
      [" 0x1", "1", -1, 1.5, 2 ** 53],
    ],
    ["a hash", (value: unknown) => parser.hash(value), ["0x12", null]],
  ] as const) {
    it(`throws VAULT_RPC_INVALID_RESPONSE in place of ${name}`, async () => {
      for (const value of wrong) {
        const { details } = await expectVaultError(
          Promise.resolve().then(() => read(value)),
          "VAULT_RPC_INVALID_RESPONSE",
        );
        expect(details["problem"]).to.equal(`${name} was expected`);
      }
    });
  }

  it("is not thrown for a list or an object", () => {
    expect(parser.list([1])).to.deep.equal([1]);
    expect(parser.record({ a: 1 })).to.deep.equal({ a: 1 });
  });
});

describe("the answer of a node", () => {
  it("has numbers, hashes and code as they are", async () => {
    expect(await getBlock(answering(header), "0x5")).to.deep.equal({
      number: 5,
      timestamp: 100,
      hash: HASH,
      gasLimit: 16n,
      baseFeePerGas: undefined,
    });
    expect(await getChainId(answering("0x1fffffffffffff"))).to.equal(
      2 ** 53 - 1,
    );
    expect(await hasCode(answering("0x00"), SECOND)).to.equal(true);
    expect(await hasCode(answering("0x"), SECOND)).to.equal(false);
    expect(await getGenesisHash(answering(null))).to.equal(UNKNOWN_GENESIS);
  });

  it("may be a chain id of 2^53 or more, which is refused in words of its own", async () => {
    const { message } = await expectVaultError(
      getChainId(answering("0x20000000000000")),
      "VAULT_INVALID_ARGUMENT",
    );
    expect(message).to.match(
      /^networks\.\w+\.url: chain ids above 2\^53 - 1 are not supported, and this chain's is 9007199254740992\. Use/u,
    );
  });

  it("is requested at the given block", async () => {
    const { rpc, asked } = recording((method) =>
      method === "eth_getBlockByNumber"
        ? { ...header, transactions: [] }
        : method.includes("Transaction") && !method.includes("Count")
          ? null
          : "0x01",
    );
    await getBalance(rpc, SECOND);
    await getBalance(rpc, SECOND, 9);
    await hasCode(rpc, SECOND, "safe");
    await getNonce(rpc, SECOND, 10);
    await getChainId(rpc);
    await getBlockNumber(rpc);
    await getGasPrice(rpc);
    expect(await tryCall(rpc, call, 12, 99n)).to.equal(undefined);
    await getReceipt(rpc, HASH);
    await getTransaction(rpc, HASH);
    await getTransactions(rpc, "pending");
    await getBlock(rpc);
    await getGenesisHash(rpc);
    expect(
      asked.map(({ method, params }) => [method, ...params]),
    ).to.deep.equal([
      ["eth_getBalance", SECOND, "latest"],
      ["eth_getBalance", SECOND, "0x9"],
      ["eth_getCode", SECOND, "safe"],
      ["eth_getTransactionCount", SECOND, "0xa"],
      ["eth_chainId"],
      ["eth_blockNumber"],
      ["eth_gasPrice"],
      ["eth_call", { ...call, gas: "0x63" }, "0xc"],
      ["eth_getTransactionReceipt", HASH],
      ["eth_getTransactionByHash", HASH],
      ["eth_getBlockByNumber", "pending", true],
      ["eth_getBlockByNumber", "latest", false],
      ["eth_getBlockByNumber", "0x0", false],
    ]);
  });

  it("of a contract has no secret in the reason of its revert", async () => {
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

  it("to a call has its overrides", async () => {
    const { rpc, asked } = recording(() => "0x12345678");
    const overrides = { [SECOND]: { code: "0x" } };
    expect(await callContract(rpc, call, "latest", overrides)).to.deep.equal({
      data: Buffer.from("12345678", "hex"),
    });
    expect(asked).to.deep.equal([
      { method: "eth_call", params: [call, "latest", overrides] },
    ]);
  });

  it("is VAULT_RPC_ERROR on one line, without URLs, if a request reverts that executes no contract", async () => {
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

  it("is requested with EIP-7825's gas if the node refuses more, and not after a revert", async () => {
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

  it("is not requested again with EIP-7825's gas if the node refuses less, or does not answer", async () => {
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

  it("makes the client throw VAULT_RPC_INVALID_RESPONSE if it is malformed", async () => {
    const sender = { toString: 1 };
    const wrong: ReadonlyArray<
      readonly [
        read: (rpc: RpcClient) => Promise<unknown>,
        ...answers: unknown[],
      ]
    > = [
      [async (rpc) => await getChainId(rpc), "5", ["0x5"]],
      [
        async (rpc) => await getBlock(rpc, 5),
        "0x5",
        { ...header, number: "0x9" },
        { ...header, number: null },
        { ...header, hash: "0xab" },
      ],
      [async (rpc) => await getBalance(rpc, SECOND), `0x${"1".repeat(65)}`],
      [async (rpc) => await getGenesisHash(rpc), {}],
      [async (rpc) => await hasCode(rpc, SECOND), "0xzz", null],
      [
        async (rpc) => await callContract(rpc, call, "latest"),
        ...[null, 1, {}, "nonsense", "0x0", "0xzz"],
      ],
      [
        async (rpc) => await getTransaction(rpc, HASH),
        { hash: HASH, from: sender, input: "0x", nonce: "0x0" },
      ],
      [async (rpc) => await getTransactions(rpc, 5), { transactions: {} }],
      [async (rpc) => await getReceipt(rpc, HASH), "0x", {}],
    ];
    for (const [read, ...answers] of wrong) {
      for (const answer of answers) {
        const work = read(answering(answer));
        await expectVaultError(work, "VAULT_RPC_INVALID_RESPONSE");
      }
    }
  });
});
