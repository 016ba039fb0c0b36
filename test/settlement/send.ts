import { expect } from "chai";

import { Chain } from "../../src/rpc/node.js";
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

/** What nodes say, and what it means for a transaction that is sent. */
const answers: ReadonlyArray<
  readonly [node: string, message: string, kind: string]
> = [
  ["geth", "already known", "accepted"],
  ["erigon", "ALREADY_EXISTS: already known", "accepted"],
  ["besu", "Known transaction", "accepted"],
  ["nethermind", "AlreadyKnown", "accepted"],
  ["reth", "already known", "accepted"],
  ["anvil", "transaction already imported", "accepted"],
  ["hardhat", "Known transaction: 0xabab", "accepted"],
  ["geth", "nonce too low: next nonce 8, tx nonce 7", "nonce-taken"],
  [
    "nethermind",
    "OldNonce, Current nonce: 8, nonce of rejected tx: 7",
    "nonce-taken",
  ],
  ["besu", "Nonce too low", "nonce-taken"],
  ["anvil", "nonce too low", "nonce-taken"],
  [
    "hardhat",
    "Nonce too low. Expected nonce to be 8 but got 7.",
    "nonce-taken",
  ],
  ["geth", "replacement transaction underpriced", "nonce-taken"],
  ["geth", "insufficient funds for gas * price + value", "refused"],
  ["geth", "max fee per gas less than block base fee", "refused"],
  ["geth", "transaction underpriced", "refused"],
  ["geth", "intrinsic gas too low", "refused"],
  ["geth", "exceeds block gas limit", "refused"],
  ["geth", "invalid sender", "refused"],
  ["geth", "invalid chain id for signer: have 1 want 2", "refused"],
  ["geth", "tx fee (2.10 ether) exceeds the configured cap", "refused"],
  ["geth", "gas tip cap 0, minimum needed 1000000", "refused"],
  ["geth", "authentication needed: password or unlock", "refused"],
  ["nethermind", "InsufficientFunds, Account balance: 0", "refused"],
  ["nethermind", "FeeTooLow, MaxFeePerGas too low", "refused"],
  ["besu", "Upfront cost exceeds account balance", "refused"],
  ["besu", "Gas price below configured minimum gas price", "refused"],
  ["besu", "Transaction gas limit exceeds block gas limit", "refused"],
  ["besu", "Invalid signature", "refused"],
  ["anvil", "Insufficient funds for gas * price + value", "refused"],
  ["anvil", "Out of gas: gas required exceeds allowance: 5", "refused"],
  [
    "hardhat",
    "Sender doesn't have enough funds to send tx. The max upfront cost is: 5",
    "refused",
  ],
  [
    "hardhat",
    "Transaction gas limit is 9 and exceeds block gas limit of 3",
    "refused",
  ],
  ["hardhat", "Unknown account 0xab", "refused"],
  [
    "hardhat",
    "Transaction maxFeePerGas (1) is too low for the next block, which has a baseFeePerGas of 2",
    "refused",
  ],
  [
    "a node without the method",
    "the method eth_sendTransaction does not exist/is not available",
    "refused",
  ],
  ["a node without the method", "Method not found", "refused"],
  ["a wallet", "User rejected the request.", "refused"],
  ["a device", "User denied transaction signature", "refused"],
  // Nothing of this says whether the transaction is on its way.
  ["a gateway", "upstream timed out", "lost"],
  ["a gateway", "Internal error", "lost"],
  ["a gateway", "request timed out while waiting for funds service", "lost"],
  ["a gateway", "all upstreams failed: service unavailable", "lost"],
  [
    "a gateway",
    "Your app has exceeded its compute units per second capacity",
    "lost",
  ],
  ["a gateway", "daily request count exceeded, request rate limited", "lost"],
  ["a gateway", "too many requests: limit exceeded", "lost"],
  ["a gateway", "header not found", "lost"],
  ["geth", "context deadline exceeded", "lost"],
  ["geth", "txpool is full", "lost"],
  ["nobody", "", "lost"],
];

describe("what a node answers to a sent transaction", () => {
  for (const [node, message, kind] of answers) {
    it(`should take ${node}'s "${message}" for ${kind}`, async () => {
      const chain = new Chain(
        {
          request: async () => {
            const error = new Error(message);
            return await Promise.reject(Object.assign(error, { code: -32000 }));
          },
        },
        "test",
      );

      const answer = await send(chain, transaction);

      expect(answer.kind).to.equal(kind);
      if (answer.kind === "accepted") {
        expect(answer.hash).to.equal(HASH);
      }
    });
  }

  for (const [name, result] of [
    ["nothing", null],
    ["a number", 7],
    ["a short hash", "0xab"],
  ] as const) {
    it(`should take ${name} for a lost answer`, async () => {
      const chain = new Chain(
        { request: async () => await Promise.resolve(result) },
        "test",
      );

      expect((await send(chain, transaction)).kind).to.equal("lost");
    });
  }

  const answering = (answer: unknown): Chain =>
    new Chain({ request: async () => await Promise.resolve(answer) }, "test");

  it("should be handed what was signed, or what is to be signed", async () => {
    const asked: unknown[] = [];
    const other = `0x${"cd".repeat(32)}`;
    const chain = new Chain(
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
    expect(await send(chain, transaction)).to.deep.equal({
      kind: "accepted",
      hash: HASH,
    });
    expect(
      await send(chain, { ...transaction, hash: undefined }),
    ).to.deep.equal({ kind: "accepted", hash: other });
    expect(await send(chain, { ...unsigned, raw: undefined })).to.deep.equal({
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

  it("should take a hash with a digit that is none for a lost answer", async () => {
    expect(
      await send(answering(`0x${"zz".repeat(32)}`), transaction),
    ).to.have.property("kind", "lost");
  });

  it("should take no answer at all for a lost one", async () => {
    for (const error of [
      Object.assign(new Error("connect"), { code: "ECONNREFUSED" }),
      new TypeError("a bug"),
    ]) {
      const chain = new Chain(
        { request: async () => await Promise.reject(error) },
        "test",
      );
      expect(await send(chain, transaction)).to.have.property("kind", "lost");
    }
  });

  it("should take a revert for a refusal", async () => {
    const chain = new Chain(
      {
        request: async () =>
          await Promise.reject(
            Object.assign(new Error("execution reverted"), {
              code: 3,
              data: "0x",
            }),
          ),
      },
      "test",
    );
    expect(await send(chain, transaction)).to.deep.equal({
      kind: "refused",
      problem: "no reason given",
    });
  });
});
