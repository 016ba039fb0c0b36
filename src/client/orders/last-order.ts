import { MaxUint256 } from "ethers";

import { invalidArgument } from "../../errors.js";
import type { VaultError } from "../../errors.js";
import { hexWord } from "../words.js";
import { isEmptyOrder, isFailedOrder } from "./types.js";
import type { ListedOrder } from "./types.js";

/** Unknown ids in a row that follow the last order. */
export const EMPTY_IDS_AT_END = 500;

/**
 * Farthest id checked behind the last order found, as a power of two. It grows while
 * orders are found there. A lone order far away must not be found, because every id up
 * to the last order is read.
 */
const LARGEST_POWER = 20;

/** A range of 2^40 ids is too long to read. */
export const LIMIT_POWER = 40;

export interface OrdersEnd {
  /** Undefined if there is no order. */
  readonly last: bigint | undefined;
  /** True for the answer of an unknown id. */
  readonly isMissing: (order: ListedOrder) => boolean;
}

/**
 * Finds the last order in growing steps, because no function returns the number of
 * orders. The ids at distances of 1, 2, 4, … behind the last order found are read
 * together, and the search continues from the farthest order among them. If there is
 * none, the next 500 ids are read. An unknown id returns zeros or reverts.
 *
 * @param read Reads the orders of these ids, in that order.
 * @throws VaultError VAULT_INVALID_ARGUMENT if there is an order 2^40 ids behind the
 * first. If every id reverts, the first error, since an empty contract may do the same.
 */
export async function findLastOrder(
  read: (ids: readonly bigint[]) => AsyncIterable<Iterable<ListedOrder>>,
  first: bigint,
): Promise<OrdersEnd> {
  const seen: { isAnswered: boolean; refusal?: VaultError | undefined } = {
    isAnswered: false,
  };
  // Revert reasons of the ids read last, which are all unknown at the end.
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
        `without it, the last order is searched, and 2^${LIMIT_POWER} ids after the first there are still orders`,
        "Give the range of ids.",
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

/** The reason of a revert, without the id; undefined for any other answer. */
function reasonOf(order: ListedOrder): string | undefined {
  if (!isFailedOrder(order) || order.error.code !== "VAULT_CALL_REVERTED") {
    return undefined;
  }
  const hex = order.orderID.toString(16);
  return (
    String(order.error.details["reason"])
      .replaceAll(
        new RegExp(`\\b(?:${order.orderID}|0x0*${hex})\\b`, "giu"),
        "#",
      )
      // A custom error has the id in its data, as a word.
      .replace(new RegExp(hexWord(order.orderID), "iu"), "#")
  );
}
