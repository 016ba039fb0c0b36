import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

import type { NetworkConnection } from "hardhat/types/network";
import type { RequestArguments } from "hardhat/types/providers";
import pLimit from "p-limit";
import { createPublicClient, http } from "viem";
import type { PublicClient } from "viem";

import { tradingAbi } from "../src/abi/index.js";
import { Trading__factory } from "../src/bindings/factories/Trading__factory.js";
import { isFailedOrder } from "../src/client/index.js";
import { deployCode } from "../test/helpers/transactions.js";
import {
  collectGarbage,
  median,
  ratios,
  runInTurns,
  timeOf,
} from "./measure.js";
import type { Extent, Figure } from "./measure.js";
import { onAnvil } from "./on-anvil.js";
import type { World } from "./worlds.js";

/** The node, a connection to it, contracts on it, and the number of orders to read. */
interface ToRead {
  readonly url: string;
  readonly connection: NetworkConnection;
  readonly trading: `0x${string}`;
  readonly multicall: `0x${string}`;
  readonly count: number;
}

/** In the order of their ids, each as the library makes it. */
type Orders = readonly object[];

/** As many as ours has under way. */
const CONCURRENCY = 3;
/** Single runs differ by a tenth, since a reader and the node share two cores. */
const RUNS_EACH = 2;
/** Single calls under way at a time. */
const IN_FLIGHT = 100;
const VIEM_BATCH = 1_000;
/** Call data of one multicall that anvil's gas limit allows; a call has 36 bytes. */
const MULTICALL_BYTES = 16_384;

/** Reads orders over HTTP, from anvil. */
export async function benchOrders(
  { rounds, orders: count }: Extent,
  { deploy }: World,
): Promise<readonly Figure[]> {
  return await onAnvil(async ({ url, connection }) => {
    const { provider, vault } = connection;
    const { trading } = await deploy(vault, count);
    const toRead: ToRead = {
      url,
      connection,
      trading,
      multicall: toHex(await deployCode(provider, multicall3Bytecode())),
      count,
    };
    const readers = {
      "hardhat-vault": async () => await readWithOurs(toRead),
      "hardhat-ethers, one call each": async () =>
        await readWithHardhatEthers(toRead),
      "viem http, batches of 1,000": async () => await readWithViem(toRead),
      "viem multicall, best batch": async () => await readWithMulticall(toRead),
    };
    const digests = new Set<string>();
    for (const read of Object.values(readers)) {
      digests.add(digest(await read()));
    }
    if (digests.size !== 1) {
      throw new Error(`not the same orders: ${[...digests].join("; ")}`);
    }
    const requests = await findRequests(toRead);
    /** Over the same connection, and nothing is done with the answers. */
    const readRaw = async (): Promise<unknown> =>
      await pLimit(CONCURRENCY).map(
        requests,
        async (request): Promise<unknown> => await provider.request(request),
      );
    const times = await runInTurns(
      { ...readers, "raw transport, not decoded": readRaw },
      rounds * RUNS_EACH,
      async (run) => {
        collectGarbage();
        return await timeOf(run);
      },
    );
    const ours = times["hardhat-vault"];
    const [multicall, batches] = [
      times["viem multicall, best batch"],
      times["viem http, batches of 1,000"],
    ];
    const bestViem = median(multicall) < median(batches) ? multicall : batches;
    const name = `${count.toLocaleString("en")} orders`;
    return [
      { name: `${name}: ms`, values: ours },
      {
        name: `${name}: times as fast as hardhat-ethers, a call for each`,
        values: ratios(times["hardhat-ethers, one call each"], ours),
        goal: { demand: "at least", limit: 32 },
      },
      {
        name: `${name}: times as fast as viem, its faster way`,
        values: ratios(bestViem, ours),
        goal: { demand: "at least", limit: 10 },
      },
      {
        name: `${name}: times the same bytes, not decoded`,
        values: ratios(ours, times["raw transport, not decoded"]),
        goal: { demand: "at most", limit: 1.3 },
      },
    ];
  });
}

async function readWithOurs({
  connection,
  trading,
  count,
}: ToRead): Promise<Orders> {
  const orders: object[] = [];
  for await (const order of connection.vault
    .at({ trading })
    .orders({ firstId: 1, lastId: count })) {
    if (isFailedOrder(order)) {
      throw order.error;
    }
    orders.push(order);
  }
  return orders;
}

/** The requests that ours makes. */
async function findRequests(
  toRead: ToRead,
): Promise<readonly RequestArguments[]> {
  const { provider } = toRead.connection;
  const request = provider.request.bind(provider);
  const found: RequestArguments[] = [];
  provider.request = async (asked) => {
    found.push(asked);
    const answer: unknown = await request(asked);
    return answer;
  };
  await readWithOurs(toRead);
  provider.request = request;
  return found;
}

async function readWithHardhatEthers({
  connection,
  trading,
  count,
}: ToRead): Promise<Orders> {
  const contract = Trading__factory.connect(
    trading,
    connection.ethers.provider,
  );
  return await pLimit(IN_FLIGHT).map(
    firstIds(count, 1),
    async (id) => await contract.getOrderInfo(id),
  );
}

function viemClient(
  { url }: Pick<ToRead, "url">,
  batch: false | { readonly batchSize: number },
): PublicClient {
  return createPublicClient({
    transport: http(url, { batch, retryCount: 0, timeout: 600_000 }),
  });
}

function getOrderInfo(trading: `0x${string}`, id: number) {
  return {
    address: trading,
    abi: tradingAbi,
    functionName: "getOrderInfo",
    args: [BigInt(id)],
  } as const;
}

async function readWithViem(world: ToRead): Promise<Orders> {
  const client = viemClient(world, { batchSize: VIEM_BATCH });
  return await pLimit(VIEM_BATCH).map(
    firstIds(world.count, 1),
    async (id) => await client.readContract(getOrderInfo(world.trading, id)),
  );
}

async function readWithMulticall(world: ToRead): Promise<Orders> {
  // Multicalls in a batch would be more than a node takes in one request.
  return await viemClient(world, false).multicall({
    multicallAddress: world.multicall,
    allowFailure: false,
    batchSize: MULTICALL_BYTES,
    contracts: firstIds(world.count, 1).map((id) =>
      getOrderInfo(world.trading, id),
    ),
  });
}

function firstIds(count: number, chunk: number): number[] {
  return Array.from(
    { length: Math.ceil(count / chunk) },
    (_, index) => 1 + index * chunk,
  );
}

/**
 * The values in the ABI's order. All libraries spell them alike, but for
 * numbers and bigints.
 */
function digest(orders: Orders): string {
  const hash = createHash("sha256");
  for (const order of orders) {
    const values: readonly unknown[] = Array.isArray(order)
      ? order
      : Object.entries(order)
          .filter(([name]) => name !== "orderID")
          .map(([, value]: [string, unknown]) => value);
    hash.update(values.map(String).join());
  }
  return `${orders.length} ${hash.digest("hex")}`;
}

/** viem carries the contract's code, but does not export it. */
function multicall3Bytecode(): string {
  const { resolve } = createRequire(import.meta.url);
  const source = readFileSync(
    path.join(path.dirname(resolve("viem")), "constants/contracts.js"),
    "utf8",
  );
  const bytecode = /multicall3Bytecode = '(0x[0-9a-f]+)'/u.exec(source)?.[1];
  if (bytecode === undefined) {
    throw new Error("viem has no multicall3Bytecode");
  }
  return bytecode;
}

function toHex(address: string): `0x${string}` {
  return `0x${address.slice(2)}`;
}
