import { VaultError } from "../errors.js";
import { asRecord } from "../json.js";
import { isReorganised } from "../rpc/blocks.js";

/** The error in place of a reading that failed. */
export interface FailedReading {
  readonly error: VaultError;
}

/**
 * True if this key of a snapshot holds an error instead of a value.
 *
 * @example
 * ```ts
 * const { volume } = await vault.snapshot();
 * isFailedReading(volume) ? volume.error.code : volume;
 * // 420000000000000000000n
 * ```
 */
export function isFailedReading(reading: unknown): reading is FailedReading {
  return VaultError.isVaultError(asRecord(reading)["error"]);
}

/**
 * Wraps the error of a reading; throws a bug of this package, and VAULT_REORGED, after
 * which all readings are of another branch.
 */
export function failedReading(error: unknown): FailedReading {
  if (
    !VaultError.isVaultError(error) ||
    error.kind === "bug" ||
    isReorganised(error)
  ) {
    throw error;
  }
  return { error };
}

export function isNotConfigured({ code }: Pick<VaultError, "code">): boolean {
  return code === "VAULT_CONTRACT_NOT_CONFIGURED";
}
