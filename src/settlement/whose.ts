import { isHexString, zeroPadValue } from "ethers";

import { decodeAnswer, encodeCall } from "../client/codec.js";
import {
  encodeRead,
  parseRead,
  simulationLensCode,
} from "../client/lens/simulation-lens.js";
import { fallbackTo } from "../errors.js";
import type { VaultHost } from "../host.js";
import { asRecord } from "../json.js";
import type { VaultRound } from "../protocol/index.js";
import { isSameRound } from "../protocol/round.js";
import { callContract } from "../rpc/calls.js";
import { fewRetries } from "../rpc/retry.js";
import { getReceipt, getTransactions } from "../rpc/transactions.js";
import type { Receipt } from "../rpc/transactions.js";
import type { Simulation } from "../simulation/types.js";

/** A transfer of native currency to an account without code: it runs none. */
const PLAIN_TRANSFER_GAS = 21_000n;

/** Receipts to ask for, one request each; a block of a live chain has hundreds. */
const MOST_RECEIPTS = 20;

/** The transaction that left the round as it is at the end of a block. */
export type Whose =
  | "ours"
  | "unknown"
  /** The round that the block would end with, if this transaction had changed nothing. */
  | { readonly without: VaultRound };

/** The round that was meant, around the block of the transaction. */
export interface Around {
  /** True if the round was not settled one block before. */
  readonly isOpenBefore: boolean;
  /** True if another round is the latest one at the end of the block. */
  readonly isReplaced: boolean;
}

/**
 * Finds out if this transaction settled the round, which is settled at the end of its
 * block, or replaced by the next one.
 */
export async function whoseEffect(
  vault: VaultHost,
  round: VaultRound,
  receipt: Receipt,
  previewed: Simulation | null,
  { isOpenBefore, isReplaced }: Around,
): Promise<Whose> {
  // A call that finds the round settled does less, and so uses other gas. A call that
  // settles the next round may use the same.
  if (
    !isReplaced &&
    previewed?.status === "settled" &&
    previewed.gasUsed === receipt.gasUsed
  ) {
    return "ours";
  }
  if (isOpenBefore && (await isFirst(vault, receipt, previewed))) {
    return "ours";
  }
  const without = await roundWithout(vault, receipt);
  if (without === undefined) {
    return "unknown";
  }
  return isSameRound(without, round) && !without.settled ? "ours" : { without };
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
    const trace = await rpc.request("debug_traceTransaction", [
      hash,
      { tracer: "prestateTracer", tracerConfig: { diffMode: true } },
    ]);
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
        (decodeAnswer({
          call,
          target,
          network: vault.networkName,
          answer,
          hasCode: true,
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
