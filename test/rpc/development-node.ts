import { expect } from "chai";

import {
  isDevelopmentNode,
  isDevelopmentNodeNow,
  oneChangeAtATime,
} from "../../src/rpc/development-node.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { expectVaultError } from "../helpers/assertions.js";
import { codedError } from "../helpers/foreign-errors.js";
import { HASH } from "../helpers/keeper.js";

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
    ...Object.keys(hardhat)
      .filter((name) => name !== "latestBlockNumber")
      .map((name) => [`no ${name}`, { ...hardhat, [name]: null }] as const),
    ...Object.keys(anvil)
      .filter((name) => name !== "currentBlockTimestamp")
      .map((name) => [`no ${name}`, { ...anvil, [name]: null }] as const),
    ["an HTTP error", codedError("ECONNREFUSED")],
    ["that it does not know the method", undefined],
  ] as const) {
    it(`is not a node that answers both with ${title}`, async () => {
      const answers = { hardhat_metadata: answer, anvil_nodeInfo: answer };
      expect(await isDevelopmentNode(nodeOf(answers))).to.equal(false);
    });
  }

  it("is asked for once per connection, unless the answer has to be new", async () => {
    for (const [answer, is] of [
      [hardhat, true],
      [null, false],
    ] as const) {
      const asked: string[] = [];
      const rpc = new RpcClient(
        {
          request: async ({ method }) => {
            asked.push(method);
            return await Promise.resolve(answer);
          },
        },
        "test",
      );
      for (const client of [rpc, rpc.withOptions({ timeout: 9_000 })]) {
        expect(await isDevelopmentNode(client)).to.equal(is);
      }
      expect(asked).to.deep.equal(["hardhat_metadata", "anvil_nodeInfo"]);
      expect(await isDevelopmentNodeNow(rpc)).to.equal(is);
      expect(asked).to.have.lengthOf(4);
    }
  });

  it("is not told from another node that does not answer in time: VAULT_RPC_TIMEOUT", async () => {
    const hanging = new RpcClient(
      { request: async () => await new Promise(() => undefined) },
      "test",
    ).withOptions({ timeout: 20 });
    await expectVaultError(isDevelopmentNode(hanging), "VAULT_RPC_TIMEOUT");
  });

  it("is changed by one task after the other, also by clients with other options", async () => {
    const rpc = nodeOf({});
    const steps: string[] = [];
    const change = async (client: RpcClient, name: string): Promise<void> => {
      await oneChangeAtATime(client, async () => {
        steps.push(`${name} begins`);
        await new Promise((resolve) => setImmediate(resolve));
        steps.push(`${name} ends`);
      });
    };
    await Promise.all([
      change(rpc, "one"),
      change(rpc.withOptions({ timeout: 90 }), "two"),
    ]);
    expect(steps).to.deep.equal(
      ["one begins", "one ends"].concat(["two begins", "two ends"]),
    );
  });
});
