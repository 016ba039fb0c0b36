import { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { reasonOf } from "../files/project-file.js";
import { Deadline } from "../rpc/deadline.js";
import { noRetries } from "../rpc/retry.js";
import type { Simulation } from "../simulation/types.js";
import { carryOut } from "./carry-out.js";
import type { Outcome, Plan } from "./decide.js";
import type { Journal, JournalEntry } from "./journal.js";
import { appendToLog } from "./log.js";
import { LastLook } from "./last-look.js";
import { signReplacement } from "./replace.js";
import type { Replacer, RequestedReplacement } from "./replace.js";
import { outcome, report, withGuard } from "./report.js";
import type { Ended } from "./report.js";
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
  /** The look after which it is sent. Default: one that was not made yet. */
  readonly lastLook?: LastLook | undefined;
}

/**
 * Sends or resumes a settlement, and follows it to its outcome. Never throws: after a
 * failure the transaction may have left, so the outcome has its hash.
 */
export async function follow(
  vault: VaultHost,
  followed: Followed,
  waiting: Waiting,
): Promise<Ended> {
  const { journal, entry, start, replacer, request, previewed } = followed;
  const deadline = new Deadline(waiting.timeoutMs);
  const { round, sentAfterBlock } = entry;
  const { confirmations, ifExpired, emit } = waiting;
  const { timeBeforeBumpingFees, maxFeeBumps = DEFAULT_FEE_BUMPS } =
    vault.settlementSettings;
  const lastLook =
    followed.lastLook ??
    new LastLook(vault, round, { ifExpired, acceptsOldHead: false });
  let current = entry;
  const hashes = new Set(entry.transactions.map(({ hash }) => hash));
  try {
    const end = await carryOut(
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
        deadline,
        rpc: vault.rpc.withRetries(noRetries),
        sentAfterBlock,
        checkRound: async (block) => await lastLook.check(block),
        isCheckRecent: () => lastLook.isRecent,
        sign: async (newest, kind) =>
          await signReplacement(replacer, newest, kind),
        record: async (transactions) => {
          current = { ...current, transactions: [...transactions] };
          transactions.forEach(({ hash }) => hashes.add(hash));
          const written = await journal.update(current);
          current = written ?? current;
          return written?.transactions;
        },
        emit: (event) => {
          if (event.type === "hash") {
            hashes.add(event.hash);
          }
          emit(event);
        },
      },
    );
    const timeout = Math.max(deadline.remaining, LEAST_OUTCOME_MS);
    const reader = vault.withDeadline({ timeout });
    const reported =
      end.kind === "mined" && end.transaction.kind === "cancellation"
        ? cancelled(end, round, previewed)
        : await report(
            reader,
            {
              round,
              sentAfterBlock,
              guard: entry.guard,
              transaction:
                end.kind === "mined" ? end.transaction : entry.transactions[0],
            },
            end,
            previewed,
            confirmations,
          );
    const isSent = end.kind !== "dropped" || end.neverSent !== true;
    const ended = withGuard(
      withHashes(reported, isSent ? hashes : new Set()),
      entry.guard ?? null,
    );
    if (ended.isFinal) {
      await finish(vault, journal, current, ended, end, waiting);
    }
    return ended;
  } catch (error) {
    const reason = describeThrown(error);
    const hash = current.transactions.at(-1)?.hash;
    const why = { status: "unconfirmed", reason, hash } as const;
    const settlement = outcome(why, round, previewed);
    const { chainId } = entry.transactions[0];
    const ended = { settlement, isFinal: false, chainId };
    return withGuard(withHashes(ended, hashes), entry.guard ?? null);
  }
}

function withHashes(
  ended: Ended,
  known: ReadonlySet<string | undefined>,
): Ended {
  const { settlement } = ended;
  const all = new Set([...known, settlement.hash ?? undefined]);
  const hashes = [...all].filter((hash) => hash !== undefined);
  return { ...ended, settlement: { ...settlement, hashes } };
}

function cancelled(
  {
    hash,
    receipt: { blockNumber, gasUsed },
    transaction: { from, nonce, chainId },
  }: Extract<Outcome, { kind: "mined" }>,
  round: JournalEntry["round"],
  previewed: Simulation | null,
): Ended {
  const settlement = outcome(
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
  { settlement, chainId, block }: Ended,
  end: Outcome,
  { emit }: Waiting,
): Promise<void> {
  const warn = (message: string): void => {
    emit({ type: "trouble", message });
  };
  if (journal.isKept && (end.kind !== "dropped" || end.neverSent !== true)) {
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
    end.kind === "dropped" && end.mayStillArrive === true ? true : undefined;
  try {
    await journal.update({ ...entry, mined, mayStillArrive }, true);
  } catch (error) {
    warn(describeThrown(error));
  }
}

function describeThrown(error: unknown): string {
  return VaultError.isVaultError(error) ? error.message : String(error);
}
