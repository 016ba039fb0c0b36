import { withAddress } from "../client/inputs.js";
import { isErrorCode, vaultError } from "../errors.js";
import { findRoute, settlementCall } from "../guard/call.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import { describeRound } from "../protocol/round.js";
import { noRetries } from "../rpc/rpc-client.js";
import { Following } from "../sending/follow.js";
import { TimeLimit } from "../sending/job.js";
import type { Job } from "../sending/job.js";
import { Journal } from "../sending/journal.js";
import type { JournalEntry } from "../sending/journal.js";
import { requireReplaceable, signReplacement } from "../sending/replace.js";
import { findFreeNonce, inTurn, resolveSigner } from "../sending/signer.js";
import type { Signer } from "../sending/signer.js";
import { describeProblem, newestOf, sign } from "../sending/transaction.js";
import { defaultConfirmations, parseOptions } from "./options.js";
import type { ParsedOptions } from "./options.js";
import { agree, propose } from "./propose.js";
import type { Agreement } from "./propose.js";
import { report } from "./report.js";
import type { Ended } from "./report.js";
import { toSettlement, untilStopped } from "./result.js";
import type { Known, SettlementResult } from "./result.js";
import {
  observe,
  readCurrent,
  requireSomethingToDo,
  roundChecker,
} from "./state.js";
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
  const first = await settle(vault, options);
  return options.resumeFirst === true &&
    first.settlement.code === "VAULT_SETTLEMENT_UNFINISHED"
    ? await resumeAndSettle(vault, options)
    : first;
}

async function settle(
  vault: VaultHost,
  options: ParsedOptions,
): Promise<SettlementResult> {
  const { rpc, connection } = vault;
  return await untilStopped(vault, async (known) => {
    const { from } = options;
    const signer = await resolveSigner(rpc, connection.networkConfig, from);
    return await inTurn(
      rpc,
      signer.address,
      async () => await settleBy(vault, signer, known, options),
    );
  });
}

/**
 * A new settlement, by the steps of docs/how-a-settlement-works.md. Each may end it until the
 * journal is written; `resume` enters after that.
 */
async function settleBy(
  vault: VaultHost,
  signer: Signer,
  known: Known,
  options: ParsedOptions,
): Promise<SettlementResult> {
  const now = await readCurrent(vault);
  const { chainId, contract, block, round } = now;
  Object.assign(known, { chainId, block, round });
  const journal = await Journal.of(vault, chainId, contract.address);
  await journal.refuseUnfinished();
  const route = await findRoute(vault, signer.address, "latest", {
    round,
    mustHaveEnded: options.ifExpired === true,
    mustSettle: options.partial !== true,
    tokens: options.tokens ?? [],
  });
  known.guard = route.guard?.address;
  // Only now, so that a wrong key or guard fails every run of a keeper.
  await requireSomethingToDo(vault, now, options);
  await heedRevert(vault, journal, round, options);
  const proposal = await propose(vault, { signer, route, now }, options);
  known.preview = proposal.preflight.preview;
  const agreed = await agree(vault, proposal, options);
  known.preview = agreed.preflight.preview;
  await journal.requireSameChainKind(vault);
  const entry = await makeEntry(vault, agreed, options).catch(
    async (error: unknown) => {
      // The pending transaction may be the settlement of another process.
      await journal.refuseUnfinished();
      throw error;
    },
  );
  // Refuses if another process began one before the user confirmed.
  await journal.begin(entry);
  // An age is shown only of a block that is too old, and a person agreed to it.
  const acceptsOldHead = agreed.preflight.headAge !== null;
  const begun = { entry, known, acceptsOldHead };
  return await follow(vault, journal, begun, options);
}

/** Refuses if there is a round to settle; needs no account, and sends nothing. */
async function assertSettled(
  vault: VaultHost,
  options: ParsedOptions,
): Promise<SettlementResult> {
  return await untilStopped(vault, async (known) => {
    const now = await readCurrent(vault);
    const { chainId, block, round } = now;
    Object.assign(known, { chainId, block, round });
    await requireSomethingToDo(vault, now, options);
    const details = { round: describeRound(round) };
    throw vaultError("VAULT_SETTLEMENT_NEEDED", details);
  });
}

/**
 * A round whose settlement was mined and reverted may revert again, at the same price. A
 * person is told; unattended it is refused.
 */
async function heedRevert(
  { networkName: network }: VaultHost,
  journal: Journal,
  round: VaultRound,
  { confirm, retryReverted, emit }: ParsedOptions,
): Promise<void> {
  const reverted = await journal.findReverted(round);
  if (reverted === undefined) {
    return;
  }
  const { hash, blockNumber: block } = reverted;
  const error = vaultError("VAULT_REVERTED_BEFORE", { network, hash, block });
  if (confirm === undefined && retryReverted !== true) {
    throw error;
  }
  emit({ type: "trouble", message: error.shortMessage });
}

/** Signs the transaction, and makes what is written to the journal before it is sent. */
async function makeEntry(
  { rpc }: VaultHost,
  { signer, route, now, gas, price }: Agreement,
  { limits, ifExpired }: ParsedOptions,
): Promise<JournalEntry> {
  const { chainId, block, round } = now;
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
    ...(ifExpired === true && { ifExpired }),
  };
}

/** Follows the transaction of an earlier process, or replaces it. */
async function resume(
  vault: VaultHost,
  options: ParsedOptions,
): Promise<SettlementResult> {
  return await untilStopped(vault, async (known) => {
    const { chainId, contract, block } = await observe(vault, "latest");
    Object.assign(known, { chainId, block });
    const journal = await Journal.of(vault, chainId, contract.address);
    const unfinished = await journal.read();
    if (unfinished === undefined) {
      const last = await journal.readFinished();
      if (last !== undefined) {
        const settlement = describeFinished(last);
        return { settlement, isFinal: true, chainId, block };
      }
      throw vaultError("VAULT_NOTHING_TO_RESUME", {
        vault: contract.address,
        network: vault.networkName,
        file: journal.isKept ? journal.file : "in process there is no journal",
      });
    }
    const entry = { ...unfinished, resumed: true } as const;
    const newest = newestOf(entry);
    known.hash = newest.hash;
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
      async () => await follow(vault, journal, { entry, known }, options),
    );
  });
}

/** What an earlier run may have found of a transaction, and what is no success. */
const FAILURES = ["not-settled", "reverted", "unconfirmed", "refused"] as const;

/** Describes a settlement that an earlier run finished: a failure stays one. */
function describeFinished({ round, mined, guard }: JournalEntry): Settlement {
  const end =
    mined === undefined
      ? "without a transaction that was mined"
      : `${mined.status} in block ${mined.blockNumber}`;
  const { code = "" } = mined ?? {};
  const problem = isErrorCode(code) ? code : null;
  const status =
    FAILURES.find((failure) => failure === mined?.status) ??
    (problem === null ? "nothing-to-do" : "settled");
  const reason = `The settlement of ${describeRound(round)} is finished: ${end}.`;
  return toSettlement(
    { ...mined, status, code: problem, reason },
    { round, guard },
  );
}

/** Finishes the settlement in the journal, and begins the next one. */
async function resumeAndSettle(
  vault: VaultHost,
  options: ParsedOptions,
): Promise<SettlementResult> {
  const resumed = await resume(vault, options);
  if (!resumed.isFinal) {
    return resumed;
  }
  options.emit({ type: "resumed", settlement: resumed.settlement });
  const notBegun = (problem: string): SettlementResult => {
    const message = `the next settlement was not begun: ${problem}`;
    options.emit({ type: "trouble", message });
    return resumed;
  };
  // The settlement of the result is the one that was paid for, or that was sent last; a
  // failure is not hidden by a next one that has nothing to do.
  const { hash, blockNumber, status, code } = resumed.settlement;
  const hasFailed = code !== null || status !== "nothing-to-do";
  try {
    const next = await settle(vault, options);
    const { status: nextStatus, reason } = next.settlement;
    if (next.isSent === true) {
      return next;
    }
    if (nextStatus === "nothing-to-do") {
      return blockNumber !== null || hasFailed ? resumed : next;
    }
    return blockNumber === null ? next : notBegun(reason ?? nextStatus);
  } catch (error) {
    if (hash === null) {
      throw error;
    }
    // The result of a transaction that was sent is not lost by a later failure.
    return notBegun(describeProblem(error));
  }
}

/** What was sent, or is to be, and what was known before. */
interface Begun {
  readonly entry: JournalEntry;
  readonly known: Known;
  /** True if a person agreed to settle on an old block. */
  readonly acceptsOldHead?: boolean;
}

/**
 * Reads the round and sends the transaction of the journal, or looks for it after a resume,
 * and follows it until the end. Never throws: after a failure it may have left.
 *
 * Then it is reported. If nothing more can be found out, the journal is released: the next
 * settlement may begin. Else it stays, to be resumed.
 */
async function follow(
  vault: VaultHost,
  journal: Journal,
  { entry, known, acceptsOldHead = false }: Begun,
  options: ParsedOptions,
): Promise<SettlementResult> {
  const { replacement, timeoutMs } = options;
  const ifExpired = options.ifExpired === true || entry.ifExpired === true;
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
    isResumed: entry.resumed === true,
    sentAfterBlock: entry.sentAfterBlock,
    confirmations,
    limit,
    checkRound: roundChecker(
      reader,
      entry.round,
      { ifExpired },
      acceptsOldHead,
    ),
    record: async (all) =>
      await journal.update({ ...entry, transactions: [...all] }),
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
    const { transactions } = following;
    const ended: Ended = {
      entry: { ...entry, transactions: [...transactions] },
      outcome,
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
  { status, code, blockNumber, hash }: Settlement,
): Promise<void> {
  if (outcome.kind === "stopped") {
    await journal.abandon(entry);
    return;
  }
  const mined =
    blockNumber === null || hash === null
      ? undefined
      : { status, blockNumber, hash, ...(code !== null && { code }) };
  await journal.finish({ ...entry, mined });
}
