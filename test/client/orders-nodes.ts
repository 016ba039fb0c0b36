import { expect } from "chai";

import {
  VaultClient,
  VaultError,
  isFailedOrder,
} from "../../src/client/index.js";
import type { Eip1193Provider } from "../../src/client/index.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { startHardhatNode } from "../helpers/hardhat-node.js";
import { deployHostileTrading } from "../helpers/hostile-trading.js";
import { connectTo, createTestHre } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { Exchange, RpcReply } from "../helpers/rpc-server.js";
import { deployGeneratedOrders } from "../helpers/trading.js";

const FIRST_ID = 1n;
const LAST_ID = 60n;
const RESPONSE_LIMIT = 6_000;

/** A node with peculiarities, in front of anvil. */
interface Variant {
  readonly name: string;
  readonly handle?: (exchange: Exchange) => Promise<RpcReply | undefined>;
  /** Of the network, in milliseconds. */
  readonly timeout?: number;
}

const variants: readonly Variant[] = [
  { name: "anvil" },
  {
    name: "a node that refuses overrides",
    handle: async ({ request }) =>
      await Promise.resolve(
        request.params.length > 2
          ? {
              error: {
                code: -32602,
                message: "too many arguments, want at most 2",
              },
            }
          : undefined,
      ),
  },
  {
    name: "a node that ignores overrides",
    handle: async ({ request, response, forward }) => {
      response.end(
        await forward({ ...request, params: request.params.slice(0, 2) }),
      );
      return "handled";
    },
  },
  {
    name: "a node with a tiny response limit",
    handle: async ({ forward }) =>
      (await forward()).length > RESPONSE_LIMIT
        ? { error: { code: -32008, message: "response is too big" } }
        : undefined,
  },
  {
    name: "a node that drops the connection on big responses",
    handle: async ({ response, forward }) => {
      if ((await forward()).length <= RESPONSE_LIMIT) {
        return undefined;
      }
      response.destroy();
      return "handled";
    },
  },
  {
    name: "a node that cuts big responses off",
    handle: async ({ response, forward }) => {
      response.end((await forward()).slice(0, RESPONSE_LIMIT));
      return "handled";
    },
  },
  {
    name: "a node with a gas cap of 3 million",
    handle: async ({ request, response, forward }) => {
      if (request.method !== "eth_call") {
        return undefined;
      }
      const [call, ...rest] = request.params;
      response.end(
        await forward({
          ...request,
          params: [{ ...Object(call), gas: "0x2dc6c0" }, ...rest],
        }),
      );
      return "handled";
    },
  },
  {
    name: "a node that times out on big calls",
    timeout: 500,
    handle: async ({ request }) => {
      const [call] = request.params;
      return await Promise.resolve(
        askedOrders(call) > 10 ? ("handled" as const) : undefined,
      );
    },
  },
];

/** How many orders a call of the lens asks for; its last word. */
function askedOrders(call: unknown): number {
  const data =
    typeof call === "object" && call !== null && "data" in call
      ? call.data
      : undefined;
  return typeof data === "string" && data.length === 10 + 3 * 64
    ? Number(`0x${data.slice(-64)}`)
    : 0;
}

/** The order by a call of its own, or the code of the error. */
async function readAlone(client: VaultClient, id: bigint): Promise<unknown> {
  try {
    return { orderID: id, ...(await client.getOrderInfo(id)) };
  } catch (error) {
    return VaultError.isVaultError(error) ? [id, error.code] : error;
  }
}

/** A scan must say of each id what a call of its own says. */
async function expectSameAsAlone(client: VaultClient): Promise<void> {
  const scanned: unknown[] = [];
  for await (const order of client.orders({
    firstId: FIRST_ID,
    lastId: LAST_ID,
  })) {
    scanned.push(
      isFailedOrder(order) ? [order.orderID, order.error.code] : order,
    );
  }
  const alone: unknown[] = [];
  for (let id = FIRST_ID; id <= LAST_ID; ++id) {
    alone.push(await readAlone(client, id));
  }
  expect(scanned).to.deep.equal(alone);
}

async function deployBoth(
  provider: Eip1193Provider,
): Promise<{ good: string; hostile: string }> {
  const good = await deployGeneratedOrders(provider, 1n, 1_000_000n);
  return { good, hostile: await deployHostileTrading(provider, good) };
}

describe("client - orders on different nodes", () => {
  let anvil: ServerProcess;
  let hardhatNode: ServerProcess;
  let trading: { good: string; hostile: string };

  before(async () => {
    [anvil, hardhatNode] = await Promise.all([
      startAnvil(),
      startHardhatNode(),
    ]);
    trading = await deployBoth(await connect(anvil.url));
  });

  after(async () => {
    await anvil.stop();
    await hardhatNode.stop();
  });

  for (const { name, handle, timeout = 60_000 } of variants) {
    // Both at once, since some of the nodes are waited for.
    it(`should read good and hostile orders from ${name}`, async () => {
      await Promise.all(
        [trading.good, trading.hostile].map(async (address) => {
          const server = await startRpcServer({
            upstream: anvil.url,
            ...(handle === undefined ? {} : { handler: handle }),
          });
          try {
            await expectSameAsAlone(
              new VaultClient(await connect(server.url, timeout), {
                trading: address,
              }),
            );
          } finally {
            await server.stop();
          }
        }),
      );
    });
  }

  for (const name of ["hardhat node", "an in-process network"] as const) {
    it(`should read good and hostile orders from ${name}`, async () => {
      const provider =
        name === "hardhat node"
          ? await connect(hardhatNode.url)
          : (await (await createTestHre()).network.create()).provider;
      for (const address of Object.values(await deployBoth(provider))) {
        await expectSameAsAlone(
          new VaultClient(provider, { trading: address }),
        );
      }
    });
  }
});

async function connect(
  url: string,
  timeout = 60_000,
): Promise<Eip1193Provider> {
  return (await connectTo(url, { timeout })).provider;
}
