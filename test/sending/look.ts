import { expect } from "chai";

import { look } from "../../src/sending/look.js";
import { noRetries } from "../../src/rpc/rpc-client.js";
import { sent as settlement } from "../helpers/keeper.js";
import { HASH } from "../helpers/names.js";
import { recording } from "../helpers/recording-node.js";

const obstacle = {
  kind: "stopped",
  status: "nothing-to-do",
  reason: "Settled.",
} as const;
/** As a node returns it. */
const transaction = {
  ...{ hash: HASH, from: settlement.from, to: settlement.to },
  ...{ input: settlement.data, nonce: "0x7", blockNumber: null },
};
const receipt = {
  ...{ transactionHash: HASH, blockNumber: "0x6", blockHash: HASH },
  ...{ gasUsed: "0x1", status: "0x1" },
};

describe("look()", () => {
  for (const [kind, what, late] of [
    ["pending", "transaction", { eth_getTransactionByHash: transaction }],
    ["mined", "receipt", { eth_getTransactionReceipt: receipt }],
  ] as const) {
    it(`finds it ${kind} if the node shows the ${what} only after the round was read as settled`, async () => {
      let rounds = 0;
      const early: Readonly<Record<string, unknown>> = {
        eth_blockNumber: "0x5",
        eth_getTransactionCount: "0x7",
      };
      const node = recording((method) => {
        const answers = rounds < 2 ? early : { ...early, ...late };
        return answers[method] ?? null;
      });
      const sought = {
        rpc: node.rpc.withRetries(noRetries),
        checkRound: async () => {
          rounds += 1;
          return await Promise.resolve(obstacle);
        },
        ...{ confirmations: 1, sentAfterBlock: 3 },
      };
      const seen = await look(sought, [settlement]);
      expect(seen).to.include({ kind, hash: HASH });
    });
  }

  for (const [title, head, countAtHead, confirmations] of [
    ["whose newest block is that before it was sent", "0x5", "0x8", 1],
    ["that does not show its nonce used in its newest block", "0x6", "0x7", 1],
    ["that shows its nonce used in too few blocks", "0x8", "0x7", 3],
  ] as const) {
    it(`proves no replacement by a node ${title}`, async () => {
      const node = recording((method, [, block]) => {
        const counted = String(block).startsWith("0x") ? countAtHead : "0x8";
        const counts = { eth_getTransactionCount: counted };
        const blocks = { eth_getBlockByNumber: { transactions: [] } };
        const answers = { eth_blockNumber: head, ...counts, ...blocks };
        return Reflect.get(answers, method) ?? null;
      });
      const seen = await look(
        {
          rpc: node.rpc.withRetries(noRetries),
          checkRound: async () => await Promise.resolve(undefined),
          ...{ confirmations, sentAfterBlock: 5 },
        },
        [settlement],
      );
      expect(seen).to.include({ kind: "replaced", depth: 0 });
    });
  }
});
