import { concat, zeroPadValue } from "ethers";

import { isFailedReading } from "../client/failed-reading.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import { fallbackTo } from "../errors.js";
import type { VaultError } from "../errors.js";
import { gainsIn } from "../simulation/tokens.js";
import { parseGuarded } from "../guard/round-guard.js";
import type { VaultHost } from "../host.js";
import type { Address, VaultRound } from "../protocol/index.js";
import { describeRound, isSameRound } from "../protocol/round.js";
import { getBalance, hasCode } from "../rpc/accounts.js";
import type { BlockId } from "../rpc/block-id.js";
import { getBlock, getWithParent } from "../rpc/blocks.js";
import { isReorganised, readOnBranch } from "../rpc/pinned-block.js";
import type { BlockInfo } from "../rpc/blocks.js";
import { callContract, tryCall } from "../rpc/calls.js";
import { getReceipt } from "../rpc/transactions.js";
import type { Receipt } from "../rpc/transactions.js";
import { keepsTokens } from "../guard/call.js";
import type { SettlementRoute } from "../guard/call.js";
import {
  effectOf,
  explainRefusal,
  fateOf,
  innerReason,
  outOfGas,
  usesAllGas,
} from "../guard/outcome.js";
import type { Refusal } from "../guard/outcome.js";
import type { Simulation } from "../simulation/types.js";
import { differencesByMoreThanTime } from "./differences.js";
import type { Outcome } from "../sending/follow.js";
import type { JournalEntry } from "../sending/journal.js";
import type { Mined } from "../sending/look.js";
import { observe } from "./observe.js";
import { toSettlement } from "./result.js";
import type { KnownValues, SettlementResult } from "./result.js";

/** Describes the end of a followed settlement, compared with the preview. */
export async function describeEnd(
  vault: VaultHost,
  entry: JournalEntry,
  end: Outcome,
  preview: Simulation | null,
  confirmations = 1,
): Promise<SettlementResult> {
  const known = { ...entry, preview };
  const [{ chainId }] = entry.transactions;
  if (end.kind !== "mined") {
    const isFinal = end.kind !== "undecided";
    // In process there is no journal to resume from.
    const canResume =
      !isFinal && vault.connection.networkConfig.type === "http";
    const wanted = confirmations > 1 ? `, confirmations: ${confirmations}` : "";
    const reason = canResume
      ? `${end.reason} settleAll({ resume: true${wanted} }) takes it up again.`
      : end.reason;
    const receipt = end.kind === "stopped" ? undefined : end.receipt;
    const settlement = toSettlement({ ...receipt, ...end, reason }, known);
    const forCommandLine =
      end.kind === "stopped"
        ? { refusal: end.error }
        : canResume
          ? { openReason: end.reason }
          : {};
    return { settlement, isFinal, chainId, ...forCommandLine };
  }
  const { receipt, transaction } = end;
  const { blockNumber, succeeded } = receipt;
  if (transaction.kind === "cancellation") {
    const { from, nonce } = transaction;
    const reason = `The cancellation of ${from} used nonce ${nonce} in block ${blockNumber}, so the settlement can never be mined.`;
    const cancelled = {
      ...receipt,
      ...end,
      status: "cancelled",
      reason,
    } as const;
    return {
      settlement: toSettlement(cancelled, known),
      isFinal: true,
      chainId,
    };
  }
  // The receipt proves that a node behind this provider has that block.
  vault.rpc.node.blocks.note(blockNumber);
  const seen = await readAround(vault, entry, end, preview !== null);
  if (seen.round === undefined && (await isGone(vault, receipt))) {
    // A node may promise a block that never comes.
    const reason = `The node showed it in block ${blockNumber}, but has neither that block nor the receipt any more: it may still be mined.`;
    const gone = { status: "unconfirmed", hash: end.hash, reason } as const;
    return { settlement: toSettlement(gone, known), chainId, isFinal: false };
  }
  const found =
    succeeded === false
      ? { isFinal: true, ...(await findReason(vault, entry, end)) }
      : describeEffect(entry, end, seen);
  const differences =
    preview === null || seen.all === undefined
      ? null
      : await differencesByMoreThanTime(
          vault,
          preview,
          receipt,
          seen.earlier?.all,
          seen.all,
        );
  const { block, round: after } = seen;
  const { isFinal, ...effects } = found;
  const values = { ...effects, after, differences };
  const kept = await withKeptMoney(
    vault,
    entry,
    end,
    await withKept(vault, entry, end, preview, values),
  );
  const settlement = toSettlement({ ...receipt, ...kept }, known);
  return { settlement, chainId, block, isFinal };
}

/** Adds the tokens that stay in the guard by the receipt's events. */
async function withKept(
  vault: VaultHost,
  entry: JournalEntry,
  mined: Mined,
  preview: Simulation | null,
  values: KnownValues,
): Promise<KnownValues> {
  const { guard } = routeOf(entry, mined);
  const { succeeded, logs } = mined.receipt;
  if (guard === undefined || succeeded === false) {
    return values;
  }
  // The preview has read the balance behind each of its events: nothing stayed of these.
  const isPreviewed = (token: Address, gain: bigint): boolean => {
    let previewed = 0n;
    for (const one of preview?.transfers ?? []) {
      if (one.token === token) {
        previewed += one.to === guard.address ? one.amount : 0n;
        previewed -= one.from === guard.address ? one.amount : 0n;
      }
    }
    return gain <= previewed;
  };
  const gained = [...gainsIn(guard.address, logs)].flatMap(([token, gain]) =>
    gain <= 0n || guard.tokens.includes(token) || isPreviewed(token, gain)
      ? []
      : token,
  );
  const kept: Address[] = [];
  for (const token of gained) {
    // A preview has read the balance behind such an event.
    const stays =
      preview !== null ||
      (await hasTokens(vault, token, guard.address, mined.receipt));
    if (stays) {
      kept.push(token);
    }
  }
  if (kept.length === 0) {
    return values;
  }
  const { code, fix } = keepsTokens(vault, guard, kept);
  const advice = withoutSent(fix);
  // Without a preview, a token whose balance cannot be read counts, too.
  const stay = preview === null ? "may stay" : "stay";
  const what = `By the events of the transaction, tokens ${stay} in the guard ${guard.address}, from which nobody can take them: ${kept.join(", ")}. For the next settlement: ${advice}`;
  const reason = [values.reason, what].filter(Boolean).join(" ");
  return { ...values, code, reason };
}

/** False if the token says so: an event that only looks like a transfer moves nothing. */
async function hasTokens(
  { rpc }: VaultHost,
  token: Address,
  owner: Address,
  { blockNumber: number, blockHash: hash }: Receipt,
): Promise<boolean> {
  const data = concat(["0x70a08231", zeroPadValue(owner, 32)]);
  const call = { from: owner, to: token, data };
  return await callContract(rpc, call, { number, hash }).then(
    (answer) => !("data" in answer) || answer.data.some((byte) => byte !== 0),
    fallbackTo(true),
  );
}

/** Adds the native currency that the code of the account sent back to the guard. */
async function withKeptMoney(
  vault: VaultHost,
  entry: JournalEntry,
  mined: Mined,
  values: KnownValues,
): Promise<KnownValues> {
  const { from, guard } = routeOf(entry, mined);
  const { succeeded, blockNumber, blockHash } = mined.receipt;
  if (guard === undefined || succeeded === false) {
    return values;
  }
  // An account without code sends nothing back.
  if (!(await hasCode(vault.rpc, from).catch(fallbackTo(true)))) {
    return values;
  }
  const balanceAt = async (block: BlockId): Promise<bigint> =>
    await getBalance(vault.rpc, guard.address, block);
  const kept = await Promise.all([
    balanceAt(blockNumber - 1),
    balanceAt({ number: blockNumber, hash: blockHash }),
  ]).then(([before, after]) => after - before, fallbackTo(0n));
  if (kept <= 0n) {
    return values;
  }
  const what = `The guard ${guard.address} has ${kept} wei more than before, from which nobody can take them: ${from} has code that sends native currency back. Settle with an account without code.`;
  const reason = [values.reason, what].filter(Boolean).join(" ");
  return { ...values, code: "VAULT_GUARD_KEEPS_TOKENS", reason };
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

/** State at a block. */
interface State {
  readonly block: BlockInfo;
  readonly round: VaultRound;
  /** All readings, for the comparison with a preview. */
  readonly all?: VaultSnapshot;
}

/** State around the transaction, as far as it can be read. */
interface Around extends Partial<State> {
  /** State one block before. */
  readonly earlier?: State | undefined;
  /** True if only a later round could be read. */
  readonly isElsewhere?: boolean;
}

/**
 * Reads the round at the hash of the receipt's block, with the state at that of its parent.
 * If the node keeps no such state: the round at the newest block of the same branch, if it
 * is the same one.
 */
async function readAround(
  vault: VaultHost,
  { round: before }: JournalEntry,
  { receipt }: Mined,
  wantsAll: boolean,
): Promise<Around> {
  const { blockNumber, blockHash, succeeded } = receipt;
  const pin = { number: blockNumber, hash: blockHash };
  const pinned = vault.pinnedTo(pin);
  const proven = async () => {
    const { block, parent } = await getWithParent(vault.rpc, pin);
    return await readOnBranch(
      vault.rpc,
      pin,
      async () =>
        await Promise.all([
          stateAt(vault.pinnedTo(block), blockNumber, wantsAll),
          ...(succeeded === false
            ? []
            : [stateAt(vault.pinnedTo(parent), parent.number, wantsAll)]),
        ]),
    );
  };
  // The node has another branch, or no answer.
  const seen = await proven().catch(fallbackTo(undefined));
  if (seen === undefined) {
    return {};
  }
  const [after, earlier] = seen;
  if (after !== undefined) {
    return { ...after, earlier };
  }
  const newest = await stateAt(vault, "latest", false);
  const isSameBranch = await pinned
    .requirePin()
    .then(() => true, fallbackTo(false));
  if (
    newest === undefined ||
    newest.block.number < blockNumber ||
    !isSameBranch
  ) {
    return {};
  }
  const { round } = newest;
  return isSameRound(round, before)
    ? { round, earlier }
    : { isElsewhere: true };
}

/**
 * @returns Undefined if the node lacks the state.
 * @throws VaultError VAULT_REORGED
 */
async function stateAt(
  vault: VaultHost,
  block: number | "latest",
  wantsAll: boolean,
): Promise<State | undefined> {
  const isNoState = (error: VaultError): boolean => !isReorganised(error);
  const all = wantsAll
    ? await vault
        .snapshot({ blockTag: block })
        .catch(fallbackTo(undefined, isNoState))
    : undefined;
  return all !== undefined && !isFailedReading(all.round)
    ? { block: all.block, round: all.round, all }
    : await observe(vault, block).catch(fallbackTo(undefined, isNoState));
}

/** The values of an end, and whether a later look can find more. */
type Effects = KnownValues & Pick<SettlementResult, "isFinal">;

function describeEffect(
  entry: JournalEntry,
  mined: Mined,
  { round: after, earlier, isElsewhere = false }: Around,
): Effects {
  const { round: intended } = entry;
  const { receipt } = mined;
  const { blockNumber, succeeded } = receipt;
  const how =
    succeeded === undefined
      ? "and the node does not show if it reverted;"
      : "without a revert, but";
  const end = (
    status: KnownValues["status"],
    what: string,
    isFinal = true,
  ): Effects => ({
    status,
    reason: `It was mined in block ${blockNumber} ${how} ${what}`,
    isFinal,
  });
  if (after === undefined) {
    return isElsewhere
      ? end("unconfirmed", NO_STATE)
      : end("unconfirmed", UNREAD, false);
  }
  const isGuarded = guardSettles(entry, mined);
  const effect = effectOf(intended, earlier?.round, after);
  if (isGuarded && effect !== "settles" && effect !== "unseen") {
    return end("unconfirmed", CONTRADICTED, false);
  }
  const latest = `${describeRound(after)}, settled: ${after.settled ? "yes" : "no"}`;
  const isFollowed = fateOf(intended, after) === "followed";
  const settled = (reason?: string): Effects => ({
    status: "settled",
    isFinal: true,
    ...(reason !== undefined && !isGuarded && { reason }),
  });
  switch (effect) {
    case "open":
      return end(
        "not-settled",
        `${describeRound(after)} is not settled in that block.`,
      );
    case "replaced":
      return end(
        "not-settled",
        `in that block the vault's round is another one, which does not follow ${describeRound(intended)}: ${latest}. A later start would show that it was settled.`,
      );
    case "settled-before":
    case "followed-before":
      return settledByOther(receipt);
    case "other":
      return {
        status: "not-settled",
        reason: `MISMATCH: it was meant for ${describeRound(intended)}, but in block ${blockNumber} the vault is in another one, ${latest}. Look at that block: the round may have changed just before this transaction, which then settled the other one.`,
        isFinal: true,
      };
    case "unseen":
      return isFollowed && !isGuarded
        ? end("unconfirmed", NO_STATE)
        : settled(
            `The round is settled at the end of block ${blockNumber}, but the node no longer has the state of the block before: whose settlement it is is not known.`,
          );
    case "settles":
      return settled();
  }
}

const UNREAD =
  "the round could not be read afterwards, so what it settled is not known.";
const CONTRADICTED =
  "that call through the guard succeeds only if it settles the round, which is not what the node shows of that block and the one before: it may be on another branch of the chain.";
const NO_STATE =
  "the node no longer has the state of that block or the one before, and the vault is in another round by now. Only an archive node can show which round was settled.";

/** A guard reverts unless its call settles the round. */
function guardSettles(entry: JournalEntry, mined: Mined): boolean {
  return routeOf(entry, mined).guard?.mustSettle === true;
}

function settledByOther({ blockNumber, hash }: Receipt): Effects {
  return {
    isFinal: true,
    status: "nothing-to-do",
    reason: `The round was settled by somebody else before block ${blockNumber}, in which this transaction was mined. It settled nothing.`,
    hash,
    hashes: [hash],
  };
}

/**
 * A receipt has no revert reason, so the call is simulated at its block. If it used up its
 * gas, it gets all of the block's: a contract that has another reason has it still.
 */
async function findReason(
  vault: VaultHost,
  entry: JournalEntry,
  mined: Mined,
): Promise<KnownValues> {
  const status = "reverted";
  const { from, to, data, gas } = mined.transaction;
  const { blockNumber, gasUsed, hash } = mined.receipt;
  const isUp = usesAllGas({ gasUsed, gasGiven: gas });
  const ask = async () => {
    const most = isUp ? (await getBlock(vault.rpc, blockNumber)).gasLimit : gas;
    const call = { from, to, data };
    return { reverted: await tryCall(vault.rpc, call, blockNumber, most) };
  };
  // The outcome is known even without a reason.
  const asked = await ask().catch(fallbackTo(undefined));
  const reverted = asked?.reverted;
  const route = routeOf(entry, mined);
  const inner =
    reverted === undefined ? undefined : innerReason(reverted, route);
  if (isUp && (inner === undefined || inner.kind === "none")) {
    const remedy =
      "Give it more (gas, or gasMultiplier, of the network's configuration).";
    const isCertain = asked !== undefined;
    const limit = [gas, "it was given", remedy] as const;
    return { status, ...outOfGas(vault.networkName, isCertain, ...limit) };
  }
  const reason = "the reason could not be found out";
  if (reverted === undefined) {
    return { status, code: "VAULT_CALL_REVERTED", reason };
  }
  const refusal = await explainRefusal(vault, reverted, route);
  // The guard found the round settled, or the next one in its place.
  const isLate =
    refusal.code === null ||
    (refusal.code === "VAULT_ROUND_CHANGED" &&
      (await hasNextRound(vault, entry, blockNumber)));
  if (!isLate) {
    return { status, code: refusal.code, reason: ofMined(refusal) };
  }
  return {
    status: "nothing-to-do",
    reason: `The transaction was mined in block ${blockNumber} and refused by the guard: somebody else had settled the round.`,
    hashes: [hash],
  };
}

/** The reason of a refusal, of a transaction that was sent: it says what the chain did. */
function ofMined({ code, reason }: Refusal): string {
  const text = withoutSent(reason);
  return code === "VAULT_WOULD_NOT_SETTLE"
    ? `The guard reverted it, so nothing changed. ${text}`
    : text;
}

/** What an error says that stops a settlement before it is sent, of one that was sent. */
function withoutSent(text: string): string {
  return text.replace(/ Nothing was sent\.$/u, "");
}

/** True if a round with a later start is the latest in a block. */
async function hasNextRound(
  vault: VaultHost,
  { round }: JournalEntry,
  block: number,
): Promise<boolean> {
  const seen = await stateAt(vault, block, false).catch(fallbackTo(undefined));
  return seen !== undefined && fateOf(round, seen.round) === "followed";
}

/** The way of a transaction in the journal. */
function routeOf(
  { guard }: JournalEntry,
  { transaction }: Mined,
): SettlementRoute {
  const { from, to, data } = transaction;
  return {
    from,
    vault: to,
    ...(guard !== undefined && parseGuarded(guard, data)),
  };
}
