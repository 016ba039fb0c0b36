import { expect } from "chai";

import { startKeeper } from "../helpers/keeper-on-node.js";
import type { KeeperWithNode } from "../helpers/keeper-on-node.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";

/** The kind of chain that a node is without these is live. */
const DEVELOPMENT = ["hardhat_metadata", "anvil_nodeInfo"];

describe("the requests of a settlement", () => {
  let keeper: KeeperWithNode;
  let server: RpcServer;
  before(async () => {
    keeper = await startKeeper();
    server = await startRpcServer({
      upstream: keeper.node.url,
      handler: async ({ request: { method }, forward, response }) => {
        if (DEVELOPMENT.includes(method)) {
          return { error: { code: -32_601, message: "method not found" } };
        }
        if (method !== "eth_sendRawTransaction") {
          return undefined;
        }
        const answer = await forward();
        // Mined when it is answered, so that the first look finds the receipt.
        await keeper.chain.mine();
        response.end(answer);
        return "handled";
      },
    });
  });
  after(async () => {
    await server.stop();
    await keeper.close();
  });

  it("are at most 20 if a keeper settles unattended on a live chain, with its key, without a guard, and the first look finds the one confirmation it wants", async () => {
    const vault = await keeper.connect({
      url: server.url,
      gas: "auto",
      vault: {
        contracts: keeper.chain.contracts,
        maxFeePerGasLimit: 10n ** 12n,
      },
    });
    server.clear();
    const { status, reason } = await vault.settleAll({ confirmations: 1 });
    expect(status, String(reason)).to.equal("settled");
    const asked = server.requests.map(
      ({ method, params }) =>
        `${method} ${JSON.stringify(params).slice(0, 99)}`,
    );
    expect(asked.length, asked.join("\n")).to.be.at.most(20);
  });
});
