import { expect } from "chai";

import { listOf } from "../../src/json.js";
import type { HardhatVault } from "../../src/types.js";
import { startAnvil } from "../helpers/anvil.js";
import { deployInstance } from "../helpers/deployment/deploy.js";
import { fieldsOf } from "../helpers/fields.js";
import { connectTo } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { Exchange, RpcReply, RpcServer } from "../helpers/rpc-server.js";

/** Gives a second its share of HTTP requests, and refuses the others. */
function limitedTo(perSecond: number): (exchange: Exchange) => boolean {
  const passed: number[] = [];
  const seen = new Map<unknown, boolean>();
  return ({ response }) => {
    // One response for all calls of a batch.
    const known = seen.get(response);
    if (known !== undefined) {
      return known;
    }
    const now = performance.now();
    const isFree = passed.filter((at) => now - at < 1_000).length < perSecond;
    if (isFree) {
      passed.push(now);
    }
    seen.set(response, isFree);
    return isFree;
  };
}

const isByHash = ({ request: { params } }: Exchange): boolean =>
  params.some((each) => fieldsOf(each)["blockHash"] !== undefined);

for (const vaultOrders of [3, 60]) {
  describe(`requests of a fork of a vault that pays ${vaultOrders} orders`, () => {
    let anvil: Awaited<ReturnType<typeof startAnvil>>;
    let contracts: Readonly<Record<string, string>>;
    let from: string;
    let node: RpcServer;

    before(async () => {
      anvil = await startAnvil();
      const { provider } = await connectTo(anvil.url);
      ({ contracts } = await deployInstance(provider, {
        ...{ orders: 61, vaultOrders },
      }));
      const accounts: unknown = await provider.request({
        method: "eth_accounts",
      });
      from = String(listOf(accounts)[0]);
    });
    after(async () => {
      await anvil.stop();
    });
    afterEach(async () => {
      await node.stop();
    });

    const open = async (stepMs?: number): Promise<HardhatVault> => {
      node = await startRpcServer({
        upstream: anvil.url,
        ...(stepMs !== undefined && { stepMs }),
      });
      return (await connectTo(node.url)).vault.at(contracts);
    };
    const simulate = async (vault: HardhatVault): Promise<void> => {
      const { status } = await vault.simulateSettleAll({
        ...{ engine: "fork", from },
      });
      expect(status).to.equal("settled");
    };

    it("a simulation on a fork takes at most 7 waves of at most 12 requests", async () => {
      await simulate(await open(40));
      expect(node.waves).to.be.below(8);
      expect(node.httpRequests).to.have.length.below(13);
    });

    it("a fork is made and settles in at most 9 waves of at most 16 requests", async () => {
      const fork = await (await open(40)).fork();
      expect((await fork.vault.settleAll()).status).to.equal("settled");
      await fork.close();
      expect(node.waves).to.be.below(10);
      expect(node.httpRequests).to.have.length.below(17);
    });

    for (const [title, refuse] of [
      [
        "HTTP status 429",
        ({ response }: Exchange): RpcReply => {
          response.writeHead(429).end();
          return "handled";
        },
      ],
      [
        "the code -32005",
        (): RpcReply => ({
          error: { code: -32_005, message: "limit exceeded" },
        }),
      ],
    ] as const) {
      it(`a simulation on a fork takes at most 40 requests of a node that answers five a second, and ${title} to the others`, async () => {
        const vault = await open();
        const isFree = limitedTo(5);
        node.handler = (exchange): RpcReply | undefined =>
          isFree(exchange) ? undefined : refuse(exchange);
        await simulate(vault);
        expect(node.httpRequests).to.have.length.below(41);
      });

      it(`a fork takes at most 40 requests to be made and to settle of a node that answers five a second, and ${title} to the others`, async () => {
        const vault = await open();
        const isFree = limitedTo(5);
        node.handler = (exchange): RpcReply | undefined =>
          isFree(exchange) ? undefined : refuse(exchange);
        const fork = await vault.fork();
        expect((await fork.vault.settleAll()).status).to.equal("settled");
        await fork.close();
        expect(node.httpRequests).to.have.length.below(41);
      });
    }

    it("a simulation on a fork takes at most 30 waves of a node without batches", async () => {
      const vault = await open(40);
      node.batch = () => 413;
      await simulate(vault);
      expect(node.waves).to.be.below(31);
    });

    it("a simulation on a fork takes at most 10 waves of a node that takes a block's number and not its hash", async () => {
      const vault = await open(40);
      node.handler = (exchange) =>
        isByHash(exchange)
          ? { error: { code: -32_602, message: "invalid argument 1" } }
          : undefined;
      await simulate(vault);
      expect(node.waves).to.be.below(11);
    });

    for (const [title, isRefused] of [
      ["has no access lists", () => true],
      [
        "refuses the access list of each second call",
        ({ request: { id } }: Exchange) => Number(id) % 2 === 1,
      ],
    ] as const) {
      it(`a simulation on a fork reads one by one what a node does not name that ${title}`, async () => {
        const vault = await open();
        node.handler = (exchange) =>
          exchange.request.method === "eth_createAccessList" &&
          isRefused(exchange)
            ? { error: { code: -32_601, message: "no" } }
            : undefined;
        await simulate(vault);
      });
    }
  });
}
