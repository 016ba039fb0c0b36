import { z } from "zod";

import { parseGuarded } from "../guard/round-guard.js";
import {
  recordedAddress,
  recordedCount,
  recordedHash,
  recordedInteger,
} from "../files/recorded-values.js";
import type { Schema } from "../files/recorded-values.js";
import type { VaultRound } from "../protocol/index.js";
import { isSameRound } from "../protocol/round.js";
import { settlementCall } from "../guard/call.js";
import { isSignedAs, sentSchema } from "./transaction.js";
import type { SentTransaction } from "./transaction.js";

/**
 * Outcome of a settlement:
 *
 * - `settled`: the transaction was mined, and the intended round is settled.
 * - `not-settled`: the transaction was mined without a revert, but did not settle the
 *   intended round. This is final: the next settlement may begin.
 * - `nothing-to-do`: nothing was sent: the round is settled already or has not ended, or
 *   the settlement to resume is finished. With a `hash` and a `blockNumber`: the
 *   transaction was mined after somebody else had settled the round, and settled nothing.
 * - `refused`: nothing was sent, or the node did not accept the transaction.
 * - `reverted`: the contract refused it, in the preflight (`hash` is null) or in a block.
 * - `unconfirmed`: the transaction was sent, but not seen mined in time, or replaced by
 *   another one, or its effect could not be read.
 * - `cancelled`: the account's own cancellation used the nonce, so the settlement can
 *   never be mined.
 */
export type SettlementStatus = (typeof SETTLEMENT_STATUSES)[number];

export const SETTLEMENT_STATUSES = [
  "settled",
  "not-settled",
  "nothing-to-do",
  "refused",
  "reverted",
  "unconfirmed",
  "cancelled",
] as const;

const recordedRound = z
  .object({
    strikePrice: recordedInteger,
    APY: recordedInteger,
    maxVolume: recordedInteger,
    filledVolume: recordedInteger,
    minDeposit: recordedInteger,
    startTime: recordedInteger,
    endTime: recordedInteger,
    settledPrice: recordedInteger,
    settledAmount: recordedInteger,
    settled: z.boolean(),
  } satisfies Readonly<Record<keyof VaultRound, Schema>>)
  .strict();

/** Never one journal for both: a fork has the chain id and the genesis of its chain. */
export type ChainKind = "live" | "development";

/** Form of a journal's file. */
export const journalSchema = z
  .object({
    version: z.literal(1),
    chainKind: z.enum(["live", "development"]),
    chainId: recordedCount,
    genesisHash: z.string(),
    vault: recordedAddress,
    /** Outcome of a finished settlement, with the transaction that was mined. */
    mined: z
      .object({
        status: z.enum(SETTLEMENT_STATUSES),
        blockNumber: recordedCount,
        hash: recordedHash,
      })
      .strict()
      .optional(),
    /** True once another process may have sent the transactions. */
    resumed: z.literal(true).optional(),
    /** Time at which the settlement began, Unix seconds of this machine's clock. */
    since: recordedCount.optional(),
    /** Guard that the transaction goes to; absent if it goes to the vault. */
    guard: recordedAddress.optional(),
    /** Latest block before it was sent. */
    sentAfterBlock: recordedCount,
    round: recordedRound,
    /** Oldest first: the settlement, then what replaced it. */
    transactions: z.tuple([sentSchema]).rest(sentSchema),
  })
  .strict();

export type JournalFile = Readonly<z.infer<typeof journalSchema>>;

/** Vault that a journal belongs to. */
export type JournalSubject = Pick<
  JournalFile,
  "chainKind" | "chainId" | "genesisHash" | "vault"
>;

/** Record of a settlement, written before it is sent. */
export type JournalEntry = Omit<JournalFile, "version" | keyof JournalSubject>;

/** A changed file must not make the package send another transaction. */
export function problemOf(
  found: JournalFile,
  { chainKind, chainId, vault }: JournalSubject,
): string | undefined {
  const { transactions } = found;
  const [{ from, nonce }] = transactions;
  if (
    found.chainKind !== chainKind ||
    found.chainId !== chainId ||
    transactions.some((one) => one.chainId !== chainId) ||
    !isSameAddress(found.vault, vault)
  ) {
    return `it is of vault ${found.vault} on ${found.chainKind} chain ${found.chainId}, not of vault ${vault} on ${chainKind} chain ${chainId}`;
  }
  for (const transaction of transactions) {
    const { raw } = transaction;
    const problem =
      transaction.nonce === nonce && transaction.from === from
        ? problemOfCall(transaction, found)
        : "its transactions have not the same account and nonce";
    if (problem !== undefined) {
      return problem;
    }
    if (raw !== undefined && !isSignedAs(raw, transaction)) {
      return "its signed bytes are not its transaction";
    }
  }
  return undefined;
}

function problemOfCall(
  { kind, from, to, data }: SentTransaction,
  { vault, guard, round }: JournalFile,
): string | undefined {
  if (kind === "cancellation") {
    return isSameAddress(to, from) && data === "0x"
      ? undefined
      : "its cancellation is not a transfer to the account itself";
  }
  if (!isSameAddress(to, guard ?? vault)) {
    return `its transaction goes to ${to}, not to the ${guard === undefined ? `vault ${vault}` : `guard ${guard}`}`;
  }
  if (guard === undefined) {
    return data === settlementCall({ from, vault }).data
      ? undefined
      : "its transaction does not call settleAll";
  }
  const call = parseGuarded(guard, data);
  return call !== undefined &&
    isSameAddress(call.vault, vault) &&
    isSameRound({ ...round, ...call.guard.round }, round)
    ? undefined
    : "its transaction does not settle its round through its guard";
}

export function isSameAddress(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
