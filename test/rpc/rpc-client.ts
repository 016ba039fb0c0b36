import { mock } from "node:test";

import { expect } from "chai";
import { Interface } from "ethers";

import { getBalance, getNonce, hasCode } from "../../src/rpc/accounts.js";
import { describeBlock, toBlockId } from "../../src/rpc/block-id.js";
import {
  UNKNOWN_GENESIS,
  getBlock,
  getBlockNumber,
  getGenesisHash,
  getNextBlock,
  latestHashOf,
} from "../../src/rpc/blocks.js";
import { callContract, tryCall } from "../../src/rpc/calls.js";
import { getChainId, getGasPrice } from "../../src/rpc/chain.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import {
  getReceipt,
  getTransaction,
  getTransactions,
} from "../../src/rpc/transactions.js";
import type { Eip1193Provider } from "../../src/client/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";

const ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const HASH = `0x${"ab".repeat(32)}`;
const OTHER_HASH = `0x${"cd".repeat(32)}`;

const header = {
  number: "0x5",
  timestamp: "0x64",
  hash: HASH,
  gasLimit: "0x10",
};

const call = { from: ADDRESS, to: ADDRESS, data: "0x" };

/** A client of a node that answers so, and all that the node was asked. */
function recording(
  answer: (method: string, params: readonly unknown[]) => unknown,
): { readonly rpc: RpcClient; readonly asked: unknown[][] } {
  const asked: unknown[][] = [];
  const request: Eip1193Provider["request"] = async ({ method, params }) => {
    asked.push([method, ...(params ?? ["nothing"])]);
    return await Promise.resolve(answer(method, params ?? []));
  };
  return { rpc: new RpcClient({ request }, "testnet"), asked };
}

/** A node that gives the same answer to everything. */
const answering = (answer: unknown): RpcClient => recording(() => answer).rpc;

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

describe("a request that executes no contract", () => {
  it("throws VAULT_RPC_ERROR with the words of a revert", async () => {
    const { rpc: client } = recording(() => {
      throw Object.assign(new Error("execution reverted"), { code: 3 });
    });
    await expectVaultError(client.request("eth_gasPrice"), "VAULT_RPC_ERROR");
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
    expect(await hasCode(answering("0x00"), ADDRESS)).to.equal(true);
    expect(await hasCode(answering("0x"), ADDRESS)).to.equal(false);
    expect(await getGenesisHash(answering(null))).to.equal(UNKNOWN_GENESIS);
  });

  it("has the base fee and the hash of a block only if there are any", async () => {
    const blockOf = async (more: object) =>
      await getBlock(answering({ ...header, ...more }));
    expect(await blockOf({ baseFeePerGas: "0x7" })).to.include({
      baseFeePerGas: 7n,
    });
    expect(await blockOf({ baseFeePerGas: null })).to.include({
      baseFeePerGas: undefined,
    });
    expect(await blockOf({ hash: null })).to.include({ hash: undefined });
    expect(await getGenesisHash(answering(header))).to.equal(HASH);
  });

  it("names a block in decimal in VAULT_BLOCK_NOT_FOUND, in hex for the node", async () => {
    expect(toBlockId(255)).to.equal("0xff");
    expect(toBlockId("safe")).to.equal("safe");
    expect(["0xff", "safe", 7].map(describeBlock)).to.deep.equal([
      "255",
      "safe",
      "7",
    ]);
    const { details } = await expectVaultError(
      getBlock(answering(null), "0x5"),
      "VAULT_BLOCK_NOT_FOUND",
    );
    expect(details).to.deep.equal({ network: "testnet", block: "5" });
  });

  it("is requested at the given block", async () => {
    const { rpc, asked } = recording((method) =>
      method === "eth_getBlockByNumber"
        ? { ...header, transactions: [] }
        : method.includes("Transaction") && !method.includes("Count")
          ? null
          : "0x01",
    );
    await getBalance(rpc, ADDRESS);
    await getBalance(rpc, ADDRESS, 9);
    await hasCode(rpc, ADDRESS, "safe");
    await getNonce(rpc, ADDRESS, 10);
    await getChainId(rpc);
    await getBlockNumber(rpc);
    await getGasPrice(rpc);
    expect(await tryCall(rpc, call, 12, 99n)).to.equal(undefined);
    await getReceipt(rpc, HASH);
    await getTransaction(rpc, HASH);
    await getTransactions(rpc, "pending");
    await getBlock(rpc);
    await getGenesisHash(rpc);
    expect(asked).to.deep.equal([
      ["eth_getBalance", ADDRESS, "latest"],
      ["eth_getBalance", ADDRESS, "0x9"],
      ["eth_getCode", ADDRESS, "safe"],
      ["eth_getTransactionCount", ADDRESS, "0xa"],
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

  it("about the newest block's hash is that of the last request for it", async () => {
    let hash = HASH;
    const { rpc } = recording((_, [block]) => ({
      ...header,
      ...(block === "latest" ? { hash } : { hash: OTHER_HASH, number: block }),
    }));
    expect(latestHashOf(rpc)).to.equal(undefined);
    await getBlock(rpc);
    await getBlock(rpc, 4);
    expect(latestHashOf(rpc.withOptions({ timeout: 99 }))).to.equal(HASH);
    hash = OTHER_HASH;
    await getBlock(rpc);
    expect(latestHashOf(rpc)).to.equal(OTHER_HASH);
  });

  it("of a block has EIP-7825's gas limit if there is none, and seconds if the chain counts milliseconds or less", async () => {
    const blockOf = async (more: object) =>
      await getBlock(answering({ ...header, ...more }));
    expect(await blockOf({ gasLimit: undefined })).to.include({
      gasLimit: 16_777_216n,
    });
    for (const units of [1n, 1_000n, 1_000_000n, 1_000_000_000n]) {
      const timestamp = `0x${(1_700_000_000n * units).toString(16)}`;
      expect(await blockOf({ timestamp })).to.include({
        timestamp: 1_700_000_000,
      });
    }
    expect(await blockOf({ timestamp: "0x174876e7ff" })).to.include({
      timestamp: 99_999_999_999,
    });
    expect(await blockOf({ timestamp: "0x174876e800" })).to.include({
      timestamp: 100_000_000,
    });
  });

  it("about the first block is unknown only if the node has none", async () => {
    const { rpc } = recording(() => {
      throw Object.assign(new Error("no"), { code: -32_000 });
    });
    await expectVaultError(getGenesisHash(rpc), "VAULT_RPC_ERROR");
  });

  it("to eth_blockNumber lets a request at that block be made again", async () => {
    const { rpc } = recording(() => "0x5");
    await getBlockNumber(rpc);
    expect(rpc.node.newestBlock).to.equal(5);
  });

  it("of a contract has no secret in the reason of its revert, as an error or as a result", async () => {
    const data = new Interface(["error Error(string)"]).encodeErrorResult(
      "Error",
      ["no secret-1"],
    );
    for (const answer of [
      () => data,
      () => {
        throw Object.assign(new Error("execution reverted"), { code: 3, data });
      },
    ]) {
      const { rpc } = recording(answer);
      rpc.redactor.keep("secret-1");
      expect(await callContract(rpc, call, 5)).to.deep.equal({
        reverted: { kind: "string", text: "no <hidden>", data },
      });
    }
  });

  it("to a call has its overrides, and bytes that only look like an error are a result", async () => {
    const { rpc, asked } = recording(() => "0x12345678");
    const overrides = { [ADDRESS]: { code: "0x" } };
    expect(await callContract(rpc, call, "latest", overrides)).to.deep.equal({
      data: Buffer.from("12345678", "hex"),
    });
    expect(asked).to.deep.equal([["eth_call", call, "latest", overrides]]);
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
      const gas = asked.map(([, given]) => fieldsOf(given)["gas"]);
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

  it("to eth_getTransactionByHash has lower-case addresses, and isMined", async () => {
    const transaction = {
      hash: HASH,
      from: ADDRESS,
      to: ADDRESS,
      input: "0xAB",
      nonce: "0x7",
      blockNumber: "0x5",
      gasPrice: "0x9",
    };
    const lower = ADDRESS.toLowerCase();
    const seen = {
      hash: HASH,
      from: lower,
      to: lower,
      data: "0xab",
      nonce: 7,
      isMined: true,
      gasPrice: 9n,
    };
    expect(await getTransaction(answering(transaction), HASH)).to.deep.equal(
      seen,
    );
    for (const blockNumber of [null, undefined]) {
      expect(
        await getTransaction(
          answering({ ...transaction, to: null, blockNumber }),
          HASH,
        ),
      ).to.deep.equal({ ...seen, to: undefined, isMined: false });
    }
    const { input: data, gasPrice: _, ...older } = transaction;
    expect(
      await getTransaction(answering({ ...older, data }), HASH),
    ).to.deep.equal({ ...seen, gasPrice: undefined });
    expect(await getTransaction(answering(null), HASH)).to.equal(undefined);
    expect(
      await getTransactions(answering({ transactions: [transaction] }), 5),
    ).to.deep.equal([seen]);
    // A rollup's own, as a deposit.
    const deposit = { hash: HASH, from: ADDRESS, sourceHash: HASH };
    expect(
      await getTransactions(
        answering({ transactions: [deposit, transaction] }),
        5,
      ),
    ).to.deep.equal([seen]);
  });

  it("to eth_getTransactionReceipt is undefined until the transaction is in a block, and VAULT_RPC_INVALID_RESPONSE for another transaction", async () => {
    const receipt = {
      transactionHash: HASH.toUpperCase().replace("0X", "0x"),
      blockNumber: "0x5",
      blockHash: HASH,
      gasUsed: "0x6",
      status: "0x1",
      logs: [],
    };
    const read = {
      hash: HASH,
      blockNumber: 5,
      blockHash: HASH,
      gasUsed: 6n,
      succeeded: true,
      logs: [],
      contractAddress: undefined,
    };
    for (const [status, succeeded] of [
      ["0x1", true],
      ["0x0", false],
      ["1", true],
      ["0", false],
      [1, true],
      [false, false],
      [undefined, undefined],
      [null, undefined],
    ] as const) {
      expect(
        await getReceipt(answering({ ...receipt, status }), HASH),
      ).to.deep.equal({ ...read, succeeded });
    }
    const { transactionHash: _, ...unnamed } = receipt;
    expect(await getReceipt(answering(unnamed), HASH)).to.deep.equal({
      ...read,
      succeeded: true,
    });
    for (const transactionHash of [`0x${"cd".repeat(32)}`, 5]) {
      const { message } = await expectVaultError(
        getReceipt(answering({ ...receipt, transactionHash }), HASH),
        "VAULT_RPC_INVALID_RESPONSE",
      );
      expect(message).to.contain("another transaction");
    }
    for (const none of [
      null,
      { ...receipt, blockNumber: null },
      { ...receipt, blockHash: null },
      { ...receipt, blockHash: `0x${"0".repeat(64)}` },
    ]) {
      expect(await getReceipt(answering(none), HASH)).to.equal(undefined);
    }
  });

  describe("about the next block", () => {
    const pending = {
      ...header,
      number: "0x6",
      timestamp: "0x6e",
      hash: null,
      baseFeePerGas: "0x7",
      transactions: [],
    };
    /** A node whose newest block is 5. */
    const nextOf = async (block: unknown): Promise<unknown> => {
      const { rpc } = recording((_, [tag]) =>
        tag === "pending" ? block : header,
      );
      return (await getNextBlock(rpc)).next;
    };
    const next = {
      number: 6,
      timestamp: 110,
      gasLimit: 16n,
      baseFeePerGas: 7n,
    };

    it("has time and base fee of the pending block", async () => {
      expect(await nextOf(pending)).to.deep.equal(next);
      for (const other of [
        { number: null },
        // With a hash, it may be any block: this one is not made yet.
        { hash: HASH },
        // Anvil's pending block has a hash and the root of no state.
        { number: "0x5", hash: HASH, stateRoot: `0x${"0".repeat(64)}` },
        { gasLimit: "0x20" },
      ]) {
        expect(await nextOf({ ...pending, ...other })).to.deep.equal(next);
      }
      expect(await nextOf({ ...pending, timestamp: "0x64" })).to.deep.equal({
        ...next,
        timestamp: 101,
      });
    });

    it("has this machine's time, after the newest block, if no block is pending", async () => {
      let now = 100;
      const clock = mock.method(Date, "now", () => now * 1_000);
      for (const none of [
        null,
        { ...pending, number: "0x5" },
        { ...pending, number: "0x5", hash: HASH },
        { ...pending, number: "0x4", hash: HASH, stateRoot: HASH },
        { ...pending, timestamp: null },
        "0x6",
      ]) {
        for (const [time, timestamp] of [
          [99, 101],
          [500, 500],
        ] as const) {
          now = time;
          expect(await nextOf(none)).to.deep.equal({
            ...next,
            timestamp,
            baseFeePerGas: undefined,
          });
        }
      }
      clock.mock.restore();
    });
  });

  it("makes the client throw VAULT_RPC_INVALID_RESPONSE if it is malformed", async () => {
    const sender = { toString: 1 };
    const wrong: ReadonlyArray<
      readonly [
        read: (rpc: RpcClient) => Promise<unknown>,
        ...answers: unknown[],
      ]
    > = [
      [async (rpc) => await getChainId(rpc), "0x20000000000000", "5", ["0x5"]],
      [
        async (rpc) => await getBlock(rpc, 5),
        "0x5",
        { ...header, number: "0x9" },
        { ...header, number: null },
        { ...header, hash: "0xab" },
      ],
      [async (rpc) => await getBalance(rpc, ADDRESS), `0x${"1".repeat(65)}`],
      [async (rpc) => await getGenesisHash(rpc), {}],
      [async (rpc) => await hasCode(rpc, ADDRESS), "0xzz", null],
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
