import { withAddress } from "../client/inputs.js";
import { vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { Hex } from "../protocol/index.js";
import { describeRound } from "../protocol/round.js";
import { noRetries } from "../rpc/retry.js";
import { chooseNextBlock } from "../simulation/next-block.js";
import type { ChosenNextBlock } from "../simulation/next-block.js";
import { obstacleIn, refusedBy } from "../guard/outcome.js";
import type { Stopped } from "../guard/outcome.js";
import { settlementCall } from "../guard/call.js";
import { agree } from "./agree.js";
import type { Agreement } from "./agree.js";
import { roundChecker } from "./check-round.js";
import { Following } from "../sending/follow.js";
import type { Job } from "../sending/follow.js";
import { endTime, staleAge, staleHead } from "./head-age.js";
import { Journal, askChainKind } from "../sending/journal.js";
import type { ChainKind, JournalEntry } from "../sending/journal.js";
import { observe } from "./observe.js";
import type { Observation } from "./observe.js";
import { defaultConfirmations, parseOptions } from "./options.js";
import type { ParsedOptions } from "./options.js";
import { prepare } from "./prepare.js";
import type { Prepared } from "./prepare.js";
import { report } from "./report.js";
import type { Ended } from "./report.js";
import { propose } from "./propose.js";
import type { Proposal } from "./propose.js";
import { requireReplaceable, signReplacement } from "../sending/replace.js";
import {
  describeFinished,
  orStop,
  refusalOf,
  stop,
  stopped,
} from "./result.js";
import type { Known, Next, SettlementResult, Stop } from "./result.js";
import { findFreeNonce } from "../sending/signer.js";
import { inTurn } from "../sending/turns.js";
import { TimeLimit } from "../sending/time-limit.js";
import { describeProblem, newestOf, sign } from "../sending/transaction.js";
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
    return await assertSettled(vault, options);
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
  const notBegun = (problem: string): void => {
    const message = `the next settlement was not begun: ${problem}`;
    options.emit({ type: "trouble", message });
  };
  // The settlement of the result is the one that was paid for, or that was sent last.
  const isPaid = resumed.settlement.blockNumber !== null;
  try {
    const next = await settleNext(vault, options);
    const { status, hash, reason } = next.settlement;
    if (hash !== null || !isPaid) {
      return next;
    }
    if (status !== "nothing-to-do") {
      notBegun(reason ?? status);
    }
    return resumed;
  } catch (error) {
    if (resumed.settlement.hash === null) {
      throw error;
    }
    // The result of a transaction that was sent is not lost by a later failure.
    notBegun(describeProblem(error));
    return resumed;
  }
}

/** Refuses if there is a round to settle; sends nothing. */
async function assertSettled(
  vault: VaultHost,
  options: ParsedOptions,
): Promise<SettlementResult> {
  const seen = await seeRound(vault);
  if (seen.kind === "stop") {
    return await stopped(vault, seen);
  }
  const { known, observation } = seen;
  const details = { round: describeRound(observation.round) };
  const why =
    (await findObstacle(vault, seen, options)) ??
    refusalOf(vaultError("VAULT_SETTLEMENT_NEEDED", details));
  return await stopped(vault, stop(known, why));
}

async function settleNext(
  vault: VaultHost,
  options: ParsedOptions,
): Promise<SettlementResult> {
  const first = await getReady(vault, options);
  if (first.kind === "stop") {
    return await stopped(vault, first);
  }
  return await inTurn(vault.rpc, first.signer.address, async (hasWaited) => {
    const ready = hasWaited ? await getReady(vault, options) : first;
    const begun =
      ready.kind === "stop" ? ready : await begin(vault, ready, options);
    return begun.kind === "stop"
      ? await stopped(vault, begun)
      : await follow(vault, begun, options);
  });
}

/**
 * Proposes a settlement, asks, signs and writes the journal. Each step stops it, before
 * anything has left, or hands on what the next one needs.
 */
async function begin(
  vault: VaultHost,
  ready: Ready,
  options: ParsedOptions,
): Promise<Followed | Stop> {
  const { signer, next, observation, route } = ready;
  const proposed = await withPreview(
    ready.known,
    async () => await propose(vault, signer, next, observation, route, options),
  );
  if (proposed.kind === "stop") {
    return proposed;
  }
  const agreed = await withPreview(
    proposed.known,
    async () => await agree(vault, signer, proposed.found, options),
  );
  return agreed.kind === "stop"
    ? agreed
    : await signAndBegin(vault, ready, agreed, options);
}

interface Seen extends Next {
  readonly next: ChosenNextBlock;
  /** The time by which the round has ended or not, Unix seconds. */
  readonly time: number;
  readonly observation: Observation;
  readonly chainKind: ChainKind;
}

/** Reads the round, and of which kind the chain is now. */
async function seeRound(vault: VaultHost): Promise<Seen | Stop> {
  return await orStop({}, async () => {
    const next = await chooseNextBlock(vault);
    const { latest } = next;
    const [observation, chainKind] = await Promise.all([
      observe(vault.pinnedTo(latest), latest.number),
      askChainKind(vault),
    ]);
    const time = await endTime(vault, latest, next);
    const { chainId, block, round } = observation;
    const known = { chainId, block, round };
    return { kind: "next", known, next, time, observation, chainKind };
  });
}

/**
 * Finds out if there is nothing to do. A node that is behind cannot tell: its round may have
 * ended, or another one may have begun.
 */
async function findObstacle(
  vault: VaultHost,
  { time, observation: { block, round } }: Seen,
  { ifExpired }: ParsedOptions,
): Promise<Stopped | undefined> {
  const obstacle = obstacleIn(round, { ifExpired, time });
  const age = obstacle === undefined ? undefined : await staleAge(vault, block);
  return age === undefined
    ? obstacle
    : refusedBy(staleHead(vault, block.number, age));
}

type Ready = Prepared & Seen;

/**
 * Reads the round, finds account, journal and guard, and stops if there is nothing to do. In
 * this order, so that a wrong key or guard fails every run of a keeper.
 */
async function getReady(
  vault: VaultHost,
  options: ParsedOptions,
): Promise<Ready | Stop> {
  const seen = await seeRound(vault);
  if (seen.kind === "stop") {
    return seen;
  }
  return await orStop(seen.known, async () => {
    const prepared = await prepare(vault, seen, options);
    const guard = prepared.route.guard?.address;
    const known = { ...seen.known, guard };
    const nothing = await findObstacle(vault, seen, options);
    if (nothing !== undefined) {
      return stop(known, nothing);
    }
    await heedRevert(vault, prepared.journal, seen.observation, options);
    return { ...seen, ...prepared, known };
  });
}

/**
 * A round whose settlement was mined and reverted may revert again, at the same price. A
 * person is told; unattended it is refused.
 */
async function heedRevert(
  { networkName: network }: VaultHost,
  journal: Journal,
  { round }: Observation,
  { confirm, retryReverted, emit }: ParsedOptions,
): Promise<void> {
  const reverted = await journal.findReverted(round);
  if (reverted === undefined) {
    return;
  }
  const { hash, blockNumber: block } = reverted;
  const error = vaultError("VAULT_REVERTED_BEFORE", { network, hash, block });
  if (confirm === undefined && !retryReverted) {
    throw error;
  }
  emit({ type: "trouble", message: error.shortMessage });
}

/**
 * Proposes the settlement, or agrees on it: shows the proposal and asks; unattended, it
 * refuses what a person would have to see. The preview of what is found is known from then on.
 */
async function withPreview<Found extends Pick<Proposal, "preflight">>(
  known: Known,
  find: () => Promise<Found | Stopped>,
): Promise<Stop | (Next & { readonly found: Found })> {
  return await orStop(known, async () => {
    const found = await find();
    if (!("preflight" in found)) {
      return stop(known, found);
    }
    const { preview } = found.preflight;
    return { kind: "next", known: { ...known, preview }, found };
  });
}

/** The account's free nonce, on a chain of the same kind as before. */
async function nonceToSignWith(
  vault: VaultHost,
  { signer, journal, observation }: Ready,
): Promise<number> {
  const [nonce] = await Promise.all([
    findFreeNonce(vault.rpc, signer, observation.block.number),
    journal.requireSameChainKind(vault),
  ]);
  return nonce;
}

interface Followed extends Next {
  readonly journal: Journal;
  readonly entry: JournalEntry;
  /** True if another process may have sent a transaction of it. */
  readonly isResumed: boolean;
  readonly acceptsOldHead?: boolean;
}

/** Signs the transaction, and writes it to the journal before anything is sent. */
async function signAndBegin(
  vault: VaultHost,
  ready: Ready,
  { known, found: agreement }: Next & { readonly found: Agreement },
  { limits }: ParsedOptions,
): Promise<Followed | Stop> {
  const { signer, journal, observation } = ready;
  return await orStop(known, async () => {
    const { chainId, block, round } = observation;
    const { gas, price, preflight, route } = agreement;
    const nonce = await nonceToSignWith(vault, ready);
    // In process Hardhat fills in the fees, which are free, unless there is a limit.
    const fees =
      signer.kind === "in-process" && limits.maxFeePerGas === undefined
        ? undefined
        : price.fees;
    const call = { ...settlementCall(route), chainId, nonce, gas, fees };
    const transaction = await sign(vault.rpc, signer, call);
    const preparedAt = Date.now();
    const guard = route.guard?.address;
    const entry: JournalEntry = {
      since: Math.floor(preparedAt / 1_000),
      sentAfterBlock: block.number,
      round,
      transactions: [{ ...transaction, kind: "settlement", preparedAt }],
      ...(guard !== undefined && { guard }),
    };
    // Refuses if another process began one before the user confirmed.
    await journal.begin(entry);
    // An age is shown only of a block that is too old, and a person agreed to it.
    const acceptsOldHead = preflight.headAge !== null;
    const isResumed = false;
    return { kind: "next", known, journal, entry, acceptsOldHead, isResumed };
  });
}

/** Follows the transaction of an earlier process, or replaces it. */
async function resume(
  vault: VaultHost,
  options: ParsedOptions,
): Promise<SettlementResult> {
  let known: Known = {};
  let knownHash: Hex | undefined;
  try {
    const { chainId, contract, block, round } = await observe(vault, "latest");
    known = { chainId, block };
    const journal = await Journal.of(vault, chainId, contract.address);
    const unfinished = await journal.read();
    if (unfinished !== undefined) {
      const entry = { ...unfinished, resumed: true } as const;
      const newest = newestOf(entry);
      knownHash = newest.hash;
      if (options.replacement !== undefined) {
        await requireReplaceable(vault, newest);
      }
      if (!(await journal.update(entry))) {
        // The process that began it, or another one, has just finished it.
        return await resume(vault, options);
      }
      const { hash = null, nonce } = newest;
      options.emit({ type: "resuming", hash, nonce });
      const followed = { journal, entry, known, isResumed: true };
      return await inTurn(
        vault.rpc,
        newest.from,
        async () => await follow(vault, { kind: "next", ...followed }, options),
      );
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
    return await stopped(vault, stop(known, { ...refusal, hash }));
  }
}

/**
 * Reads the round and sends the transaction of the journal, or looks for it after a resume,
 * and follows it until the end. Never throws: after a failure it may have left.
 *
 * Then report() makes the result, and the journal is released if it is final:
 *
 * - mined: the round is read for `settled`, `not-settled`, `nothing-to-do`,
 *   `reverted`, `cancelled` or `unconfirmed`. Finished, unless the round cannot be read now.
 * - stopped: nothing has left. Abandoned: finished, unless another process resumed it.
 * - dropped: `unconfirmed` if it can never be mined; `refused` or `nothing-to-do` if it was
 *   given up. Finished.
 * - undecided: `unconfirmed`. The journal stays, to be resumed.
 */
async function follow(
  vault: VaultHost,
  { known, journal, entry, isResumed, acceptsOldHead }: Followed,
  options: ParsedOptions,
): Promise<SettlementResult> {
  const { replacement, timeoutMs } = options;
  const { confirmations = defaultConfirmations(vault, journal.chainKind) } =
    options;
  const { timeBeforeBumpingFees, maxFeeBumps = DEFAULT_FEE_BUMPS } =
    vault.settlementSettings;
  const limit = new TimeLimit(timeoutMs);
  const reader = vault.withOptions({ signal: limit.signal });
  const job: Job = {
    ...options,
    rpc: reader.rpc.withRetries(noRetries),
    transactions: entry.transactions,
    isResumed,
    sentAfterBlock: entry.sentAfterBlock,
    confirmations,
    limit,
    checkRound: roundChecker(reader, entry, options, acceptsOldHead),
    journal: {
      record: async (all) =>
        await journal.update({ ...entry, transactions: [...all] }),
    },
    replacing: {
      requested: replacement,
      // A person who resumes decides about the fee.
      timeBeforeBumpingFees:
        options.resume === true ? undefined : timeBeforeBumpingFees,
      maxFeeBumps,
      sign: async (newest, kind) =>
        await signReplacement(vault, newest, kind, options),
    },
  };
  const { preview = null } = known;
  const following = new Following(job);
  for (;;) {
    const outcome = await following.toEnd();
    const { transactions, hashes } = following;
    const ended: Ended = {
      entry: { ...entry, transactions: [...transactions] },
      outcome,
      hashes,
      preview,
    };
    const timeout = Math.max(limit.remaining, LEAST_OUTCOME_MS);
    const result = await report(vault, ended, timeout);
    if (result.isFinal) {
      await release(journal, ended, result.settlement).catch(
        (error: unknown) => {
          const message = describeProblem(error);
          options.emit({ type: "trouble", message });
        },
      );
    }
    // Mined, but its block or its effect cannot be read: a re-org may have moved it.
    if (result.isFinal || outcome.kind !== "mined" || limit.isOver) {
      return { ...result, block: result.block ?? known.block };
    }
  }
}

/** Writes the end to the journal, and lets the next settlement begin. */
async function release(
  journal: Journal,
  { entry, outcome }: Pick<Ended, "entry" | "outcome">,
  { status, blockNumber, hash }: Settlement,
): Promise<void> {
  if (outcome.kind === "stopped") {
    await journal.abandon(entry);
    return;
  }
  const mined =
    blockNumber === null || hash === null
      ? undefined
      : { status, blockNumber, hash };
  await journal.finish({ ...entry, mined });
}
