import { MaxUint256 } from "ethers";

import { invalidArgument } from "../../errors.js";
import type { VaultError } from "../../errors.js";
import { isEmptyOrder, isFailedOrder } from "./types.js";
import type { ListedOrder } from "./types.js";

/** So many ids in a row do not exist behind the last order. */
export const EMPTY_IDS_AT_END = 500;

/**
 * Nor do those further behind it, at distances of powers of two up to this one.
 * All ids up to the last order are read one day, so that a lone order far away
 * must not be found.
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
 * them is the next to start from. Where there is none, the ids next to it are
 * read one and all.
 *
 * No function tells how many orders there are, and an id that does not exist
 * answers zeros, or reverts. So the end is the order behind which
 * {@link EMPTY_IDS_AT_END} ids in a row do so, and each at a distance of a power
 * of two up to 2^20 (the steps grow on where there are more orders than that).
 *
 * @param read Reads the orders of these ids, in that order.
 * @throws VaultError why an id cannot be read, where all revert: that there is no
 * order looks the same; VAULT_INVALID_ARGUMENT if there is an order 2^40 ids
 * behind the first
 */
export async function findLastOrder(
  read: (ids: readonly bigint[]) => AsyncIterable<ListedOrder>,
  first: bigint,
): Promise<OrdersEnd> {
  const seen: { isAnswered: boolean; refusal?: VaultError | undefined } = {
    isAnswered: false,
  };
  let missing = new Set<string>();

  const findAmong = async (
    length: number,
    distanceOf: (index: number) => bigint,
    next: bigint,
  ): Promise<bigint | undefined> => {
    const ids = Array.from({ length }, (_, index) => next + distanceOf(index));
    let found: bigint | undefined;
    const reasons = new Set<string>();
    for await (const order of read(ids.filter((id) => id <= MaxUint256))) {
      const reason = reasonOf(order);
      if (reason === undefined) {
        seen.isAnswered = true;
        found = isEmptyOrder(order) ? found : order.orderID;
      } else {
        reasons.add(reason);
        seen.refusal ??= isFailedOrder(order) ? order.error : undefined;
      }
    }
    // Of the last ids that are looked at, none is there.
    missing = reasons;
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
