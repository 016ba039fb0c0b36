import { MaxUint256 } from "ethers";

import { invalidArgument } from "../../errors.js";
import type { VaultError } from "../../errors.js";
import { isEmptyOrder, isFailedOrder } from "./types.js";
import type { ListedOrder } from "./types.js";

/** The last order is the one behind which so many ids in a row do not exist. */
export const EMPTY_IDS_AT_END = 500;

/**
 * Nor do those at distances of powers of two up to this one; the steps grow on
 * where there are more orders. A lone order far away must not be found: all ids
 * up to the last order are read one day.
 */
const LARGEST_POWER = 20;

/** With so many orders, nobody wants them all. */
const LIMIT_POWER = 40;

export interface OrdersEnd {
  /** Undefined where there is no order at all. */
  readonly last: bigint | undefined;
  /** Tells an answer for an id that does not exist. */
  readonly isMissing: (order: ListedOrder) => boolean;
}

/**
 * Finds the last order in growing steps: the ids at distances of 1, 2, 4, …
 * behind the last order known are read together, and the farthest order among
 * them is the next to start from. If there is none, the ids next to it are read,
 * one and all. No function tells how many orders there are, and an id that does
 * not exist answers zeros, or reverts.
 *
 * @param read Reads the orders of these ids, in that order.
 * @throws VaultError why an id cannot be read, where all revert: that there is no
 * order looks the same; VAULT_INVALID_ARGUMENT if there is an order 2^40 ids
 * behind the first
 */
export async function findLastOrder(
  read: (ids: readonly bigint[]) => AsyncIterable<Iterable<ListedOrder>>,
  first: bigint,
): Promise<OrdersEnd> {
  const seen: { isAnswered: boolean; refusal?: VaultError | undefined } = {
    isAnswered: false,
  };
  // The reasons of the ids that were read last, of which none is there.
  let missing = new Set<string>();

  const findAmong = async (
    length: number,
    distanceOf: (index: number) => bigint,
    next: bigint,
  ): Promise<bigint | undefined> => {
    const ids = Array.from({ length }, (_, index) => next + distanceOf(index));
    let found: bigint | undefined;
    missing = new Set();
    for await (const orders of read(ids.filter((id) => id <= MaxUint256))) {
      for (const order of orders) {
        const reason = reasonOf(order);
        if (reason === undefined) {
          seen.isAnswered = true;
          found = isEmptyOrder(order) ? found : order.orderID;
        } else {
          missing.add(reason);
          seen.refusal ??= isFailedOrder(order) ? order.error : undefined;
        }
      }
    }
    return found;
  };

  let last: bigint | undefined;
  let largestPower = LARGEST_POWER;
  for (;;) {
    const next = last === undefined ? first : last + 1n;
    const found =
      (await findAmong(
        largestPower + 1,
        (power) => 2n ** BigInt(power) - 1n,
        next,
      )) ?? (await findAmong(EMPTY_IDS_AT_END, BigInt, next));
    if (found === undefined) {
      break;
    }
    last = found;
    if (last === next + 2n ** BigInt(largestPower) - 1n) {
      largestPower += 1;
    }
    if (last - first >= 2n ** BigInt(LIMIT_POWER)) {
      throw invalidArgument(
        "lastId",
        `without it, the last order is looked for, and there are orders 2^${LIMIT_POWER} ids and more behind the first`,
      );
    }
  }
  if (!seen.isAnswered && seen.refusal !== undefined) {
    throw seen.refusal;
  }
  return {
    last,
    isMissing: (order) => {
      const reason = reasonOf(order);
      return reason === undefined ? isEmptyOrder(order) : missing.has(reason);
    },
  };
}

/**
 * The reason of a revert, without the id. An order that fails otherwise is there,
 * and cannot be read.
 */
function reasonOf(order: ListedOrder): string | undefined {
  if (!isFailedOrder(order) || order.error.code !== "VAULT_CALL_REVERTED") {
    return undefined;
  }
  return String(order.error.details["reason"]).replaceAll(
    new RegExp(`\\b${order.orderID}\\b`, "gu"),
    "#",
  );
}
