import { set, standaloneQueries } from "../protocol/index.js";
import type {
  OperationArguments,
  ReadOperationName,
  Query,
  StandaloneReadings,
} from "../protocol/index.js";
import { decodeOutputs, encodeCall } from "./codec.js";
import type { BlockInfo } from "../rpc/blocks.js";
import { DEFAULT_TIMEOUT_MS } from "../rpc/rpc-client.js";
import { failedReading } from "./failed-reading.js";
import type { FailedReading } from "./failed-reading.js";
import { tryLens } from "./lens/lens.js";
import type { ReadOptions, VaultReader } from "./reader.js";

/**
 * Every reading without arguments, at one block. Values are unscaled. A reading that
 * failed is a {@link FailedReading} in its place.
 */
export interface VaultSnapshot extends StandaloneReadings<FailedReading> {
  readonly chainId: number;
  readonly block: BlockInfo;
}

/** @see VaultClient.snapshot */
export async function takeSnapshot(
  vault: VaultReader,
  options: ReadOptions,
): Promise<VaultSnapshot> {
  const client = vault.withOptions(options, DEFAULT_TIMEOUT_MS);
  const context = client.readContext({ blockTag: options.blockTag });
  const { blockTag } = options;
  const prepared = await Promise.all(
    standaloneQueries.map(async (query) => {
      try {
        const call = encodeCall(query.operation, query.args);
        const target = await client.addressOf(call.role, query.operation);
        return { ...query, call, target };
      } catch (error) {
        return { ...query, ...failedReading(error) };
      }
    }),
  );
  const located = prepared.filter((query) => "call" in query);
  const lens = await tryLens(
    context,
    located.map(({ call, target }) => ({
      target: target.address,
      data: call.data,
    })),
  );
  const [chainId, block] =
    lens === undefined
      ? await Promise.all([client.chainId(), client.block(blockTag)])
      : [lens.chainId, lens.block];
  const pinned = {
    // A node does not accept the number of a pending block.
    blockTag: blockTag === "pending" ? blockTag : block.number,
  };
  const values = await Promise.all(
    prepared.map(async (query) => {
      if ("error" in query) {
        return { error: query.error };
      }
      const entry = lens?.entries[located.indexOf(query)];
      if (lens !== undefined && entry?.status === "returned") {
        const bytes = lens.bytes.subarray(entry.start, entry.end);
        const decoded = decodeOutputs(query.operation, bytes);
        if ("value" in decoded) {
          return decoded.value;
        }
      }
      // The contract may refuse callers with code, such as the lens: read without it.
      return await readOne(client, query, pinned);
    }),
  );
  const readings: Record<string, unknown> = {};
  for (const [index, { path }] of prepared.entries()) {
    set(readings, path, values[index]);
  }
  const snapshot: unknown = { chainId, block, ...readings };
  // the loop above fills exactly the places that the type names
  return snapshot as VaultSnapshot;
}

/** @returns The value, or a {@link FailedReading}. */
export async function readOne(
  client: VaultReader,
  { operation, args }: Query,
  options: ReadOptions,
): Promise<unknown> {
  try {
    return await client.read(
      operation,
      // the table that made this reading also makes the argument types
      args as OperationArguments<ReadOperationName>,
      options,
    );
  } catch (error) {
    return failedReading(error);
  }
}
