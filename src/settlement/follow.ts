import { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { noRetries } from "../rpc/retry.js";
import type { Simulation } from "../simulation/types.js";
import { carryOut } from "./carry-out.js";
import { TimeLimit } from "./freshness.js";
import { reasonOf } from "../files/project-file.js";
import type { Journal, JournalEntry } from "./journal.js";
import { appendToLog } from "./log.js";
import { lastLook } from "./last-look.js";
import type { CheckRound } from "./last-look.js";
import type { Outcome } from "./outcome.js";
import { signReplacement } from "./replace.js";
import type { Replacer, RequestedReplacement } from "./replace.js";
import { report } from "./report.js";
import { toSettlement, withGuard } from "./result.js";
import type { SettlementResult } from "./result.js";
import type { Plan } from "./sighting.js";
import type { Waiting } from "./waiting.js";

/** Minimum time to read the outcome, even if the timeout is over. */
const LEAST_OUTCOME_MS = 10_000;
/** As in Hardhat Ignition. */
const DEFAULT_FEE_BUMPS = 4;

/** Settlement to follow, with its journal and the means to replace it. */
export interface Followed {
  readonly journal: Journal;
  readonly entry: JournalEntry;
  readonly start: Plan["start"];
  readonly replacer: Replacer;
  readonly request?: RequestedReplacement | undefined;
  readonly previewed: Simulation | null;
  /** Default: one that accepts no old block. */
  readonly checkRound?: CheckRound;
  /** Time of the check after which it is sent, Unix milliseconds. */
  readonly checkedAt?: number;
}

/**
 * Sends or resumes a settlement, and follows it to its outcome. Never throws: after a
 * failure the transaction may have left, so the outcome has its hash.
 */
export async function follow(
  vault: VaultHost,
  followed: Followed,
  waiting: Waiting,
): Promise<SettlementResult> {
  const { journal, entry, start, replacer, request, previewed } = followed;
  const limit = new TimeLimit(waiting.timeoutMs);
  const { round, sentAfterBlock } = entry;
  const { confirmations, ifExpired, emit } = waiting;
  const { timeBeforeBumpingFees, maxFeeBumps = DEFAULT_FEE_BUMPS } =
    vault.settlementSettings;
  const {
    checkRound = lastLook(vault, journal, round, {
      ifExpired,
      acceptsOldHead: false,
    }),
    checkedAt,
  } = followed;
  const { outcome, transactions, hashes } = await carryOut(
    {
      network: vault.networkName,
      transactions: entry.transactions,
      start,
      request,
      confirmations,
      timeBeforeBumpingFees,
      maxFeeBumps,
    },
    {
      ...waiting,
      limit,
      rpc: vault.rpc.withRetries(noRetries),
      sentAfterBlock,
      checkRound,
      checkedAt,
      sign: async (newest, kind) =>
        await signReplacement(replacer, newest, kind),
      record: async (all) => {
        const written = await journal.update({
          ...entry,
          transactions: [...all],
        });
        return written?.transactions;
      },
      emit,
    },
  );
  const guard = entry.guard ?? null;
  try {
    const timeout = Math.max(limit.remaining, LEAST_OUTCOME_MS);
    const reader = vault.withOptions({ timeout });
    const reported =
      outcome.kind === "mined" && outcome.transaction.kind === "cancellation"
        ? cancelled(outcome, round, previewed)
        : await report(
            reader,
            {
              round,
              sentAfterBlock,
              guard: entry.guard,
              transaction:
                outcome.kind === "mined"
                  ? outcome.transaction
                  : entry.transactions[0],
            },
            outcome,
            previewed,
            confirmations,
          );
    const result = withGuard(
      withHashes(reported, outcome.kind === "stopped" ? [] : hashes),
      guard,
    );
    if (result.isFinal) {
      const ended: JournalEntry = { ...entry, transactions: [...transactions] };
      await finish(vault, journal, ended, result, outcome, waiting);
    }
    return result;
  } catch (error) {
    const reason = describeThrown(error);
    const hash = transactions.at(-1)?.hash;
    const why = { status: "unconfirmed", reason, hash } as const;
    const settlement = toSettlement(why, round, previewed);
    const { chainId } = entry.transactions[0];
    const result = { settlement, isFinal: false, chainId };
    return withGuard(withHashes(result, hashes), guard);
  }
}

function withHashes(
  result: SettlementResult,
  known: readonly string[],
): SettlementResult {
  const { settlement } = result;
  const { hash } = settlement;
  const hashes = [...new Set(hash === null ? known : [...known, hash])];
  return { ...result, settlement: { ...settlement, hashes } };
}

function cancelled(
  {
    hash,
    receipt: { blockNumber, gasUsed },
    transaction: { from, nonce, chainId },
  }: Extract<Outcome, { kind: "mined" }>,
  round: JournalEntry["round"],
  previewed: Simulation | null,
): SettlementResult {
  const settlement = toSettlement(
    {
      status: "cancelled",
      reason: `The cancellation of ${from} used nonce ${nonce} in block ${blockNumber}, so the settlement can never be mined.`,
      hash,
      blockNumber,
      gasUsed,
    },
    round,
    previewed,
  );
  return { settlement, isFinal: true, chainId };
}

/** Writes the outcome to the log and to the journal, which it releases. */
async function finish(
  vault: VaultHost,
  journal: Journal,
  entry: JournalEntry,
  { settlement, chainId, block }: SettlementResult,
  outcome: Outcome,
  { emit }: Waiting,
): Promise<void> {
  const warn = (message: string): void => {
    emit({ type: "trouble", message });
  };
  if (journal.isKept && outcome.kind !== "stopped") {
    // First: what a process that is killed in between has done, `resume` finishes.
    const ended = { chainId, vault: journal.vault, block, settlement };
    await appendToLog(vault, ended).catch((error: unknown) => {
      warn(`the settlement was not added to the log: ${reasonOf(error)}`);
    });
  }
  const { status, blockNumber, hash } = settlement;
  const mined =
    blockNumber === null || hash === null
      ? undefined
      : { status, blockNumber, hash };
  const mayStillArrive =
    outcome.kind === "dropped" && outcome.mayStillArrive === true
      ? true
      : undefined;
  try {
    await journal.update({ ...entry, mined, mayStillArrive }, true);
  } catch (error) {
    warn(describeThrown(error));
  }
}

function describeThrown(error: unknown): string {
  return VaultError.isVaultError(error) ? error.message : String(error);
}
