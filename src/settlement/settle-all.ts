// A settlement from its first read to its end, in the order of its steps.

import { isHexString } from "ethers";

import { withAddress } from "../client/inputs.js";
import { isErrorCode, refusesSettlement, vaultError } from "../errors.js";
import { findRoute, settlementCall } from "../guard/call.js";
import type { VaultHost } from "../host.js";
import type { Address, Hex, VaultRound } from "../protocol/index.js";
import { describeRound } from "../protocol/round.js";
import type { BlockInfo } from "../rpc/blocks.js";
import { noRetries } from "../rpc/rpc-client.js";
import { Following, TimeLimit } from "../sending/follow.js";
import type { Job } from "../sending/follow.js";
import { Journal } from "../sending/journal.js";
import type { JournalEntry } from "../sending/journal.js";
import { refusedBy } from "../sending/outcome.js";
import { requireReplaceable, signReplacement } from "../sending/replace.js";
import { findFreeNonce, inTurn, resolveSigner } from "../sending/signer.js";
import type { Signer } from "../sending/signer.js";
import { describeProblem, newestOf, sign } from "../sending/transaction.js";
import type { Simulation } from "../simulation/types.js";
import {
  readCurrentRound,
  readRoundAt,
  requireSomethingToDo,
  roundChecker,
} from "./current-round.js";
import type { CurrentRound } from "./current-round.js";
import { describeEnd, stillOpen } from "./effect.js";
import { revertedBefore } from "./next-run.js";
import { defaultConfirmations, parseOptions } from "./options.js";
import type { ParsedOptions } from "./options.js";
import { agree, propose } from "./propose.js";
import type { Agreement } from "./propose.js";
import { Stop, toSettlement } from "./settlement-result.js";
import type { SettlementResult } from "./settlement-result.js";
import type { SettleAllOptions, Settlement } from "./types.js";

/** As in Hardhat Ignition. */
const DEFAULT_FEE_BUMPS = 4;
/** Milliseconds to read the outcome, even if the timeout is over. */
const LEAST_OUTCOME_MS = 10_000;

/** @see HardhatVault.settleAll */
export async function settleAll(
  vault: VaultHost,
  given: SettleAllOptions,
): Promise<SettlementResult> {
  const options = parseOptions(vault, await withAddress(given));
  if (options.resume === true) {
    return await resume(vault, options);
  }
  if (options.assertOnly === true) {
    return await requireSettled(vault, options);
  }
  const ended = await settle(vault, options);
  return options.resumeFirst === true &&
    ended.settlement.code === "VAULT_SETTLEMENT_UNFINISHED"
    ? await resume(vault, options)
    : ended;
}

async function settle(
  vault: VaultHost,
  options: ParsedOptions,
): Promise<SettlementResult> {
  const { rpc, connection } = vault;
  return await untilStopped(vault, async (progress) => {
    const { from } = options;
    const signer = await resolveSigner(rpc, connection.networkConfig, from);
    return await inTurn(
      rpc,
      signer.address,
      async () => await settleAs(signer, vault, progress, options),
    );
  });
}

/** The steps of a new settlement. Each may end it until the journal is written. */
async function settleAs(
  signer: Signer,
  vault: VaultHost,
  progress: Progress,
  options: ParsedOptions,
): Promise<SettlementResult> {
  const current = await readCurrentRound(vault);
  const { chainId, contract, block, round } = current;
  Object.assign(progress, { chainId, block, round });
  const journal = await Journal.of(vault, chainId, contract.address);
  await journal.refuseUnfinished();
  const route = await findRoute(vault, signer.address, "latest", {
    round,
    mustHaveEnded: options.ifExpired,
    mustSettle: options.partial !== true,
    tokens: options.tokens ?? [],
  });
  progress.guard = route.guard?.address;
  // Only now, so that a wrong key or guard fails every run of a keeper.
  await requireSomethingToDo(vault, current, options);
  await heedRevert(vault, journal, current, options);
  const proposal = await propose(vault, { signer, route, current }, options);
  progress.preview = proposal.preflight.preview;
  const agreed = await agree(vault, proposal, options);
  progress.preview = agreed.preflight.preview;
  await journal.requireSameChainKind(vault);
  // Another process may have begun one before the user confirmed.
  await journal.refuseUnfinished();
  const entry = await signEntry(vault, agreed, options);
  await journal.begin(entry);
  return await followToEnd(vault, journal, entry, options, progress.preview);
}

/** What a run knows by now, for the result of the step that ends it. */
interface Progress {
  chainId?: number;
  block?: BlockInfo;
  round?: VaultRound;
  guard?: Address | undefined;
  preview?: Simulation | null;
  /** Of a transaction that an earlier run sent. */
  hash?: Hex | undefined;
  /** True once the journal has a settlement of an earlier run, which is not finished. */
  isOpen?: boolean;
}

/**
 * Takes the steps of a settlement until one of them ends it, by a {@link Stop} or by an error
 * with `refuses` in errors.ts.
 */
async function untilStopped(
  vault: VaultHost,
  steps: (progress: Progress) => Promise<SettlementResult>,
): Promise<SettlementResult> {
  const progress: Progress = {};
  try {
    const result = await steps(progress);
    return { ...result, block: result.block ?? progress.block };
  } catch (error) {
    if (!(error instanceof Stop) && !refusesSettlement(error)) {
      throw error;
    }
    const why = error instanceof Stop ? error.why : refusedBy(error);
    // VAULT_SETTLEMENT_UNFINISHED names the transaction of another run.
    const { transaction } = why.error?.details ?? {};
    const hash = isHexString(transaction, 32) ? transaction : progress.hash;
    const { isOpen = false } = progress;
    const reason = isOpen ? stillOpen(why.reason) : why.reason;
    return {
      settlement: toSettlement({ ...why, reason, hash }, progress),
      isFinal: !isOpen,
      chainId: progress.chainId ?? (await vault.chainId()),
      block: progress.block,
      refusal: why.error,
    };
  }
}

/** Refuses if there is a round to settle; needs no account, and sends nothing. */
async function requireSettled(
  vault: VaultHost,
  options: ParsedOptions,
): Promise<SettlementResult> {
  return await untilStopped(vault, async (progress) => {
    const current = await readCurrentRound(vault);
    const { chainId, block, round } = current;
    Object.assign(progress, { chainId, block, round });
    await requireSomethingToDo(vault, current, options);
    const details = { round: describeRound(round) };
    throw vaultError("VAULT_SETTLEMENT_NEEDED", details);
  });
}

/**
 * A round whose settlement was mined and reverted may revert again, at the same price. A
 * person is told; unattended it is refused.
 */
async function heedRevert(
  vault: VaultHost,
  journal: Journal,
  { round }: CurrentRound,
  { confirm, retryReverted, emit }: ParsedOptions,
): Promise<void> {
  const error = await revertedBefore(vault, journal, round);
  if (error === undefined) {
    return;
  }
  if (confirm === undefined && retryReverted !== true) {
    throw error;
  }
  emit({ type: "trouble", message: error.shortMessage });
}

/** Signs the transaction, and makes what is written to the journal before it is sent. */
async function signEntry(
  { rpc }: VaultHost,
  { signer, route, current, gas, price }: Agreement,
  { limits, ifExpired }: ParsedOptions,
): Promise<JournalEntry> {
  const { chainId, block, round } = current;
  const nonce = await findFreeNonce(rpc, signer, block.number);
  // In process Hardhat fills in the fees, which are free, unless there is a limit.
  const fees =
    signer.kind === "in-process" && limits.maxFeePerGas === undefined
      ? undefined
      : price.fees;
  const call = { ...settlementCall(route), chainId, nonce, gas, fees };
  const transaction = await sign(rpc, signer, call);
  const preparedAt = Date.now();
  const guard = route.guard?.address;
  return {
    sentAfterBlock: block.number,
    round,
    transactions: [{ ...transaction, kind: "settlement", preparedAt }],
    ...(guard !== undefined && { guard }),
    ...(ifExpired && { ifExpired }),
  };
}

/** Follows the transaction of an earlier process, or replaces it. */
async function resume(
  vault: VaultHost,
  options: ParsedOptions,
): Promise<SettlementResult> {
  return await untilStopped(vault, async (progress) => {
    const { chainId, contract, block } = await readRoundAt(vault, "latest");
    Object.assign(progress, { chainId, block });
    const journal = await Journal.of(vault, chainId, contract.address);
    const unfinished = await journal.read();
    if (unfinished === undefined) {
      const last = await journal.readFinished();
      if (last === undefined) {
        throw vaultError("VAULT_NOTHING_TO_RESUME", {
          vault: contract.address,
          network: vault.networkName,
          file: journal.isKept
            ? journal.file
            : "in process there is no journal",
        });
      }
      const settlement = describeFinished(last);
      return { settlement, isFinal: true, chainId, block };
    }
    const entry = { ...unfinished, resumed: true } as const;
    const newest = newestOf(entry);
    const { round, guard } = entry;
    Object.assign(progress, { round, guard, hash: newest.hash, isOpen: true });
    if (options.replacement !== undefined) {
      await requireReplaceable(vault, newest);
    }
    if (!(await journal.update(entry))) {
      // The process that began it, or another one, has just finished it.
      return await resume(vault, options);
    }
    const { hash = null, nonce, from } = newest;
    options.emit({ type: "resuming", hash, nonce });
    return await inTurn(
      vault.rpc,
      from,
      async () => await followToEnd(vault, journal, entry, options),
    );
  });
}

/**
 * Describes a settlement that an earlier run finished. What was no success keeps its status;
 * after a success there is nothing to do.
 */
function describeFinished(last: JournalEntry): Settlement {
  const { round, guard, mined } = last;
  const { status: ended, code = "", reason } = mined ?? last.unmined ?? {};
  const failure = failures.find((status) => status === ended);
  const problem = isErrorCode(code) ? code : null;
  const end =
    mined === undefined
      ? (ended ?? "without a transaction that was mined")
      : `${mined.status} in block ${mined.blockNumber}`;
  const finished = `An earlier run finished the settlement of ${describeRound(round)}: ${end}.`;
  return toSettlement(
    {
      hash: mined?.hash ?? newestOf(last).hash,
      blockNumber: mined?.blockNumber,
      status: failure ?? (problem === null ? "nothing-to-do" : "settled"),
      code: problem,
      reason: reason === undefined ? finished : `${finished} ${reason}`,
    },
    { round, guard },
  );
}

const failures = ["not-settled", "refused", "reverted", "unconfirmed"] as const;

/**
 * Sends the transaction of the journal, or looks for it after a resume; follows it until the
 * end, and reports that. Never throws: after a failure it may have left.
 *
 * If nothing more can be found out, the journal is released: the next settlement may begin.
 * Else it stays, to be resumed.
 */
export async function followToEnd(
  vault: VaultHost,
  journal: Journal,
  entry: JournalEntry,
  options: ParsedOptions,
  preview: Simulation | null = null,
): Promise<SettlementResult> {
  const limit = new TimeLimit(options.timeoutMs);
  const following = new Following(jobOf(vault, journal, entry, limit, options));
  for (;;) {
    const outcome = await following.toEnd();
    const { transactions } = following;
    const ended: JournalEntry = { ...entry, transactions };
    const result = await describeEnd(
      vault,
      { entry: ended, outcome, preview },
      Math.max(limit.remaining, LEAST_OUTCOME_MS),
    );
    if (result.isFinal) {
      await (
        outcome.kind === "stopped"
          ? journal.abandon(ended)
          : finish(journal, ended, result.settlement)
      ).catch((error: unknown) => {
        options.emit({ type: "trouble", message: describeProblem(error) });
      });
    }
    // Mined, but its block or its effect cannot be read: a re-org may have moved it.
    if (result.isFinal || outcome.kind !== "mined" || limit.isOver) {
      return result;
    }
  }
}

function jobOf(
  vault: VaultHost,
  journal: Journal,
  entry: JournalEntry,
  limit: TimeLimit,
  options: ParsedOptions,
): Job {
  const { timeBeforeBumpingFees, maxFeeBumps = DEFAULT_FEE_BUMPS } =
    vault.settlementSettings;
  const reader = vault.withOptions({ signal: limit.signal });
  return {
    rpc: reader.rpc.withRetries(noRetries),
    transactions: entry.transactions,
    isResumed: entry.resumed === true,
    sentAfterBlock: entry.sentAfterBlock,
    confirmations:
      options.confirmations ?? defaultConfirmations(vault, journal.chainKind),
    limit,
    pollingIntervalMs: options.pollingIntervalMs,
    emit: options.emit,
    checkRound: roundChecker(reader, {
      intended: entry.round,
      ifExpired: options.ifExpired || entry.ifExpired === true,
    }),
    record: async (all) =>
      await journal.update({ ...entry, transactions: all }),
    replacing: {
      requested: options.replacement,
      // A person who resumes decides about the fee.
      timeBeforeBumpingFees:
        options.resume === true ? undefined : timeBeforeBumpingFees,
      maxFeeBumps,
      sign: async (newest, kind) =>
        await signReplacement(vault, newest, kind, options),
    },
  };
}

/** Writes the end to the journal. */
async function finish(
  journal: Journal,
  entry: JournalEntry,
  { status, code, reason, blockNumber, hash }: Settlement,
): Promise<void> {
  const end = {
    status,
    ...(code !== null && { code }),
    ...(reason !== null && { reason }),
  };
  await journal.finish(
    blockNumber === null || hash === null
      ? { ...entry, unmined: end }
      : { ...entry, mined: { ...end, blockNumber, hash } },
  );
}
