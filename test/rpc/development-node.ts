import { expect } from "chai";

import { isDevelopmentNode } from "../../src/rpc/development-node.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { codedError } from "../helpers/foreign-errors.js";
import { HASH } from "../helpers/settlement-stage.js";

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

// Real nodes answer in the tests of the settlement.
describe("a development node", () => {
  const nodeOf = (answers: Readonly<Record<string, unknown>>): RpcClient =>
    new RpcClient(
      {
        request: async ({ method }) => {
          const answer = answers[method];
          return await (answer instanceof Error || answer === undefined
            ? Promise.reject(
                answer ??
                  Object.assign(new Error("Method not found"), {
                    code: -32_601,
                  }),
              )
            : Promise.resolve(answer));
        },
      },
      "test",
    ).withOptions({ timeout: 50 });

  for (const [title, answers] of [
    ["hardhat_metadata", { hardhat_metadata: hardhat }],
    ["anvil_nodeInfo", { anvil_nodeInfo: anvil }],
  ] as const) {
    it(`is known by the fields of ${title}`, async () => {
      expect(await isDevelopmentNode(nodeOf(answers))).to.equal(true);
    });
  }

  for (const [title, answer] of [
    ["{}", {}],
    ["[]", []],
    ["true", true],
    ["a text", "ok"],
    ["null", null],
    ["the fields with other types", { ...hardhat, instanceId: "0x1" }],
    ["half of the fields", { ...anvil, environment: {} }],
    ["an HTTP error", codedError("ECONNREFUSED")],
    ["that it does not know the method", undefined],
  ] as const) {
    it(`is not a node that answers both with ${title}`, async () => {
      const answers = { hardhat_metadata: answer, anvil_nodeInfo: answer };
      expect(await isDevelopmentNode(nodeOf(answers))).to.equal(false);
    });
  }
});
