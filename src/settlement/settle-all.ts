import { vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { Hex } from "../protocol/index.js";
import { describeRound } from "../protocol/round.js";
import { noRetries } from "../rpc/retry.js";
import { chooseNextBlock } from "../settlement-call/next-block.js";
import { settlementCall } from "../settlement-call/route.js";
import type { Simulation } from "../simulation/types.js";
import { agree } from "./agree.js";
import { carryOut } from "./carry-out.js";
import { checkOrAbandon, roundChecker } from "./check-round.js";
import { conclude } from "./conclude.js";
import { TimeLimit } from "./freshness.js";
import { Journal } from "./journal.js";
import type { JournalEntry } from "./journal-file.js";
import { findNothingToDo, observe } from "./observe.js";
import { parseOptions } from "./options.js";
import type { ParsedOptions } from "./options.js";
import { askAhead, prepare, refuseOtherAccount } from "./prepare.js";
import { propose } from "./propose.js";
import { requireReplaceable, signReplacement } from "./replace.js";
import { describeFinished, refusalOf, stopped } from "./result.js";
import type { KnownAtStop, SettlementResult } from "./result.js";
import { describeProblem } from "./send.js";
import { findFreeNonce } from "./signer.js";
import { newestOf, sign } from "./transaction.js";
import type { SettleAllOptions } from "./types.js";

/** As in Hardhat Ignition. */
const DEFAULT_FEE_BUMPS = 4;

/** @see HardhatVault.settleAll */
export async function settleAll(
  vault: VaultHost,
  given: SettleAllOptions,
): Promise<SettlementResult> {
  const options = parseOptions(vault, given);
  if (options.resume === true) {
    return await resume(vault, options);
  }
  // prepare() refuses if the journal has an earlier settlement. With resumeFirst
  // that one is resumed, and then the rest is settled.
  const first = await settleNext(vault, options);
  if (
    options.resumeFirst !== true ||
    first.settlement.code !== "VAULT_SETTLEMENT_UNFINISHED"
  ) {
    return first;
  }
  const resumed = await resume(vault, options);
  if (!resumed.isFinal) {
    return resumed;
  }
  options.emit({ type: "resumed", settlement: resumed.settlement });
  try {
    const next = await settleNext(vault, options);
    return resumed.settlement.status === "settled" &&
      next.settlement.status === "nothing-to-do"
      ? resumed
      : next;
  } catch (error) {
    if (resumed.settlement.hash === null) {
      throw error;
    }
    // The result of a transaction that was sent is not lost by a later failure.
    const message = `the next settlement was not begun: ${describeProblem(error)}`;
    options.emit({ type: "trouble", message });
    return resumed;
  }
}

/**
 * Observes, proposes, asks for consent, signs, writes the journal, checks the round again,
 * then sends and follows.
 */
async function settleNext(
  vault: VaultHost,
  options: ParsedOptions,
): Promise<SettlementResult> {
  const { ifExpired, assertOnly, limits } = options;
  let known: KnownAtStop = {};
  try {
    const asked = assertOnly === true ? undefined : askAhead(vault, options);
    const next = await chooseNextBlock(vault);
    const observation = await observe(vault, next.number - 1);
    const { chainId, block, round } = observation;
    known = { chainId, block, round };
    // Refuses if an earlier settlement is unfinished. Before the round is judged, so that a
    // wrong key or guard fails every run of a keeper.
    const prepared =
      asked === undefined
        ? undefined
        : await prepare(vault, observation, options, asked);
    const guard = prepared?.route.guard?.address;
    known = { ...known, guard };
    const nothing = findNothingToDo(round, ifExpired, next.timestamp);
    if (nothing !== undefined) {
      return await stopped(nothing, vault, known);
    }
    // With assertOnly nothing is prepared: a round to settle is a failure.
    if (prepared === undefined) {
      const details = { round: describeRound(round) };
      throw vaultError("VAULT_SETTLEMENT_NEEDED", details);
    }
    const { signer, journal, route } = prepared;
    const proposal = await propose(
      vault,
      signer,
      next,
      observation,
      route,
      options,
    );
    if (proposal.kind === "stopped") {
      return await stopped(proposal, vault, known);
    }
    known = { ...known, preview: proposal.preflight.preview };
    // Shows the proposal and asks; unattended, it refuses what a person would have to see.
    // It stops for a revert, for No (`refused`), and if the round changed meanwhile.
    const agreement = await agree(vault, signer, proposal, options);
    if (agreement.kind === "stopped") {
      return await stopped(agreement, vault, known);
    }
    const { gas, price, preflight } = agreement;
    known = { ...known, preview: preflight.preview };
    // In process Hardhat fills in the fees, which are free, unless there is a limit.
    const fees =
      signer.kind === "in-process" && limits.maxFeePerGas === undefined
        ? undefined
        : price.fees;
    const nonce = await findFreeNonce(vault.rpc, signer, block.number);
    const call = { ...settlementCall(route), chainId, nonce, gas, fees };
    const transaction = await sign(vault.rpc, signer, call);
    const preparedAt = Date.now();
    const entry: JournalEntry = {
      since: Math.floor(preparedAt / 1_000),
      sentAfterBlock: block.number,
      round,
      transactions: [{ ...transaction, kind: "settlement", preparedAt }],
      ...(guard !== undefined && { guard }),
    };
    // Another process may have begun one, or ended it, before the user confirmed.
    await refuseOtherAccount(vault.rpc, journal, signer);
    await journal.begin(entry);
    // An age is shown only of a block that is too old, and a person agreed to it.
    const acceptsOldHead = preflight.headAge !== null;
    const checked = await checkOrAbandon(
      vault,
      journal,
      entry,
      options,
      acceptsOldHead,
    );
    if (checked.obstacle !== undefined) {
      return await stopped(checked.obstacle, vault, known);
    }
    const { preview } = preflight;
    const checkedAt = checked.askedAt;
    const followed = { journal, entry, acceptsOldHead, checkedAt, preview };
    const result = await follow(vault, followed, options);
    return { ...result, block: result.block ?? block };
  } catch (error) {
    // An error with `refuses` in errors.ts becomes a result. Others are thrown: nothing has
    // left yet, and the journal is abandoned. follow() never throws.
    return await stopped(refusalOf(error), vault, known);
  }
}

/** Follows the transaction of an earlier process, or replaces it. */
async function resume(
  vault: VaultHost,
  options: ParsedOptions,
): Promise<SettlementResult> {
  let known: KnownAtStop = {};
  let knownHash: Hex | undefined;
  try {
    const { chainId, contract, block, round } = await observe(vault, "latest");
    known = { chainId, block };
    const journal = await Journal.of(vault, chainId, contract.address);
    // The connection may have been made to another node.
    await journal.requireSameChainKind(vault);
    const unfinished = await journal.read();
    // A finished one that may still arrive is replaced, too.
    const found =
      unfinished ??
      (options.replacement === undefined
        ? undefined
        : await journal.readStillArriving());
    if (found !== undefined) {
      const entry = { ...found, resumed: true } as const;
      const newest = newestOf(entry);
      knownHash = newest.hash;
      if (options.replacement !== undefined) {
        await requireReplaceable(vault, newest);
      }
      if (unfinished === undefined) {
        await journal.begin(entry);
      } else if ((await journal.update(entry)) === undefined) {
        // The process that began it, or another one, has just finished it.
        return await resume(vault, options);
      }
      const { hash = null, nonce } = newest;
      options.emit({ type: "resuming", hash, nonce });
      const followed = { journal, entry, preview: null };
      const result = await follow(vault, followed, options);
      return { ...result, block: result.block ?? block };
    }
    const last = await journal.readFinished();
    if (last === undefined) {
      throw vaultError("VAULT_NOTHING_TO_RESUME", {
        vault: contract.address,
        network: vault.networkName,
        file: journal.isKept ? journal.file : "in process there is no journal",
      });
    }
    const settlement = describeFinished(last, round);
    return { settlement, isFinal: true, chainId, block };
  } catch (error) {
    const refusal = refusalOf(error);
    const hash = refusal.hash ?? knownHash;
    return await stopped({ ...refusal, hash }, vault, known);
  }
}

interface Followed {
  readonly journal: Journal;
  readonly entry: JournalEntry;
  readonly acceptsOldHead?: boolean;
  /** Time of the check after which it is sent; undefined if it may have been sent. */
  readonly checkedAt?: number;
  readonly preview: Simulation | null;
}

/**
 * Sends the transaction of the journal, or looks for it after a resume, and does what
 * decide.ts decides until the end. Never throws: after a failure it may have left.
 *
 * conclude() then makes the result, and decides about the journal:
 *
 * - mined: report.ts reads the round for `settled`, `not-settled`, `nothing-to-do`,
 *   `reverted`, `cancelled` or `unconfirmed`. Finished, unless the round cannot be read now.
 * - stopped: nothing has left. Abandoned: finished, unless another process resumed it.
 * - dropped: `unconfirmed` if it can never be mined; `refused` or `nothing-to-do` if it was
 *   given up. Finished.
 * - undecided: `unconfirmed`. The journal stays, to be resumed.
 *
 * A log line is written before the journal, but not for what was stopped.
 */
async function follow(
  vault: VaultHost,
  { journal, entry, acceptsOldHead, checkedAt, preview }: Followed,
  options: ParsedOptions,
): Promise<SettlementResult> {
  const { confirmations, replacement, timeoutMs } = options;
  const { timeBeforeBumpingFees, maxFeeBumps = DEFAULT_FEE_BUMPS } =
    vault.settlementSettings;
  const { transactions, sentAfterBlock } = entry;
  const limit = new TimeLimit(timeoutMs);
  const reader = vault.withOptions({ signal: limit.signal });
  const end = await carryOut(
    {
      network: vault.networkName,
      ...{ transactions, sentAfterBlock, checkedAt, confirmations },
      ...{ requestedReplacement: replacement },
      // A person who resumes decides about the fee.
      timeBeforeBumpingFees:
        options.resume === true ? undefined : timeBeforeBumpingFees,
      maxFeeBumps,
    },
    {
      ...options,
      limit,
      rpc: reader.rpc.withRetries(noRetries),
      checkRound: roundChecker(reader, journal, entry, options, acceptsOldHead),
      sign: async (newest, kind) =>
        await signReplacement(vault, options.limits, newest, kind),
      record: async (all) =>
        (await journal.update({ ...entry, transactions: [...all] }))
          ?.transactions,
    },
  );
  return await conclude(vault, journal, entry, end, preview, limit, options);
}
