// A settlement from its first read to its end, in the order of its steps.

import { isHexString } from "ethers";

import { withAddress } from "../client/inputs.js";
import { isErrorCode, refusesSettlement, vaultError } from "../errors.js";
import { findRoute, settlementCall } from "../guard/call.js";
import type { VaultHost } from "../host.js";
import type { Address, Hex } from "../protocol/index.js";
import { describeRound } from "../protocol/round.js";
import { noRetries } from "../rpc/rpc-client.js";
import { Following, TimeLimit } from "../sending/follow.js";
import type { Job } from "../sending/follow.js";
import { Journal } from "../sending/journal.js";
import type { JournalEntry } from "../sending/journal.js";
import { refusedBy } from "../sending/end.js";
import type { Stopped } from "../sending/end.js";
import { findFreeNonce, inTurn, resolveSigner } from "../sending/signer.js";
import type { Signer } from "../sending/signer.js";
import {
  describeProblem,
  newestOf,
  requireReplaceable,
  sign,
  signReplacement,
} from "../sending/transaction.js";
import type { Simulation } from "../simulation/types.js";
import {
  findObstacle,
  readCurrentRound,
  readRoundAt,
  roundChecker,
} from "./current-round.js";
import type { RoundAtBlock } from "./current-round.js";
import { describeEnd, stillOpen, toSettlement } from "./effect.js";
import type { SettlementResult } from "./effect.js";
import { findRevertBefore } from "./next-run.js";
import { defaultConfirmations, parseOptions } from "./options.js";
import type { ParsedOptions, SettleAllOptions, Settlement } from "./options.js";
import { agree, propose } from "./prepare.js";
import type { Agreement } from "./prepare.js";

/** As in Hardhat Ignition. */
const DEFAULT_FEE_BUMPS = 4;
/** Milliseconds to read the outcome, even if the timeout is over. */
const LEAST_OUTCOME_MS = 10_000;

/** What a run knows by now, for the result of the step that ends it. */
interface Known {
  at?: RoundAtBlock;
  guard?: Address | undefined;
  preview?: Simulation | null;
  /** Of a transaction that an earlier run sent. */
  hash?: Hex | undefined;
  /** True once the journal has a settlement of an earlier run, which is not finished. */
  isOpen?: boolean;
}

/** Steps of a run, until one of them ends it. */
type Steps = (
  vault: VaultHost,
  options: ParsedOptions,
  known: Known,
) => Promise<SettlementResult | Stopped>;

/** @see HardhatVault.settleAll */
export async function settleAll(
  vault: VaultHost,
  given: SettleAllOptions,
): Promise<SettlementResult> {
  const options = parseOptions(vault, await withAddress(given));
  if (options.resume === true) {
    return await run(resume, vault, options);
  }
  if (options.assertOnly === true) {
    return await run(requireSettled, vault, options);
  }
  const ended = await run(settle, vault, options);
  return options.resumeFirst === true &&
    ended.settlement.code === "VAULT_SETTLEMENT_UNFINISHED"
    ? await run(resume, vault, options)
    : ended;
}

/** Takes the steps until one ends the run, or throws an error with `refuses` in errors.ts. */
async function run(
  steps: Steps,
  vault: VaultHost,
  options: ParsedOptions,
): Promise<SettlementResult> {
  const known: Known = {};
  const ended = await steps(vault, options, known).catch((error: unknown) => {
    if (refusesSettlement(error)) {
      return refusedBy(error);
    }
    throw error;
  });
  const { at, isOpen = false, guard, preview } = known;
  if (!("kind" in ended)) {
    return { ...ended, block: ended.block ?? at?.block };
  }
  // VAULT_SETTLEMENT_UNFINISHED names the transaction of another run.
  const { transaction } = ended.error?.details ?? {};
  const hash = isHexString(transaction, 32) ? transaction : known.hash;
  const reason = isOpen ? stillOpen(ended.reason) : ended.reason;
  const before = { round: at?.round, guard, preview };
  return {
    settlement: toSettlement({ ...ended, reason, hash }, before),
    isFinal: !isOpen,
    chainId: at?.chainId ?? (await vault.chainId()),
    block: at?.block,
    refusal: ended.error,
  };
}

/** Refuses if there is a round to settle; needs no account, and sends nothing. */
const requireSettled: Steps = async (vault, { ifExpired }, known) => {
  const current = await readCurrentRound(vault);
  known.at = current;
  const details = { round: describeRound(current.round) };
  return (
    (await findObstacle(vault, current, { ifExpired })) ??
    refusedBy(vaultError("VAULT_SETTLEMENT_NEEDED", details))
  );
};

/** A new settlement. Each step may end it until the journal is written. */
const settle: Steps = async (vault, options, known) => {
  const { rpc, connection } = vault;
  const { from } = options;
  const signer = await resolveSigner(rpc, connection.networkConfig, from);
  return await inTurn(
    rpc,
    signer.address,
    async () => await settleAs(signer, vault, options, known),
  );
};

async function settleAs(
  signer: Signer,
  vault: VaultHost,
  options: ParsedOptions,
  known: Known,
): Promise<SettlementResult | Stopped> {
  const { ifExpired, partial, tokens = [] } = options;
  const { confirm, retryReverted, emit } = options;
  const current = await readCurrentRound(vault);
  known.at = current;
  const { chainId, contract, round } = current;
  const journal = await Journal.of(vault, chainId, contract.address);
  await journal.refuseUnfinished();
  const route = await findRoute(vault, signer.address, "latest", {
    round,
    mustHaveEnded: ifExpired,
    mustSettle: partial !== true,
    tokens,
  });
  known.guard = route.guard?.address;
  // Only now, so that a wrong key or guard fails every run of a keeper.
  const obstacle = await findObstacle(vault, current, { ifExpired });
  if (obstacle !== undefined) {
    return obstacle;
  }
  // It may revert again, at the same price. A person is told; unattended it is refused.
  const reverted = await findRevertBefore(vault, journal, round);
  if (reverted !== undefined) {
    if (confirm === undefined && retryReverted !== true) {
      return refusedBy(reverted);
    }
    emit({ type: "trouble", message: reverted.shortMessage });
  }
  const proposal = await propose(vault, { signer, route, current }, options);
  known.preview = proposal.preflight.preview;
  const agreed = await agree(vault, proposal, options);
  if ("kind" in agreed) {
    return agreed;
  }
  await journal.requireSameChainKind(vault);
  // Another process may have begun one before the user confirmed.
  await journal.refuseUnfinished();
  const entry = await signEntry(vault, agreed, options);
  await journal.begin(entry);
  return await followToEnd(vault, journal, entry, options, known.preview);
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
const resume: Steps = async (vault, options, known) => {
  const at = await readRoundAt(vault, "latest");
  known.at = at;
  const { chainId, contract, block } = at;
  const journal = await Journal.of(vault, chainId, contract.address);
  const unfinished = await journal.read();
  if (unfinished === undefined) {
    const settlement = await describeFinished(vault, journal, contract.address);
    return { settlement, isFinal: true, chainId, block };
  }
  const entry = { ...unfinished, resumed: true } as const;
  const newest = newestOf(entry);
  const { hash = null, nonce, from } = newest;
  known.at = { ...at, round: entry.round };
  known.guard = entry.guard;
  known.hash = newest.hash;
  known.isOpen = true;
  if (options.replacement !== undefined) {
    await requireReplaceable(vault, newest);
  }
  if (!(await journal.update(entry))) {
    // The process that began it, or another one, has just finished it.
    return await run(resume, vault, options);
  }
  options.emit({ type: "resuming", hash, nonce });
  return await inTurn(
    vault.rpc,
    from,
    async () => await followToEnd(vault, journal, entry, options),
  );
};

const failures = ["not-settled", "refused", "reverted", "unconfirmed"] as const;

/**
 * Describes the settlement that an earlier run finished. What was no success keeps its status;
 * after a success there is nothing to do.
 *
 * @throws VaultError VAULT_NOTHING_TO_RESUME
 */
async function describeFinished(
  { networkName: network }: VaultHost,
  journal: Journal,
  vault: Address,
): Promise<Settlement> {
  const last = await journal.readFinished();
  if (last === undefined) {
    const file = journal.isKept
      ? journal.file
      : "in process there is no journal";
    throw vaultError("VAULT_NOTHING_TO_RESUME", { vault, network, file });
  }
  const { round, mined } = last;
  const { status, code, reason } = mined ?? last.unmined ?? {};
  const where = mined === undefined ? "" : ` in block ${mined.blockNumber}`;
  const finished = `An earlier run finished the settlement of ${describeRound(round)}: ${status ?? "nothing was mined"}${where}.`;
  const problem = code !== undefined && isErrorCode(code) ? code : null;
  const success = problem === null ? "nothing-to-do" : "settled";
  return toSettlement(
    {
      hash: mined?.hash ?? newestOf(last).hash,
      blockNumber: mined?.blockNumber,
      status: failures.find((failure) => failure === status) ?? success,
      code: problem,
      reason: reason === undefined ? finished : `${finished} ${reason}`,
    },
    last,
  );
}

/**
 * Sends the transaction of the journal, or looks for it after a resume; follows it until the
 * end, and reports that. Never throws: after a failure it may have left.
 *
 * If nothing more can be found out, the journal is released: the next settlement may begin.
 * Else it stays, to be resumed.
 */
async function followToEnd(
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
      ended,
      outcome,
      preview,
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
