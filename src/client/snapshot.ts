import { VaultError } from "../errors.js";
import { placeReading, standaloneReadings } from "../protocol/index.js";
import type {
  OperationArguments,
  ReadOperationName,
  StandaloneReadings,
} from "../protocol/index.js";
import type { BlockInfo } from "./block.js";
import type { ReadOptions, VaultClient } from "./vault-client.js";

/** What stands in the place of a reading that failed. */
export interface FailedReading {
  readonly error: VaultError;
}

/**
 * Every reading that needs no argument, at one block. Values are unscaled; see
 * the operation of each key for its scale.
 */
export type VaultSnapshot = {
  readonly chainId: number;
  readonly block: BlockInfo;
} & StandaloneReadings<FailedReading>;

/** True if this place of a snapshot holds a failure instead of a value. */
export function isFailedReading(reading: unknown): reading is FailedReading {
  return (
    typeof reading === "object" &&
    reading !== null &&
    "error" in reading &&
    VaultError.isVaultError(reading.error)
  );
}

/** @see VaultClient.snapshot */
export async function takeSnapshot(
  client: VaultClient,
  { from, blockTag }: ReadOptions,
): Promise<VaultSnapshot> {
  const [chainId, block] = await Promise.all([
    client.chainId(),
    client.block(blockTag),
  ]);
  const values = await Promise.all(
    standaloneReadings.map(async ({ operation, args }) => {
      try {
        return await client.read(
          operation,
          // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the table that made this reading also makes the argument types
          args as OperationArguments<ReadOperationName>,
          { from, blockTag: block.number },
        );
      } catch (error) {
        if (!VaultError.isVaultError(error) || error.kind === "bug") {
          throw error;
        }
        return { error };
      }
    }),
  );
  const places: Record<string, unknown> = {};
  standaloneReadings.forEach(({ path }, index) => {
    placeReading(places, path, values[index]);
  });
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the loop above fills exactly the places that the type names
  return { chainId, block, ...places } as VaultSnapshot;
}
