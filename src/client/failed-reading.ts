import { VaultError } from "../errors.js";

/** What stands in the place of a reading that failed. */
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

/** True if this place of a snapshot holds a failure instead of a value. */
export function isFailedReading(reading: unknown): reading is FailedReading {
  return (
    typeof reading === "object" &&
    reading !== null &&
    "error" in reading &&
    VaultError.isVaultError(reading.error)
  );
}
