import { isHexString, zeroPadValue } from "ethers";

import { decodeOrThrow, encodeCall } from "../client/codec.js";
import {
  encodeRead,
  parseRead,
  simulationLensCode,
} from "../client/lens/simulation-lens.js";
import { halve, hasSettlement } from "../client/rounds.js";
import { fallbackTo } from "../errors.js";
import type { VaultHost } from "../host.js";
import { asRecord } from "../json.js";
import type { VaultRound } from "../protocol/index.js";
import { isSameRound } from "../protocol/round.js";
import { callContract } from "../rpc/calls.js";
import { fewRetries } from "../rpc/retry.js";
import { traceTransaction } from "../rpc/traces.js";
import { getReceipt, getTransactions } from "../rpc/transactions.js";
import type { Receipt } from "../rpc/transactions.js";
import type { Simulation } from "../simulation/types.js";
import type { JournalEntry } from "./journal-file.js";
import { observe } from "./observe.js";
import type { Mined } from "./result.js";

/** A transfer of native currency to an account without code: it runs none. */
const PLAIN_TRANSFER_GAS = 21_000n;

/** Receipts to ask for, one request each; a block of a live chain has hundreds. */
const MOST_RECEIPTS = 20;

/** The transaction that left the round as it is at the end of a block. */
type Whose =
  | { readonly kind: "ours" | "unknown" }
  | {
      readonly kind: "not-ours";
      /** The round that the block would end with, without this transaction. */
      readonly without: VaultRound;
    };

/**
 * Finds out if this transaction settled the round, which is settled at the end of its
 * block, or has made way for the next one.
 */
export async function whoseEffect(
  vault: VaultHost,
  round: VaultRound,
  receipt: Receipt,
  previewed: Simulation | null,
  {
    isOpenBefore,
    isNextRound,
  }: {
    /** True if the round was not settled one block before. */
    readonly isOpenBefore: boolean;
    /** True if another round is the latest one at the end of the block. */
    readonly isNextRound: boolean;
  },
): Promise<Whose> {
  // A call that finds the round settled does less, and so uses other gas. A call that
  // settles the next round may use the same.
  if (
    !isNextRound &&
    previewed?.status === "settled" &&
    previewed.gasUsed === receipt.gasUsed
  ) {
    return { kind: "ours" };
  }
  if (isOpenBefore && (await isFirst(vault, receipt, previewed))) {
    return { kind: "ours" };
  }
  const without = await roundWithout(vault, receipt);
  if (without === undefined) {
    return { kind: "unknown" };
  }
  return isSameRound(without, round) && !without.settled
    ? { kind: "ours" }
    : { kind: "not-ours", without };
}

/**
 * True if no other transaction of the block can have settled the round: there is none, or
 * they failed or ran no code, or come after one that was previewed to settle it.
 */
async function isFirst(
  { rpc }: VaultHost,
  { hash, blockNumber }: Receipt,
  previewed: Simulation | null,
): Promise<boolean> {
  const all = await getTransactions(rpc, blockNumber).catch(
    fallbackTo(undefined),
  );
  const hashes = all?.map((one) => one.hash) ?? [];
  const place = hashes.indexOf(hash);
  if (place === -1) {
    return false;
  }
  const settlesFirst = previewed?.status === "settled";
  const others = settlesFirst
    ? hashes.slice(0, place)
    : hashes.filter((one) => one !== hash);
  if (others.length > MOST_RECEIPTS) {
    return false;
  }
  const receipts = await Promise.all(
    others.map(
      async (other) =>
        await getReceipt(rpc, other).catch(fallbackTo(undefined)),
    ),
  );
  return receipts.every(
    (other) =>
      other !== undefined &&
      (other.succeeded === false || other.gasUsed <= PLAIN_TRANSFER_GAS),
  );
}

/**
 * Reads the round at the end of the transaction's block as if the transaction had written
 * nothing: its trace names what was there before it, which a state override puts back.
 *
 * @returns Undefined if the node cannot trace, or takes no state overrides.
 */
async function roundWithout(
  vault: VaultHost,
  { hash, blockNumber }: Receipt,
): Promise<VaultRound | undefined> {
  const rpc = vault.rpc.withRetries(fewRetries);
  const call = encodeCall("getLatestRoundInfo", []);
  try {
    const trace = await traceTransaction(rpc, hash, "changes");
    const undone = undoing(trace);
    if (undone === undefined) {
      return undefined;
    }
    const target = await vault.addressOf(call.role, "getLatestRoundInfo");
    const { from } = vault.readContext({});
    const data = encodeRead([{ target: target.address, data: call.data }]);
    // Without state overrides there is no lens to answer.
    const [answer] = parseRead(
      await callContract(rpc, { from, to: from, data }, blockNumber, {
        ...undone,
        [from]: { code: simulationLensCode },
      }),
    );
    return answer === undefined
      ? undefined
      : // the decoder follows the table entry that makes the type
        (decodeOrThrow({
          call,
          target,
          network: vault.networkName,
          answer,
          lacksCode: false,
        }) as VaultRound);
  } catch (error) {
    fallbackTo(undefined)(error);
    return undefined;
  }
}

/** State overrides that put back all storage that a `prestateTracer` diff names. */
function undoing(
  trace: unknown,
): Readonly<Record<string, { stateDiff: Record<string, string> }>> | undefined {
  const { pre, post } = asRecord(trace);
  if (typeof pre !== "object" || typeof post !== "object") {
    return undefined;
  }
  const undone: Record<string, { stateDiff: Record<string, string> }> = {};
  for (const [account, changed] of Object.entries(asRecord(post))) {
    const was = asRecord(asRecord(asRecord(pre)[account])["storage"]);
    const is = asRecord(asRecord(changed)["storage"]);
    const stateDiff: Record<string, string> = {};
    for (const slot of new Set([...Object.keys(was), ...Object.keys(is)])) {
      // A slot that was zero is not listed.
      const value = was[slot] ?? "0x";
      if (!isHexString(value)) {
        return undefined;
      }
      stateDiff[slot] = zeroPadValue(value, 32);
    }
    if (Object.keys(stateDiff).length > 0) {
      undone[account] = { stateDiff };
    }
  }
  return undone;
}

/**
 * Says who settled the round of a transaction that came too late, as far as it is seen.
 *
 * @returns Undefined if the round is not settled: then the refusal is the vault's, not the guard's.
 */
export async function describeWhoSettled(
  vault: VaultHost,
  { round, sentAfterBlock }: JournalEntry,
  { transaction, receipt: { blockNumber: minedIn } }: Mined,
): Promise<string | undefined> {
  const unknown = "somebody else had settled the round.";
  const isSettled = (seen: VaultRound): boolean =>
    seen.settled || !isSameRound(seen, round);
  try {
    const { round: then } = await observe(vault, minedIn);
    if (!isSettled(then)) {
      return undefined;
    }
    // It was open when this transaction was made.
    const settled = await findChange(vault, sentAfterBlock, minedIn, isSettled);
    const { address } = await vault.addressOf("vault");
    const targets = [address, transaction.to].map((to) => to.toLowerCase());
    const found = (await getTransactions(vault.rpc, settled)).filter(
      ({ hash, to }) =>
        hash !== transaction.hash && targets.includes(String(to)),
    );
    const [only] = found;
    return only === undefined || found.length > 1
      ? `somebody else had settled the round in block ${settled}.`
      : `${only.from} had settled the round in block ${settled} with transaction ${only.hash}.`;
  } catch (error) {
    return fallbackTo(unknown)(error);
  }
}

/**
 * Finds the block that settled a round, between one that has it unsettled and a later one
 * that has it settled.
 *
 * @returns Undefined if the node lacks the state of a block in between.
 */
export async function settlingBlock(
  vault: VaultHost,
  unsettled: number,
  settled: number,
): Promise<number | undefined> {
  return await findChange(
    vault,
    unsettled,
    settled,
    (seen) => seen.settled,
  ).catch(fallbackTo(undefined));
}

/**
 * Finds the block that settled a round, between one that has it unsettled and a later one
 * that has another round.
 *
 * @returns Undefined if no settlement is seen.
 */
export async function settledBeforeNext(
  vault: VaultHost,
  round: VaultRound,
  unsettled: number,
  next: number,
): Promise<number | undefined> {
  const isOther = (seen: VaultRound): boolean => !isSameRound(seen, round);
  const first = await findChange(vault, unsettled, next, isOther).catch(
    fallbackTo(undefined),
  );
  if (first === undefined) {
    return undefined;
  }
  const last = await observe(vault, first - 1).catch(fallbackTo(undefined));
  if (last?.round.settled === true) {
    return await settlingBlock(vault, unsettled, first - 1);
  }
  const isSettling = await hasSettlement(vault, first).catch(fallbackTo(false));
  return isSettling ? first : undefined;
}

/** @returns First block whose round is changed, between one without and one with it. */
async function findChange(
  vault: VaultHost,
  unchanged: number,
  changed: number,
  isChanged: (round: VaultRound) => boolean,
): Promise<number> {
  return await halve(unchanged, changed, async (block) => {
    const { round } = await observe(vault, block);
    return isChanged(round);
  });
}
