// What became of a settlement, and of the round it was meant for.

import { ZeroAddress } from "ethers";

import { isFailedReading } from "../client/failed-reading.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import { VaultError, fallbackTo } from "../errors.js";
import type { SettlementRoute } from "../guard/call.js";
import { keepsTokens, settlementCall } from "../guard/call.js";
import {
  explainRefusal,
  fateOf,
  innerReason,
  outOfGas,
  usesAllGas,
} from "../guard/outcome.js";
import { parseGuarded } from "../guard/round-guard.js";
import type { VaultHost } from "../host.js";
import type { Address, VaultRound } from "../protocol/index.js";
import { describeRound, isSameRound } from "../protocol/round.js";
import { getBalance } from "../rpc/accounts.js";
import type { BlockId, BlockInfo, PinnedBlock } from "../rpc/blocks.js";
import {
  getBlock,
  isReorganised,
  readOnBranch,
  requireSameBranch,
} from "../rpc/blocks.js";
import { callContract, tryCall } from "../rpc/calls.js";
import { getReceipt } from "../rpc/transactions.js";
import type { Receipt } from "../rpc/transactions.js";
import type { Outcome } from "../sending/job.js";
import type { JournalEntry } from "../sending/journal.js";
import type { Mined } from "../sending/look.js";
import { newestOf } from "../sending/transaction.js";
import { gainsIn } from "../simulation/tokens.js";
import type { Simulation } from "../simulation/types.js";
import { balanceCall, balanceIn } from "../simulation/watch-list.js";
import { findDifferences } from "./differences.js";
import { toSettlement } from "./result.js";
import type { KnownValues, SettlementResult } from "./result.js";

/** A settlement that was followed to its end. */
export interface Ended {
  readonly entry: JournalEntry;
  readonly preview: Simulation | null;
  readonly outcome: Outcome;
}

/** What is known of an end, and whether a later look can find more. */
type Found = KnownValues &
  Omit<SettlementResult, "chainId" | "isSent" | "settlement">;

/**
 * Describes the end of a settlement. Never throws: what cannot be described is left to resume.
 *
 * @param timeout Milliseconds to read the round in.
 */
export async function report(
  vault: VaultHost,
  ended: Ended,
  timeout: number,
): Promise<SettlementResult> {
  const { entry, outcome } = ended;
  const isSent = outcome.kind !== "stopped";
  const describe = async (): Promise<Found> =>
    outcome.kind === "mined"
      ? await describeMined(vault.withOptions({ timeout }), ended, outcome)
      : {
          ...("receipt" in outcome && outcome.receipt),
          ...outcome,
          isFinal: outcome.kind !== "undecided",
          refusal: "error" in outcome ? outcome.error : undefined,
        };
  const { isFinal, block, refusal, ...found } = await describe().catch(
    (error: unknown): Found => ({
      status: "unconfirmed",
      reason: VaultError.isVaultError(error) ? error.message : String(error),
      hash: newestOf(entry).hash,
      isFinal: false,
    }),
  );
  // A wallet may have changed the hash.
  const hashes = [...entry.transactions, found].flatMap(
    ({ hash }) => hash ?? [],
  );
  const settlement = toSettlement(
    { ...found, hashes: isSent ? [...new Set(hashes)] : [] },
    { ...entry, ...ended },
  );
  const [{ chainId }] = entry.transactions;
  return { settlement, chainId, block, isFinal, isSent, refusal };
}

async function describeMined(
  vault: VaultHost,
  { entry, preview }: Ended,
  mined: Mined,
): Promise<Found> {
  const { receipt, transaction, hash } = mined;
  const { blockNumber } = receipt;
  if (transaction.kind === "cancellation") {
    const { from, nonce } = transaction;
    const reason = `The cancellation of ${from} used nonce ${nonce} in block ${blockNumber}, so the settlement can never be mined.`;
    return { ...receipt, status: "cancelled", reason, isFinal: true };
  }
  // The receipt proves that a node behind this provider has that block.
  vault.rpc.node.noteBlock(blockNumber);
  const { round } = entry;
  const around = await readAround(vault, round, receipt, preview !== null);
  const { after, block, readings } = around;
  if (after === undefined && (await isGone(vault, receipt))) {
    // A node may promise a block that never comes.
    const reason = `The node showed it in block ${blockNumber}, but has neither that block nor the receipt any more: it may still be mined.`;
    return { status: "unconfirmed", hash, reason, isFinal: false };
  }
  const route = routeOf(entry, transaction);
  const effect =
    receipt.succeeded === false
      ? await whyReverted(vault, round, route, mined, after)
      : describeEffect(round, route, blockNumber, around);
  const stays = await whatStays(vault, route, receipt);
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

/** The way of a transaction in the journal. */
function routeOf(
  { guard }: JournalEntry,
  // Only the deployment of a guard goes nowhere.
  { from, to = ZeroAddress, data }: Mined["transaction"],
): SettlementRoute {
  const guarded = guard === undefined ? undefined : parseGuarded(guard, data);
  return { from, vault: to, ...guarded };
}

/** True if the node has no receipt any more, or one of another block. */
async function isGone(
  { rpc }: VaultHost,
  { hash, blockHash }: Receipt,
): Promise<boolean> {
  return await getReceipt(rpc, hash).then(
    (now) => now?.blockHash !== blockHash,
    fallbackTo(false),
  );
}

/** The round around a transaction, as far as it can be read. */
interface Around {
  /** In the block before that of the transaction. */
  readonly before?: VaultRound | undefined;
  /** In the block of the transaction. */
  readonly after?: VaultRound | undefined;
  readonly block?: BlockInfo;
  /** All readings of that block. */
  readonly readings?: VaultSnapshot | undefined;
  /** True if the node lacks that state, and shows another round by now. */
  readonly isPast?: boolean;
}

/**
 * Reads the vault at the hash of the receipt's block, and at that of its parent. If the node
 * keeps no such state: the round at the newest block of the same branch, if it is the same.
 *
 * @param wantsReadings True if there is a preview to compare them with.
 */
async function readAround(
  vault: VaultHost,
  intended: VaultRound,
  { blockNumber: number, blockHash: hash }: Receipt,
  wantsReadings: boolean,
): Promise<Around> {
  const pin = { number, hash };
  const unlessGone = fallbackTo(undefined, (error) => !isReorganised(error));
  const roundAt = async (at: PinnedBlock): Promise<VaultRound | undefined> =>
    await vault
      .pinnedTo(at)
      .getLatestRoundInfo({ blockTag: at.number })
      .catch(unlessGone);
  const read = async (): Promise<Around> => {
    const block = await getBlock(vault.rpc, pin);
    const { timestamp, parentHash } = block;
    const parent = { number: number - 1, hash: parentHash };
    const found = await readOnBranch(vault.rpc, pin, async () => {
      const snapshot = async () =>
        await vault.pinnedTo(block).snapshot({ blockTag: number });
      const readings = wantsReadings
        ? await snapshot().catch(unlessGone)
        : undefined;
      const round = isFailedReading(readings?.round)
        ? undefined
        : readings?.round;
      const before = await roundAt(parent);
      return { before, readings, after: round ?? (await roundAt(block)) };
    });
    if (found.after !== undefined) {
      return { ...found, block: { number, timestamp } };
    }
    const newest = await vault.block();
    const after = await vault.getLatestRoundInfo();
    await requireSameBranch(vault.rpc, pin);
    return newest.number < number
      ? {}
      : isSameRound(after, intended)
        ? { before: found.before, after }
        : { isPast: true };
  };
  // The node has another branch, or no answer.
  return await read().catch(fallbackTo<Around>({}));
}

const UNREAD =
  "the round could not be read afterwards, so what it settled is not known.";
const CONTRADICTED =
  "that call through the guard succeeds only if it settles the round, which is not what the node shows of that block and the one before: it may be on another branch of the chain.";
const NO_STATE =
  "the node no longer has the state of that block or the one before, and the vault is in another round by now. Only an archive node can show which round was settled.";

/**
 * What the block did to the round that its transaction was meant for: it was open before and
 * is settled by it, or made way for the next one; or it was settled before; or the transaction
 * may have settled another round.
 */
function describeEffect(
  intended: VaultRound,
  { guard }: SettlementRoute,
  block: number,
  { before, after, isPast = false }: Around,
): Pick<Found, "isFinal" | "reason" | "status"> {
  const settled = { status: "settled", isFinal: true } as const;
  const notKnown = (what: string, isFinal: boolean) => {
    const reason = `It was mined in block ${block}, but ${what}`;
    return { status: "unconfirmed", reason, isFinal } as const;
  };
  if (after === undefined) {
    return notKnown(isPast ? NO_STATE : UNREAD, isPast);
  }
  const fate = fateOf(intended, after);
  const isSettled = fate === "settled" || fate === "followed";
  const wasOpen =
    before === undefined ? undefined : fateOf(intended, before) === "open";
  if (guard?.mustSettle === true) {
    return isSettled && wasOpen !== false
      ? settled
      : notKnown(CONTRADICTED, false);
  }
  const round = describeRound(intended);
  const latest = `${describeRound(after)}, settled: ${after.settled ? "yes" : "no"}`;
  if (!isSettled) {
    const reason = `It was mined in block ${block} without a revert, but ${round} is not settled by it. The latest in that block is ${latest}.`;
    return { status: "not-settled", reason, isFinal: true };
  }
  if (wasOpen === true) {
    return settled;
  }
  if (before === undefined) {
    const reason = `The round is settled at the end of block ${block}, but the node no longer has the state of the block before: whose settlement it is is not known.`;
    return fate === "settled"
      ? { ...settled, reason }
      : notKnown(NO_STATE, true);
  }
  const isUnchanged =
    isSameRound(before, after) &&
    before.settled === after.settled &&
    before.settledAmount === after.settledAmount;
  return fate === "settled" || isUnchanged
    ? {
        status: "nothing-to-do",
        reason: `The round was settled by somebody else before block ${block}, in which this transaction was mined. It settled nothing.`,
        isFinal: true,
      }
    : {
        status: "not-settled",
        reason: `MISMATCH: it was meant for ${round}, but in block ${block} the vault is in another one, ${latest}. Look at that block: the round may have changed just before this transaction, which then settled the other one.`,
        isFinal: true,
      };
}

/**
 * A receipt has no revert reason, so the call is simulated at its block. If it used up its
 * gas, it gets all of the block's: a contract that has another reason has it still.
 */
async function whyReverted(
  vault: VaultHost,
  intended: VaultRound,
  route: SettlementRoute,
  { transaction, receipt }: Mined,
  after: VaultRound | undefined,
): Promise<KnownValues> {
  const { gas } = transaction;
  const { blockNumber, gasUsed } = receipt;
  const status = "reverted";
  const isUsedUp = usesAllGas({ gasUsed, gasGiven: gas });
  const ask = async () => {
    const most = isUsedUp
      ? (await getBlock(vault.rpc, blockNumber)).gasLimit
      : gas;
    const call = settlementCall(route);
    return { reverted: await tryCall(vault.rpc, call, blockNumber, most) };
  };
  // The outcome is known even without a reason.
  const asked = await ask().catch(fallbackTo(undefined));
  const reverted = asked?.reverted;
  const inner =
    reverted === undefined ? reverted : innerReason(reverted, route);
  if (isUsedUp && (inner === undefined || inner.kind === "none")) {
    const remedy =
      "Give it more (gas, or gasMultiplier, of the network's configuration).";
    const isCertain = asked !== undefined;
    const limit = { gas, limit: "it was given", remedy };
    return { status, ...outOfGas(vault.networkName, isCertain, limit) };
  }
  if (reverted === undefined) {
    const reason = "the reason could not be found out";
    return { status, code: "VAULT_CALL_REVERTED", reason };
  }
  const { code, reason } = await explainRefusal(vault, reverted, route);
  const isFollowed =
    after !== undefined && fateOf(intended, after) === "followed";
  // The guard found the round settled, or the next one in its place.
  if (code === null || (code === "VAULT_ROUND_CHANGED" && isFollowed)) {
    return {
      status: "nothing-to-do",
      reason: `The transaction was mined in block ${blockNumber} and refused by the guard: somebody else had settled the round.`,
    };
  }
  const by =
    code === "VAULT_WOULD_NOT_SETTLE"
      ? "The guard reverted it, so nothing changed. "
      : "";
  return { status, code, reason: withoutSent(`${by}${reason}`) };
}

/** What an error says that stops a settlement before it is sent, of one that was sent. */
function withoutSent(text: string): string {
  return text.replace(/ Nothing was sent\.$/u, "");
}

/**
 * What stays in the guard: tokens, by the events of the transaction, and native currency that
 * the code of its account sent back. An event alone moves nothing, so the balances are read.
 */
async function whatStays(
  vault: VaultHost,
  { from, guard }: SettlementRoute,
  { succeeded, logs, blockNumber: number, blockHash: hash }: Receipt,
): Promise<Required<Pick<KnownValues, "code" | "reason">> | undefined> {
  if (guard === undefined || succeeded === false) {
    return undefined;
  }
  const { rpc } = vault;
  const { address, tokens } = guard;
  const riseOf = async (
    read: (block: BlockId) => Promise<bigint>,
    ifNotKnown: bigint,
  ): Promise<bigint> =>
    await Promise.all([read({ number, hash }), read(number - 1)]).then(
      ([after, before]) => after - before,
      fallbackTo(ifNotKnown),
    );
  const kept: Address[] = [];
  for (const [token, gain] of gainsIn(address, logs)) {
    const { target: to, data } = balanceCall(token, address);
    const read = async (block: BlockId): Promise<bigint> => {
      const call = { from: address, to, data };
      const balance = balanceIn(await callContract(rpc, call, block));
      return typeof balance === "bigint" ? balance : 0n;
    };
    const mayStay = gain > 0n && !tokens.includes(token);
    if (mayStay && (await riseOf(read, gain)) > 0n) {
      kept.push(token);
    }
  }
  const money = await riseOf(
    async (block) => await getBalance(rpc, address, block),
    0n,
  );
  const { code, fix } = keepsTokens(vault, guard, kept);
  const reasons = [
    kept.length > 0 &&
      `By the events of the transaction, tokens stay in the guard ${address}, from which nobody can take them: ${kept.join(", ")}. For the next settlement: ${withoutSent(fix)}`,
    money > 0n &&
      `The guard ${address} has ${money} wei more than before: the code of ${from} sends native currency back. The next settlement through it by an account without code takes it.`,
  ].filter((reason) => reason !== false);
  return reasons.length === 0 ? undefined : { code, reason: reasons.join(" ") };
}
