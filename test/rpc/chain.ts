import { expect } from "chai";

import {
  isDevelopmentNode,
  isDevelopmentNodeNow,
} from "../../src/rpc/chain.js";
import { expectVaultError } from "../helpers/assertions.js";
import { codedError } from "../helpers/foreign-errors.js";
import { HASH } from "../helpers/names.js";
import { answering, recording } from "../helpers/recording-node.js";

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
const unknown = codedError("", { code: -32_601 });
// Real nodes answer in the tests of the settlement.
describe("a development node", () => {
  for (const [title, method, answer] of [
    ["hardhat node", "hardhat_metadata", hardhat],
    ["anvil", "anvil_nodeInfo", anvil],
    ["new anvil", "anvil_nodeInfo", { ...anvil, currentBlockNumber: 0 }],
  ] as const) {
    it(`${title} is known by the fields of its ${method}`, async () => {
      const { rpc } = recording((asked) =>
        asked === method ? answer : unknown,
      );
      expect(await isDevelopmentNode(rpc)).to.equal(true);
    });
  }

  for (const [title, answer] of [
    ["null", null],
    ["the field with another type", { ...hardhat, instanceId: "0x1" }],
    ["no instanceId", { ...hardhat, instanceId: null }],
    ["no currentBlockHash", { ...anvil, currentBlockHash: null }],
    ["an HTTP error", codedError("ECONNREFUSED")],
    ["that it does not know the method", unknown],
  ] as const) {
    it(`a node that answers both methods with ${title} is none`, async () => {
      expect(await isDevelopmentNode(answering(answer))).to.equal(false);
    });
  }

  it("a node is asked once per connection, unless the answer has to be new", async () => {
    const { rpc, asked } = recording(() => null);
    for (const client of [rpc, rpc.withOptions({ timeout: 9_000 })]) {
      expect(await isDevelopmentNode(client)).to.equal(false);
    }
    expect(asked).to.have.lengthOf(2);
    expect(await isDevelopmentNodeNow(rpc)).to.equal(false);
    expect(asked).to.have.lengthOf(4);
  });

  it("a node that does not answer in time is not told from another: VAULT_RPC_TIMEOUT", async () => {
    const hanging = answering(new Promise(() => undefined));
    await expectVaultError(
      isDevelopmentNode(hanging.withOptions({ timeout: 20 })),
      "VAULT_RPC_TIMEOUT",
    );
  });
});
