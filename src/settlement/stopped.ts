import { vaultError } from "../errors.js";
import type { VaultErrorArguments, VaultErrorCode } from "../errors.js";
import type { VaultRound } from "../protocol/index.js";
import { describeTime } from "../protocol/time.js";
import type { SettlementStatus } from "./types.js";

/**
 * Ends a settlement before anything was sent. An expected outcome, and so a
 * status with a reason for the caller, not an error.
 */
export class SettlementStopped extends Error {
  public override readonly name = "SettlementStopped";

  constructor(
    public readonly status: Exclude<SettlementStatus, "settled">,
    public readonly reason: string,
    /** The error behind it, if there is one. */
    public readonly code?: VaultErrorCode,
    /** A transaction that was sent before. */
    public readonly hash?: string,
  ) {
    super(reason);
  }
}

/** A refusal for one of the reasons in the table of errors. */
export function refusal<Code extends VaultErrorCode>(
  code: Code,
  args: VaultErrorArguments<Code>,
  hash?: string,
): SettlementStopped {
  const { message } = vaultError(code, args);
  return new SettlementStopped("refused", message, code, hash);
}

/** For `ifExpired`. */
export function notEnded({ endTime }: VaultRound): SettlementStopped {
  return new SettlementStopped(
    "nothing-to-do",
    `The round has not ended yet: it ends at ${describeTime(endTime)}.`,
  );
}

export function settledMeanwhile(): SettlementStopped {
  return new SettlementStopped(
    "nothing-to-do",
    "The round was settled by somebody else meanwhile.",
  );
}
