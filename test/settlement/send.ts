import { expect } from "chai";

import { RpcClient } from "../../src/rpc/rpc-client.js";
import { send } from "../../src/settlement/send.js";
import type { PreparedTransaction } from "../../src/settlement/transaction.js";

const HASH = `0x${"ab".repeat(32)}`;

const transaction: PreparedTransaction = {
  from: "0x00000000000000000000000000000000000000A1",
  to: "0x00000000000000000000000000000000000000A2",
  data: "0xa015aefe",
  chainId: 1,
  nonce: 7,
  gas: 100_000n,
  fees: { gasPrice: 1n },
  raw: "0x02",
  hash: HASH,
};

const known: ReadonlyArray<readonly [node: string, message: string]> = [
  ["geth and reth", "already known"],
  ["erigon", "ALREADY_EXISTS: already known"],
  ["besu", "Known transaction"],
  ["nethermind", "AlreadyKnown"],
  ["anvil", "transaction already imported"],
  ["hardhat", "Known transaction: 0xabab"],
];

/** None of them proves that the transaction did not arrive. */
const errors: ReadonlyArray<readonly [node: string, message: string]> = [
  ["geth", "nonce too low: next nonce 8, tx nonce 7"],
  ["a wallet", "User rejected the request."],
  ["a gateway", "upstream timed out"],
  ["nobody", ""],
];

describe("the answer of a node to a sent transaction", () => {
  const refusing = (message: string, more: object = {}): RpcClient =>
    new RpcClient(
      {
        request: async () =>
          await Promise.reject(
            Object.assign(new Error(message), { code: -32000, ...more }),
          ),
      },
      "test",
    );

  for (const [node, message] of known) {
    it(`is accepted if ${node} says "${message}"`, async () => {
      expect(await send(refusing(message), transaction)).to.deep.equal({
        kind: "accepted",
        hash: HASH,
      });
    });
  }

  for (const [node, message] of errors) {
    it(`is an error with its words if ${node} says "${message}"`, async () => {
      const answer = await send(refusing(message), transaction);
      expect(answer.kind).to.equal("error");
      expect(answer).to.have.property("problem").that.includes(message);
    });
  }

  for (const [name, result] of [
    ["nothing", null],
    ["a number", 7],
    ["a short hash", "0xab"],
    ["a hash with a digit that is none", `0x${"zz".repeat(32)}`],
  ] as const) {
    it(`should take ${name} for a lost answer`, async () => {
      const rpc = new RpcClient(
        { request: async () => await Promise.resolve(result) },
        "test",
      );

      expect((await send(rpc, transaction)).kind).to.equal("lost");
    });
  }

  it("should be handed what was signed, or what is to be signed", async () => {
    const asked: unknown[] = [];
    const other = `0x${"cd".repeat(32)}`;
    const rpc = new RpcClient(
      {
        request: async ({ method, params }) => {
          asked.push([method, params]);
          return await Promise.resolve(other);
        },
      },
      "test",
    );
    const { raw: _raw, ...unsigned } = transaction;
    // What was signed has the hash of its bytes, whatever the node says.
    expect(await send(rpc, transaction)).to.deep.equal({
      kind: "accepted",
      hash: HASH,
    });
    expect(await send(rpc, { ...transaction, hash: undefined })).to.deep.equal({
      kind: "accepted",
      hash: other,
    });
    expect(await send(rpc, { ...unsigned, raw: undefined })).to.deep.equal({
      kind: "accepted",
      hash: other,
    });
    expect(asked[0]).to.deep.equal(["eth_sendRawTransaction", ["0x02"]]);
    expect(asked[2]).to.deep.equal([
      "eth_sendTransaction",
      [
        {
          from: transaction.from,
          to: transaction.to,
          data: transaction.data,
          value: "0x0",
          chainId: "0x1",
          nonce: "0x7",
          gas: "0x186a0",
          gasPrice: "0x1",
        },
      ],
    ]);
  });

  it("is lost if there is none", async () => {
    const rpc = refusing("connect", { code: "ECONNREFUSED" });
    expect(await send(rpc, transaction)).to.have.property("kind", "lost");
  });

  it("is an error if the node says that it reverted", async () => {
    const rpc = refusing("execution reverted", { code: 3, data: "0x" });
    expect(await send(rpc, transaction)).to.deep.equal({
      kind: "error",
      problem: "no reason given",
    });
  });
});
