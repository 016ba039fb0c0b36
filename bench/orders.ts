import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

import { JsonRpcProvider, ZeroAddress } from "ethers";
import type { NetworkConnection } from "hardhat/types/network";
import pMap from "p-map";
import { createPublicClient, custom, http } from "viem";
import type { PublicClient } from "viem";

import { tradingAbi } from "../src/abi/index.js";
import { Trading__factory } from "../src/bindings/factories/Trading__factory.js";
import type { Trading } from "../src/bindings/index.js";
import { VaultLensArtifact } from "../src/client/lens/artifact.js";
import { encodeReadOrders, parseLensAnswer } from "../src/client/lens/lens.js";
import { isFailedOrder } from "../src/client/index.js";
import { startAnvil } from "../test/helpers/anvil.js";
import { createTestHre, httpNetwork } from "../test/helpers/hre.js";
import { deployGeneratedOrders } from "../test/helpers/trading.js";
import { deployCode } from "../test/helpers/transactions.js";
import {
  collectGarbage,
  median,
  medianRatio,
  round,
  runInTurns,
  target,
} from "./measure.js";
import type { Contestant, Extent, Section } from "./measure.js";

/** Where orders are read from: a connection and two contracts on it. */
interface World {
  readonly connection: NetworkConnection;
  readonly trading: `0x${string}`;
  readonly multicall: `0x${string}`;
  /** Of an HTTP network. */
  readonly url: string | undefined;
}

/**
 * Orders in the order of their ids, each as the library makes it; of the raw
 * transport, its answers.
 */
type Orders = ReadonlyArray<object | string>;

type Reader = (world: World, count: number) => Promise<Orders>;

const OURS = "hardhat-vault";
const HARDHAT_ETHERS = "hardhat-ethers, one call each";
const RAW = "raw transport, not decoded";
const HTTP_CHUNK = 1_000;
const IN_PROCESS_CHUNK = 50;
const CONCURRENCY = 4;
/** Single calls under way at a time. */
const IN_FLIGHT = 100;
const VIEM_BATCH = 1_000;
/** Call data of one multicall with which it was fastest; a call has 36 bytes. */
const MULTICALL_BYTES = { http: 32_768, inProcess: 4_096 } as const;

/** Reads orders over HTTP, from anvil. */
export async function benchOrdersOverHttp(extent: Extent): Promise<Section> {
  const anvil = await startAnvil();
  try {
    const hre = await createTestHre({
      networks: { anvil: httpNetwork(anvil.url) },
    });
    return await benchWorld(
      "Orders over HTTP, from anvil on the same machine",
      await createWorld(await hre.network.create("anvil"), anvil.url),
      extent,
    );
  } finally {
    await anvil.stop();
  }
}

/** Reads orders in process, from Hardhat's own network. */
export async function benchOrdersInProcess(extent: Extent): Promise<Section> {
  const hre = await createTestHre();
  return await benchWorld(
    "Orders in process, from Hardhat's own network",
    await createWorld(await hre.network.create()),
    extent,
  );
}

async function createWorld(
  connection: NetworkConnection,
  url?: string,
): Promise<World> {
  const { provider } = connection;
  const trading = await deployGeneratedOrders(provider, 1n, 1_000_000n);
  const multicall = await deployCode(provider, multicall3Bytecode());
  return {
    connection,
    trading: toHex(trading),
    multicall: toHex(multicall),
    url,
  };
}

async function benchWorld(
  title: string,
  world: World,
  { rounds, sizes }: Extent,
): Promise<Section> {
  const readers: Record<string, Reader> = {
    [OURS]: readWithOurs,
    [RAW]: readRaw,
    [HARDHAT_ETHERS]: readWithHardhatEthers,
    ...(world.url === undefined
      ? { "viem, one call each": readWithViem }
      : {
          "ethers JsonRpcProvider, its batching": readWithEthers,
          "viem http, batches of 1,000": readWithViem,
        }),
    "viem multicall, best batch": readWithMulticall,
  };
  const names = Object.keys(readers);

  const rows: Array<Record<string, string | number>> = names.map((name) => ({
    contestant: name,
  }));
  const ratios: Array<{
    size: number;
    times: Record<string, readonly number[]>;
  }> = [];
  for (const size of sizes) {
    const digests = new Map<string, string>();
    const contestants = names.map((name): Contestant<Orders> => {
      const reader = readers[name];
      if (reader === undefined) {
        throw new Error(`no reader ${name}`);
      }
      return { name, run: async () => await reader(world, size) };
    });
    const times = await runInTurns(
      contestants,
      rounds,
      (name, orders) => {
        digests.set(name, digest(orders));
      },
      collectGarbage,
    );
    if (new Set(digests.values()).size !== 1) {
      throw new Error(`not the same orders: ${JSON.stringify([...digests])}`);
    }
    ratios.push({ size, times });
    for (const row of rows) {
      const time = median(times[row["contestant"] ?? ""] ?? []);
      row[`${size.toLocaleString("en")} orders, ms`] = round(time);
      row[`${size.toLocaleString("en")}, orders/s`] = round(
        (size / time) * 1_000,
      );
    }
  }
  return {
    title,
    rows,
    targets: ratios.flatMap(targetsOf),
  };

  function targetsOf({
    size,
    times,
  }: (typeof ratios)[number]): Section["targets"] {
    const ours = times[OURS] ?? [];
    const ratioTo = (name: string): number =>
      medianRatio(times[name] ?? [], ours);
    // The targets are for ten thousand; a smoke run has fewer.
    if (size !== (sizes.includes(10_000) ? 10_000 : sizes[0])) {
      return [];
    }
    if (world.url === undefined) {
      return [
        target(
          `in process, times hardhat-ethers (${size} orders)`,
          ratioTo(HARDHAT_ETHERS),
          "at least",
          3,
          "x",
        ),
      ];
    }
    const viems = names.filter((name) => name.startsWith("viem"));
    return [
      target(
        `over HTTP, times hardhat-ethers (${size} orders)`,
        ratioTo(HARDHAT_ETHERS),
        "at least",
        30,
        "x",
      ),
      target(
        `over HTTP, times the best viem (${size} orders)`,
        Math.min(...viems.map(ratioTo)),
        "at least",
        7,
        "x",
      ),
      target(
        `over HTTP, time of the raw transport (${size} orders)`,
        medianRatio(ours, times[RAW] ?? []),
        "at most",
        1.5,
        "x",
      ),
    ];
  }
}

async function readWithOurs(
  { connection, trading }: World,
  count: number,
): Promise<Orders> {
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

/** The same bytes, over the same connection, and nothing done with them. */
async function readRaw(
  { connection, trading, url }: World,
  count: number,
): Promise<Orders> {
  const chunk = url === undefined ? IN_PROCESS_CHUNK : HTTP_CHUNK;
  return await pMap(
    firstIds(count, chunk),
    async (first) => {
      const size = Math.min(chunk, count - first + 1);
      const answer: unknown = await connection.provider.request({
        method: "eth_call",
        params: [
          {
            from: ZeroAddress,
            to: ZeroAddress,
            data: encodeReadOrders(trading, BigInt(first), size),
          },
          "latest",
          { [ZeroAddress]: { code: VaultLensArtifact.deployedBytecode } },
        ],
      });
      return String(answer);
    },
    { concurrency: CONCURRENCY },
  );
}

async function readWithHardhatEthers(
  { connection, trading }: World,
  count: number,
): Promise<Orders> {
  return await readOneByOne(
    Trading__factory.connect(trading, connection.ethers.provider),
    count,
    IN_FLIGHT,
  );
}

async function readWithEthers(
  { trading, url }: World,
  count: number,
): Promise<Orders> {
  const provider = new JsonRpcProvider(url, undefined, { staticNetwork: true });
  try {
    return await readOneByOne(
      Trading__factory.connect(trading, provider),
      count,
      VIEM_BATCH,
    );
  } finally {
    provider.destroy();
  }
}

async function readOneByOne(
  contract: Trading,
  count: number,
  concurrency: number,
): Promise<Orders> {
  return await pMap(
    firstIds(count, 1),
    async (id) => await contract.getOrderInfo(id),
    { concurrency },
  );
}

function viemClient(
  { connection, url }: World,
  batch: false | { readonly batchSize: number },
): PublicClient {
  return createPublicClient({
    transport:
      url === undefined
        ? custom(connection.provider)
        : http(url, {
            batch,
            retryCount: 0,
            timeout: 600_000,
          }),
  });
}

async function readWithViem(world: World, count: number): Promise<Orders> {
  const client = viemClient(world, { batchSize: VIEM_BATCH });
  return await pMap(
    firstIds(count, 1),
    async (id) =>
      await client.readContract({
        address: world.trading,
        abi: tradingAbi,
        functionName: "getOrderInfo",
        args: [BigInt(id)],
      }),
    { concurrency: VIEM_BATCH },
  );
}

async function readWithMulticall(world: World, count: number): Promise<Orders> {
  // Multicalls in a batch would be more than a node takes in one request.
  return await viemClient(world, false).multicall({
    multicallAddress: world.multicall,
    allowFailure: false,
    batchSize: MULTICALL_BYTES[world.url === undefined ? "inProcess" : "http"],
    contracts: firstIds(count, 1).map(
      (id) =>
        ({
          address: world.trading,
          abi: tradingAbi,
          functionName: "getOrderInfo",
          args: [BigInt(id)],
        }) as const,
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
  const decoded = orders.flatMap((order) =>
    typeof order === "string" ? decodeRaw(order) : [order],
  );
  for (const order of decoded) {
    const values: readonly unknown[] = Array.isArray(order)
      ? order
      : Object.entries(order)
          .filter(([name]) => name !== "orderID")
          .map(([, value]: [string, unknown]) => value);
    hash.update(values.map(String).join());
  }
  return `${decoded.length} ${hash.digest("hex")}`;
}

/** The orders in an answer of the lens, decoded by ethers. */
function decodeRaw(answer: string): object[] {
  const lens = parseLensAnswer(Buffer.from(answer.slice(2), "hex"));
  if (lens === undefined) {
    throw new Error("not an answer of the lens");
  }
  const contract = Trading__factory.createInterface();
  return lens.entries.map(({ start, end }) => {
    const order: unknown[] = contract
      .decodeFunctionResult("getOrderInfo", lens.bytes.subarray(start, end))
      .toArray();
    return order;
  });
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
