import { set, standaloneQueries } from "../protocol/index.js";
import type { StandaloneReadings } from "../protocol/index.js";
import type { BlockInfo, PinnedBlock } from "../rpc/blocks.js";
import { DEFAULT_TIMEOUT_MS } from "../rpc/rpc-client.js";
import { encodeCall } from "./codec.js";
import { option } from "./inputs.js";
import type { OptionsOf } from "./inputs.js";
import {
  failedReading,
  locate,
  readAt,
  readHeader,
  readOptions,
} from "./read-at-block.js";
import type { FailedReading, Readable } from "./read-at-block.js";

/**
 * Every reading without arguments, at one block. Values are unscaled. A reading that
 * failed is a {@link FailedReading} in its place.
 */
export interface VaultSnapshot extends StandaloneReadings<FailedReading> {
  readonly chainId: number;
  readonly block: BlockInfo;
}

/** A snapshot in which no reading failed. */
export interface StrictVaultSnapshot extends StandaloneReadings {
  readonly chainId: number;
  readonly block: BlockInfo;
}

export const snapshotOptions = {
  ...readOptions,
  /** Throws the error of a reading that failed. Default: false. */
  strict: option<boolean>(),
};

/** Options of {@link VaultClient.snapshot}. */
export interface SnapshotOptions extends OptionsOf<typeof snapshotOptions> {}

/** Those of every snapshot, encoded once. */
const standaloneCalls = standaloneQueries.map(({ operation, args }) =>
  encodeCall(operation, args),
);

/** Takes a snapshot, and returns the block with which a series of reads may go on. */
export async function takePinnedSnapshot(
  vault: Readable,
  options: SnapshotOptions,
): Promise<{ readonly snapshot: VaultSnapshot; readonly pin: PinnedBlock }> {
  const orThrow = (error: unknown): FailedReading => {
    const failed = failedReading(error);
    if (options.strict === true) {
      throw error;
    }
    return failed;
  };
  const context = await vault.openContext(options, DEFAULT_TIMEOUT_MS);
  const found = await Promise.all(
    standaloneCalls.map(
      async (call) => await locate(context, call).catch(orThrow),
    ),
  );
  const located = found.filter((query) => "data" in query);
  const { block, pin } = await readHeader(context);
  const { values, chainId } = await readAt(context, pin, located, [], orThrow);
  const left = values.values();
  const readings: Record<string, unknown> = {};
  for (const [index, { path }] of standaloneQueries.entries()) {
    const query = found[index];
    const isRead = query !== undefined && "data" in query;
    set(readings, path, isRead ? left.next().value : query);
  }
  const snapshot: unknown = { chainId, block, ...readings };
  // the loop above fills exactly the places that the type names
  return { snapshot: snapshot as VaultSnapshot, pin };
}
