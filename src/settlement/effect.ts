// What a settlement did: to the round it was meant for, and in its guard.

import { ZeroAddress } from "ethers";

import { isFailedReading } from "../client/read-at-block.js";
import type { VaultSnapshot } from "../client/read-at-block.js";
import { VaultError, fallbackTo, hasErrorCode } from "../errors.js";
import type { VaultErrorCode } from "../errors.js";
import type { SettlementRoute } from "../guard/call.js";
import { keepsTokens, settlementCall } from "../guard/call.js";
import {
  explainRefusal,
  innerReason,
  outOfGas,
  usesAllGas,
} from "../guard/refusal.js";
import { parseGuarded } from "../guard/round-guard.js";
import type { VaultHost } from "../host.js";
import type { Address, VaultRound } from "../protocol/index.js";
import { describeRound, fateOf, isSameRound } from "../protocol/round.js";
import { getBlock, readOnBranch, requireSameBranch } from "../rpc/blocks.js";
import type { BlockId, BlockInfo, PinnedBlock } from "../rpc/blocks.js";
import { callContract, getBalance, tryCall } from "../rpc/chain.js";
import { isUnanswered } from "../rpc/errors.js";
import type { Receipt } from "../rpc/transactions.js";
import type { JournalEntry } from "../sending/journal.js";
import type { Mined, End } from "../sending/job.js";
import { newestOf } from "../sending/transaction.js";
import { contractsNaming } from "../simulation/tokens.js";
import type { Simulation } from "../simulation/types.js";
import {
  balanceCall,
  balanceIn,
  findDifferences,
} from "../simulation/watch-list.js";
import type { Settlement } from "./options.js";

/** Settlement with its chain, as the plugin and the tasks take it. */
export interface SettlementResult {
  readonly settlement: Settlement;
  readonly chainId: number;
  /** Block of the round afterwards, else of the last read; undefined if none was read. */
  readonly block?: BlockInfo | undefined;
  /** False if a later check can find more. */
  readonly isFinal: boolean;
  readonly error?: VaultError | undefined;
}

/** What is known of an end; the other values of its settlement are null. */
type KnownEnd = Pick<Settlement, "status"> & {
  readonly [Key in keyof Settlement]?: Settlement[Key] | undefined;
};

/** @param before What was known before anything was sent. */
export function toSettlement(
  end: KnownEnd,
  before: {
    readonly round?: VaultRound | undefined;
    readonly guard?: Address | undefined;
    readonly preview?: Simulation | null | undefined;
  },
): Settlement {
  const { hash = null } = end;
  return {
    status: end.status,
    code: end.code ?? null,
    reason: end.reason ?? null,
    hash,
    hashes: end.hashes ?? (hash === null ? [] : [hash]),
    guard: before.guard ?? null,
    blockNumber: end.blockNumber ?? null,
    gasUsed: end.gasUsed ?? null,
    cost: end.cost ?? null,
    before: before.round ?? null,
    after: end.after ?? null,
    preview: before.preview ?? null,
    differences: end.differences ?? null,
  };
}

/** What is known of an end, and whether a later look can find more. */
type KnownResult = KnownEnd & Omit<SettlementResult, "chainId" | "settlement">;

/**
 * Reads what a settlement did that ended. Never throws: what cannot be read is left to resume.
 *
 * @param timeout Milliseconds to read its effect in.
 */
export async function readResult(
  vault: VaultHost,
  entry: JournalEntry,
  end: End,
  preview: Simulation | null,
  timeout: number,
): Promise<SettlementResult> {
  const read = async (): Promise<KnownResult> =>
    end.kind === "mined"
      ? await readMined(vault.withOptions({ timeout }), entry, end, preview)
      : {
          ...("receipt" in end && end.receipt),
          ...end,
          isFinal: end.kind !== "undecided",
        };
  const { isFinal, block, error, ...known } = await read().catch(
    (problem: unknown): KnownResult => ({
      status: "unconfirmed",
      reason: VaultError.isVaultError(problem)
        ? problem.message
        : String(problem),
      hash: newestOf(entry).hash,
      isFinal: false,
    }),
  );
  // A wallet may have changed the hash.
  const all = [...entry.transactions, known].flatMap(({ hash }) => hash ?? []);
  const hashes = end.kind === "stopped" ? [] : [...new Set(all)];
  const settlement = toSettlement({ ...known, hashes }, { ...entry, preview });
  const [{ chainId }] = entry.transactions;
  return { settlement, chainId, block, isFinal, error };
}

async function readMined(
  vault: VaultHost,
  { round, guard, partial }: JournalEntry,
  mined: Mined,
  preview: Simulation | null,
): Promise<KnownResult> {
  const { receipt, transaction, hash } = mined;
  const { blockNumber: number } = receipt;
  // Only the deployment of a guard goes nowhere.
  const { kind, from, nonce, to = ZeroAddress, data } = transaction;
  if (kind === "cancellation") {
    const reason = `The cancellation of ${from} used nonce ${nonce} in block ${number}, so the settlement can never be mined.`;
    return { ...receipt, status: "cancelled", reason, isFinal: true };
  }
  // The receipt proves that a node behind this provider has that block.
  vault.rpc.node.noteBlock(number);
  const around = await readAround(vault, round, receipt).catch(
    // The node has another branch, or no answer: it may promise a block that never comes.
    fallbackTo(undefined),
  );
  const isReverted = receipt.succeeded === false;
  if (around === undefined || (around.after === undefined && !isReverted)) {
    const reason = `The node showed it in block ${number}, but the round in that block could not be read: what it settled is not known, and it may still be mined in another one.`;
    return { status: "unconfirmed", hash, reason, isFinal: false };
  }
  const guarded = guard === undefined ? undefined : parseGuarded(guard, data);
  const route = { from, vaultAddress: to, ...guarded };
  const { after, block, readings } = around;
  const mustSettle =
    guarded?.guard.mustSettle ?? (partial === true ? false : undefined);
  const effect = isReverted
    ? await whyReverted(vault, round, route, mined, after)
    : effectOn(round, mustSettle, number, around);
  const stays = isReverted
    ? undefined
    : await whatStays(vault, route, receipt, around.parent);
  return {
    ...receipt,
    isFinal: true,
    ...effect,
    ...(stays !== undefined && {
      code: stays.code,
      reason: [effect.reason ?? [], stays.reason].flat().join(" "),
    }),
    after,
    block,
    differences:
      preview === null || readings === undefined
        ? null
        : findDifferences(preview, receipt, readings),
  };
}

/** The round around a transaction, as far as it can be read. */
interface Around {
  /** In the block before that of the transaction. */
  readonly before?: VaultRound | undefined;
  /**
   * In the block of the transaction; null if the node lacks that state, and shows another
   * round by now.
   */
  readonly after?: VaultRound | null;
  readonly block?: BlockInfo;
  readonly parent?: PinnedBlock;
  /** All readings of that block. */
  readonly readings?: VaultSnapshot;
}

/**
 * Reads the vault at the hash of the receipt's block, and the round at that of its parent. If
 * the node keeps no such state: the round at the newest block of the same branch, if it is
 * the same.
 *
 * @throws VaultError if the node does not have that block
 */
async function readAround(
  vault: VaultHost,
  intended: VaultRound,
  { blockNumber: number, blockHash: hash }: Receipt,
): Promise<Around> {
  const pin = { number, hash };
  const block = await getBlock(vault.rpc, pin);
  const parent = { number: number - 1, hash: block.parentHash };
  const isAnswer = (error: VaultError): boolean =>
    !hasErrorCode(error, "VAULT_REORGED") && !isUnanswered(error);
  const read = async (): Promise<Around> => {
    const readings = await vault.snapshot({ blockTag: block });
    const before = await vault
      .getLatestRoundInfo({ blockTag: parent })
      .catch(fallbackTo(undefined, isAnswer));
    const { round } = readings;
    if (!isFailedReading(round)) {
      const at = { number, timestamp: block.timestamp };
      return { before, after: round, readings, parent, block: at };
    }
    if (!isAnswer(round.error)) {
      throw round.error;
    }
    const newest = await vault.block();
    const after = await vault.getLatestRoundInfo();
    await requireSameBranch(vault.rpc, pin);
    if (newest.number < number) {
      return {};
    }
    return { before, after: isSameRound(after, intended) ? after : null };
  };
  return await readOnBranch(vault.rpc, pin, read).catch(
    fallbackTo<Around>({}, isAnswer),
  );
}

/**
 * What the block did to the round that its transaction was meant for: it was open before and
 * is settled by it, or made way for the next one; or it was settled before; or the transaction
 * may have settled another round.
 *
 * @param mustSettle True if its guard reverts unless it settles; false if a step is enough.
 */
function effectOn(
  intended: VaultRound,
  mustSettle: boolean | undefined,
  block: number,
  { before, after }: Around,
): KnownResult {
  const end = (
    status: Settlement["status"],
    reason?: string,
    code?: VaultErrorCode,
  ) => ({ status, reason, code, isFinal: true });
  const noState = end(
    "unconfirmed",
    `It was mined in block ${block}, but the node no longer has the state of that block or the one before, and the vault is in another round by now. Only an archive node can show which round was settled.`,
    "VAULT_ARCHIVE_NODE_NEEDED",
  );
  // Undefined is of a transaction that reverted.
  if (after === null || after === undefined) {
    return noState;
  }
  const fate = fateOf(intended, after);
  const isSettled = fate === "settled" || fate === "followed";
  const wasOpen =
    before === undefined ? undefined : fateOf(intended, before) === "open";
  if (mustSettle === true && (!isSettled || wasOpen === false)) {
    const reason = `It was mined in block ${block}, but that call through the guard succeeds only if it settles the round, which is not what the node shows of that block and the one before: it may be on another branch of the chain.`;
    return { status: "unconfirmed", reason, isFinal: false };
  }
  const round = describeRound(intended);
  const latest = `${describeRound(after)}, settled: ${after.settled ? "yes" : "no"}`;
  if (!isSettled) {
    const reason = `It was mined in block ${block} without a revert, but ${round} is not settled by it. The latest in that block is ${latest}.`;
    // A step that leaves the round open is as it was meant.
    const code = mustSettle === false ? undefined : "VAULT_WOULD_NOT_SETTLE";
    const isGone = fate === "replaced";
    return end("not-settled", reason, isGone ? "VAULT_ROUND_CHANGED" : code);
  }
  if (wasOpen === true || mustSettle === true) {
    return end("settled");
  }
  if (before === undefined) {
    const reason = `The round is settled at the end of block ${block}, but the node no longer has the state of the block before: whose settlement it is is not known.`;
    return fate === "settled" ? end("settled", reason) : noState;
  }
  const isUnchanged =
    isSameRound(before, after) &&
    before.settled === after.settled &&
    before.settledAmount === after.settledAmount;
  return fate === "settled" || isUnchanged
    ? end(
        "nothing-to-do",
        `The round was settled by somebody else before block ${block}, in which this transaction was mined. It settled nothing.`,
      )
    : end(
        "not-settled",
        `MISMATCH: it was meant for ${round}, but in block ${block} the vault is in another one, ${latest}. Look at that block: the round may have changed just before this transaction, which then settled the other one.`,
        "VAULT_ROUND_CHANGED",
      );
}

/** A receipt has no revert reason, so the call is simulated at its block, with its gas. */
async function whyReverted(
  vault: VaultHost,
  intended: VaultRound,
  route: SettlementRoute,
  { transaction: { gas }, receipt: { blockNumber, gasUsed } }: Mined,
  after: Around["after"],
): Promise<KnownEnd> {
  const status = "reverted";
  const call = settlementCall(route);
  // The outcome is known even without a reason.
  const reverted = await tryCall(vault.rpc, call, blockNumber, gas).catch(
    fallbackTo(undefined),
  );
  const isSilent =
    reverted === undefined || innerReason(reverted, route).kind === "none";
  if (isSilent && usesAllGas({ gasUsed, gasGiven: gas })) {
    const remedy =
      "Give it more (gas, or gasMultiplier, of the network's configuration).";
    const given = { gas, limit: "it was given", remedy };
    return { status, ...outOfGas(vault.networkName, false, given) };
  }
  if (reverted === undefined) {
    const reason = "the reason could not be found out";
    return { status, code: "VAULT_CALL_REVERTED", reason };
  }
  const { code, reason } = await explainRefusal(vault, reverted, route);
  const fate =
    after === undefined || after === null ? undefined : fateOf(intended, after);
  // The guard found the round settled, or the next one in its place.
  if (
    code === null ||
    (code === "VAULT_ROUND_CHANGED" && fate === "followed")
  ) {
    return {
      status: "nothing-to-do",
      reason: `The transaction was mined in block ${blockNumber} and refused by the guard: somebody else had settled the round.`,
    };
  }
  return { status, code, reason: withoutSent(reason) };
}

/** What an error says that stops a settlement before it is sent, of one that was sent. */
function withoutSent(text: string): string {
  return text.replace(/ Nothing was sent\.$/u, "");
}

/** What an error says that stops only a run which was to resume a settlement. */
export function stillUnfinished(text: string): string {
  return `${withoutSent(text)} The settlement is still open.`;
}

/**
 * Tells what stays in the guard: tokens whose events name it, and native currency that the code
 * of the account sent back. An event alone moves nothing, so the balances are compared.
 */
async function whatStays(
  vault: VaultHost,
  { from, guard }: SettlementRoute,
  { logs, blockNumber: number, blockHash: hash }: Receipt,
  parent: BlockId = number - 1,
): Promise<Required<Pick<KnownEnd, "code" | "reason">> | undefined> {
  if (guard === undefined) {
    return undefined;
  }
  const { rpc } = vault;
  const { address, tokens } = guard;
  const riseOf = async (
    read: (block: BlockId) => Promise<unknown>,
  ): Promise<bigint> => {
    const after = await read({ number, hash });
    if (typeof after !== "bigint" || after === 0n) {
      return 0n;
    }
    const before = await read(parent);
    return typeof before === "bigint" ? after - before : 0n;
  };
  const kept: Address[] = [];
  const suspects = contractsNaming(address, logs).filter(
    (token) => token !== address && !tokens.includes(token),
  );
  for (const token of suspects) {
    const { address: to, data } = balanceCall(token, address);
    const call = { from: address, to, data };
    const rise = await riseOf(async (block) =>
      balanceIn(await callContract(rpc, call, block)),
    )
      // Without the state, the event is all that is known.
      .catch(fallbackTo(1n));
    if (rise > 0n) {
      kept.push(token);
    }
  }
  const native = await riseOf(
    async (block) => await getBalance(rpc, address, block),
  ).catch(fallbackTo(0n));
  const { code, fix } = keepsTokens(vault, guard, kept);
  const reasons = [
    kept.length > 0 &&
      `By the events of the transaction, tokens stay in the guard ${address}, from which nobody can take them: ${kept.join(", ")}. For the next settlement: ${withoutSent(fix)}`,
    native > 0n &&
      `The guard ${address} has ${native} wei more than before: the code of ${from} sends native currency back. The next settlement through it by an account without code takes it.`,
  ].filter((reason) => reason !== false);
  return reasons.length === 0 ? undefined : { code, reason: reasons.join(" ") };
}
