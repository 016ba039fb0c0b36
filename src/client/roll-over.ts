import { id } from "ethers";

import { fallbackTo } from "../errors.js";
import { getReceipt, getTransactions } from "../rpc/transactions.js";
import { encodeCall } from "./codec.js";
import { isNotConfigured } from "./failed-reading.js";
import type { VaultReader } from "./reader.js";

const SELECTOR_DIGITS = 8;

/** First hex digits of the calls that settle: the vault's own, and the guard's. */
const settlingCalls: readonly string[] = [
  encodeCall("settleAll", []).data,
  id("settle(address,address,uint256,uint256,bool,bool)"),
].map((data) => data.slice(2, 2 + SELECTOR_DIGITS));

/**
 * True if a transaction of the block settled the vault: it succeeded, and calls
 * `settleAll` itself or has the call in its data, as those of a Safe or a guard. A call
 * that a contract makes by itself is not seen.
 */
export async function hasSettlement(
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
  const suspects = (await getTransactions(vault.rpc, block)).filter(
    ({ to, data }) =>
      settlingCalls.some((call) => data.includes(call)) &&
      (to === `0x${address}` || data.includes(address)),
  );
  const receipts = await Promise.all(
    suspects.map(async ({ hash }) => await getReceipt(vault.rpc, hash)),
  );
  // A receipt without status proves nothing.
  return receipts.some((receipt) => receipt?.succeeded === true);
}
