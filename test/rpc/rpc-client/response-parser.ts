import { expect } from "chai";

import {
  UNKNOWN_GENESIS,
  getBlock,
  getGenesisHash,
} from "../../../src/rpc/blocks.js";
import {
  callContract,
  getBalance,
  getChainId,
  hasCode,
} from "../../../src/rpc/chain.js";
import type { RpcClient } from "../../../src/rpc/rpc-client.js";
import {
  getReceipt,
  getTransaction,
  getTransactions,
} from "../../../src/rpc/transactions.js";
import { expectVaultError } from "../../helpers/assertions.js";
import { HASH, SECOND } from "../../helpers/names.js";
import { answering, call, header } from "../../helpers/recording-node.js";

describe("the answer of a node", () => {
  it("has numbers, hashes and code as they are", async () => {
    expect(await getBlock(answering(header), "0x5")).to.deep.equal({
      ...{ number: 5, timestamp: 100, hash: HASH, parentHash: undefined },
      ...{ gasLimit: 16n, baseFeePerGas: undefined },
    });
    const largest = await getChainId(answering("0x1fffffffffffff"));
    expect(largest).to.equal(2 ** 53 - 1);
    expect(await hasCode(answering("0x00"), SECOND)).to.equal(true);
    expect(await hasCode(answering("0x"), SECOND)).to.equal(false);
    expect(await getGenesisHash(answering(null))).to.equal(UNKNOWN_GENESIS);
  });

  it("is named by what was expected, if it is of another type", () => {
    const parser = answering(null).parser("eth_test");
    expect(parser.list([1])).to.deep.equal([1]);
    // Some nodes write a JSON number.
    expect(parser.quantity(0)).to.equal(0n);
    expect(parser.record({ a: 1 })).to.deep.equal({ a: 1 });
    for (const [expected, read] of [
      ["an object", () => parser.record([])],
      ["a list", () => parser.list({})],
      ["a quantity", () => parser.quantity("1")],
      ["a hash", () => parser.hash("0x12")],
    ] as const) {
      expect(read).to.throw(`${expected} was expected`);
    }
  });

  const sender = { toString: 1 };
  const malformed: ReadonlyArray<
    readonly [
      what: string,
      read: (rpc: RpcClient) => Promise<unknown>,
      answers: readonly unknown[],
    ]
  > = [
    [
      "a balance",
      async (rpc) => await getBalance(rpc, SECOND),
      [" 0x1", "1", -1, 1.5, 2 ** 53, `0x${"1".repeat(65)}`],
    ],
    [
      "a chain id",
      async (rpc) => await getChainId(rpc),
      ["5", ["0x5"], "0x20000000000000"],
    ],
    [
      "a block",
      async (rpc) => await getBlock(rpc, 5),
      [
        "0x5",
        [],
        { ...header, number: "0x9" },
        { ...header, number: null },
        { ...header, hash: "0xab" },
      ],
    ],
    ["the first block", async (rpc) => await getGenesisHash(rpc), [{}]],
    ["code", async (rpc) => await hasCode(rpc, SECOND), ["0xzz", null]],
    [
      "the data of a call",
      async (rpc) => await callContract(rpc, call, "latest"),
      [null, 1, "nonsense", "0x0", "0xzz"],
    ],
    [
      "a transaction",
      async (rpc) => await getTransaction(rpc, HASH),
      [{ hash: HASH, from: sender, input: "0x", nonce: "0x0" }],
    ],
    [
      "the transactions of a block",
      async (rpc) => await getTransactions(rpc, 5),
      [{ transactions: {} }],
    ],
    ["a receipt", async (rpc) => await getReceipt(rpc, HASH), ["0x", {}]],
  ];
  for (const [what, read, answers] of malformed) {
    it(`is VAULT_RPC_INVALID_RESPONSE if it is not ${what}`, async () => {
      for (const answer of answers) {
        const work = read(answering(answer));
        await expectVaultError(work, "VAULT_RPC_INVALID_RESPONSE");
      }
    });
  }
});
