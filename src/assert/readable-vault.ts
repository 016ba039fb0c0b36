import type { VaultContracts } from "../client/vault-client.js";
import type { ReadOptions } from "../client/reader.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import type { VaultRound } from "../protocol/index.js";

/**
 * What the matchers need of a vault. `connection.vault`, `hre.vault`, the
 * `vault` of mocks and a `VaultClient` all have it.
 */
export interface ReadableVault {
  getLatestRoundInfo(options?: ReadOptions): Promise<VaultRound>;
  snapshot(options?: ReadOptions): Promise<VaultSnapshot>;
  /** Its provider also knows the transactions. */
  readonly contracts: VaultContracts | Promise<VaultContracts>;
}

export function isReadableVault(value: unknown): value is ReadableVault {
  return (
    typeof value === "object" &&
    value !== null &&
    "getLatestRoundInfo" in value &&
    "snapshot" in value &&
    "contracts" in value
  );
}
