import { expect } from "chai";
import { Wallet } from "ethers";

import { deployTestGuard } from "../helpers/guard.js";
import { startCase, startKeeper } from "../helpers/keeper-on-node.js";
import type { KeeperWithNode } from "../helpers/keeper-on-node.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { devKey } from "../helpers/world.js";

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

  beforeEach(async () => {
    await startCase(keeper);
  });

  /** Settles unattended on a live chain, and returns what was asked of the node. */
  const requestsWith = async (guard?: string): Promise<readonly string[]> => {
    const vault = await keeper.connect({
      url: server.url,
      gas: "auto",
      vault: {
        contracts: keeper.chain.contracts,
        maxFeePerGasLimit: 10n ** 12n,
        ...(guard !== undefined && { guard }),
      },
    });
    server.clear();
    const { status, reason } = await vault.settleAll({ confirmations: 1 });
    expect(status, String(reason)).to.equal("settled");
    return server.requests.map(
      ({ method, params }) =>
        `${method} ${JSON.stringify(params).slice(0, 99)}`,
    );
  };

  it("are at most 20 if a keeper settles unattended on a live chain, with its key, without a guard, and the first look finds the one confirmation it wants", async () => {
    const asked = await requestsWith();
    expect(asked.length, asked.join("\n")).to.be.at.most(20);
  });

  it("are at most 24 with a guard, whose balance is asked for once if nothing stays there", async () => {
    const deployer = new Wallet(devKey(3), keeper.chain.provider);
    const guard = await deployTestGuard(deployer, keeper.settler);
    const asked = await requestsWith(guard);
    expect(asked.length, asked.join("\n")).to.be.at.most(24);
    const balances = asked.filter((one) =>
      one.toLowerCase().startsWith(`eth_getbalance ["${guard.toLowerCase()}"`),
    );
    expect(balances, asked.join("\n")).to.have.lengthOf(1);
  });
});
