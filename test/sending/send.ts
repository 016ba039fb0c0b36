import { expect } from "chai";

import type { RpcClient } from "../../src/rpc/rpc-client.js";
import { send } from "../../src/sending/send.js";
import { codedError } from "../helpers/foreign-errors.js";
import { sent, unsigned } from "../helpers/keeper.js";
import { HASH, OTHER_HASH } from "../helpers/names.js";
import { answering, recording } from "../helpers/recording-node.js";

const { kind: _, preparedAt: __, ...transaction } = sent;
const { from, to, data } = unsigned;
const asJson = {
  ...{ from, to, data, value: "0x0", chainId: "0x7a69", nonce: "0x7" },
  ...{ gas: "0x186a0", gasPrice: "0x1" },
};

describe("send()", () => {
  const refusing = (message: string, more: object = {}): RpcClient =>
    answering(Object.assign(new Error(message), { code: -32_000, ...more }));

  for (const [node, message] of [
    ["geth and reth", "already known"],
    ["nethermind", "AlreadyKnown"],
    ["anvil", "transaction already imported"],
    ["hardhat", "Known transaction: 0xabab"],
  ] as const) {
    it(`is accepted by ${node}, which has it: "${message}"`, async () => {
      const answer = await send(refusing(message), transaction);
      expect(answer).to.deep.equal({ kind: "accepted", hash: HASH });
    });
  }

  // None of them proves that the transaction did not arrive.
  for (const [message, more, isTransient] of [
    ["nonce too low: next nonce 8, tx nonce 7", {}, false],
    ["User rejected the request.", {}, false],
    ["upstream timed out", {}, true],
    ["txpool is full", {}, true],
    ...[-32_005, -32_011, -32_046, -32_429, 429].map(
      (code) => ["no", { code }, true] as const,
    ),
    ["execution reverted", { code: 3, data: "0x" }, false],
  ] as const) {
    it(`is refused${isTransient ? " for the moment" : ""} by "${message}", ${JSON.stringify(more)}`, async () => {
      const answer = await send(refusing(message, more), transaction);
      expect(answer).to.include({ kind: "refused", isTransient });
      expect(answer)
        .to.have.property("problem")
        .that.includes("data" in more ? "no reason given" : message);
    });
  }

  for (const answer of [null, "0xab", codedError("ECONNREFUSED")]) {
    it(`has no answer if the node returns ${String(answer).slice(0, 20)}`, async () => {
      const { kind } = await send(answering(answer), transaction);
      expect(kind).to.equal("unanswered");
    });
  }

  for (const [what, changes, hash, method, params] of [
    ["signed bytes with their hash", {}, HASH, "Raw", "0x02"],
    [
      "signed bytes without one",
      { hash: undefined },
      OTHER_HASH,
      "Raw",
      "0x02",
    ],
    ["a transaction to sign", { raw: undefined }, OTHER_HASH, "", asJson],
  ] as const) {
    it(`sends ${what}`, async () => {
      const node = recording(() => OTHER_HASH);
      expect(
        await send(node.rpc, { ...transaction, ...changes }),
      ).to.deep.equal({
        ...{ kind: "accepted", hash },
      });
      // As it is written for the node.
      expect(JSON.parse(JSON.stringify(node.asked))).to.deep.equal([
        { method: `eth_send${method}Transaction`, params: [params] },
      ]);
    });
  }
});
