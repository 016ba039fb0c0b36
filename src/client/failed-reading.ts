import { VaultError } from "../errors.js";
import { asRecord } from "../json.js";

/** A reading that failed, in its place. */
export interface FailedReading {
  readonly error: VaultError;
}

/** The failure of a reading; a defect of ours is none, and is thrown. */
export function failedReading(error: unknown): FailedReading {
  if (!VaultError.isVaultError(error) || error.kind === "bug") {
    throw error;
  }
  return { error };
}

export function isNotConfigured({ code }: Pick<VaultError, "code">): boolean {
  return code === "VAULT_CONTRACT_NOT_CONFIGURED";
}

/**
 * The failure to find a contract that nobody configured. An address that is
 * configured and wrong is no missing one, and is thrown.
 */
export function absentContract(error: unknown): FailedReading {
  const failed = failedReading(error);
  if (!isNotConfigured(failed.error)) {
    throw failed.error;
  }
  return failed;
}

/**
 * True if this place of a snapshot holds a failure instead of a value.
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
