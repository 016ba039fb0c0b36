import { id } from "ethers";

import { encodeCall } from "../client/codec.js";
import { isNotConfigured } from "../client/failed-reading.js";
import type { VaultReader } from "../client/reader.js";
import { fallbackTo } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import { isSameRound } from "../protocol/round.js";
import { fateOf } from "../settlement-call/outcome.js";
import { getLogs, getReceipt, getTransactions } from "../rpc/transactions.js";
import type { Receipt } from "../rpc/transactions.js";
import type { JournalEntry } from "./journal-file.js";
import { observe } from "./observe.js";
import type { Mined } from "./result.js";

/**
 * Finds out if another transaction of the block touched the vault: it goes there, or the
 * vault wrote a log in it.
 *
 * @returns Undefined if the node does not show it.
 */
export async function othersTouchVault(
  vault: VaultHost,
  { hash, blockHash, blockNumber }: Receipt,
): Promise<boolean | undefined> {
  const { address } = await vault.addressOf("vault");
  const target = address.toLowerCase();
  try {
    const [transactions, logs] = await Promise.all([
      getTransactions(vault.rpc, blockNumber),
      getLogs(vault.rpc, { address, blockHash }),
    ]);
    // Without its own transaction it is another block.
    return transactions.some((one) => one.hash === hash)
      ? transactions.some((one) => one.to === target && one.hash !== hash) ||
          logs.some(({ transactionHash }) => transactionHash !== hash)
      : undefined;
  } catch (error) {
    fallbackTo(undefined)(error);
    return undefined;
  }
}

/** Says who settled the round of a transaction that came too late, as far as it is seen. */
export async function describeWhoSettled(
  vault: VaultHost,
  { round, sentAfterBlock }: JournalEntry,
  { transaction, receipt: { blockNumber: minedIn } }: Mined,
): Promise<string> {
  const unknown = "somebody else had settled the round.";
  const isSettled = (seen: VaultRound): boolean =>
    ["settled", "followed"].includes(fateOf(round, seen));
  try {
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

/**
 * Searches by halves for the block at which something changes for good.
 *
 * @param before A block before the change.
 * @param after A later block, after it.
 * @returns The first block after the change.
 */
async function halve(
  before: number,
  after: number,
  hasChanged: (block: number) => Promise<boolean>,
): Promise<number> {
  let [low, high] = [before, after];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    [low, high] = (await hasChanged(middle)) ? [low, middle] : [middle, high];
  }
  return high;
}

const SELECTOR_DIGITS = 8;

/** First hex digits of the calls that settle: the vault's own, and the guard's. */
function settlingCalls(): readonly string[] {
  return [
    encodeCall("settleAll", []).data,
    id("settle(address,address,uint256,uint256,bool,bool,address[])"),
  ].map((data) => data.slice(2, 2 + SELECTOR_DIGITS));
}

/**
 * True if a transaction of the block settled the vault: it succeeded, and calls
 * `settleAll` itself or has the call in its data, as those of a Safe or a guard. A call
 * that a contract makes by itself is not seen.
 */
async function hasSettlement(
  vault: VaultReader,
  block: number,
): Promise<boolean> {
  const located = await vault
    .addressOf("vault", "settleAll")
    .catch(fallbackTo(undefined, isNotConfigured));
  if (located === undefined) {
    return false;
  }
  const address = located.address.slice(2).toLowerCase();
  const calls = settlingCalls();
  const suspects = (await getTransactions(vault.rpc, block)).filter(
    ({ to, data }) =>
      calls.some((call) => data.includes(call)) &&
      (to === `0x${address}` || data.includes(address)),
  );
  const receipts = await Promise.all(
    suspects.map(async ({ hash }) => await getReceipt(vault.rpc, hash)),
  );
  // A receipt without status proves nothing.
  return receipts.some((receipt) => receipt?.succeeded === true);
}
