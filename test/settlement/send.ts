import { expect } from "chai";

import { Chain } from "../../src/settlement/chain.js";
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
});
