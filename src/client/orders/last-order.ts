import { MaxUint256 } from "ethers";

import { invalidArgument } from "../../errors.js";
import type { VaultError } from "../../errors.js";
import { asRecord } from "../../json.js";
import { hexWord } from "../words.js";
import { isUsedUp } from "./order-reader.js";
import type { FoundOrder } from "./order-reader.js";
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

/** Ids that are read in the gap between the last order found and the next unknown id. */
const PROBES = 64;

/** A range of 2^40 ids is too long to read. */
export const LIMIT_POWER = 40;

export interface OrdersEnd {
  /** Undefined if there is no order. */
  readonly last: bigint | undefined;
  /** True for the answer of an unknown id. */
  readonly isMissing: (order: ListedOrder) => boolean;
}

/** The part of a reader of orders that a search needs. */
interface OrderSource {
  read(
    ids: readonly bigint[],
    asking: "none",
    onLast?: () => void,
  ): AsyncIterable<Iterable<FoundOrder>>;
  readAlone(orderID: bigint): Promise<ListedOrder>;
}

interface SearchListeners {
  /**
   * Called with each order that is the last one so far, once an unknown id behind it is
   * known: the ids up to it can be read meanwhile.
   */
  readonly onFound?: (last: bigint) => void;
  /** Called while ids are read that end the search, unless there is an order among them. */
  readonly onLast?: () => void;
}

/**
 * Finds the last order in growing steps, because no function returns the number of
 * orders. The ids at distances of 1, 2, 4, … behind the last order found are read
 * together, with some in the gap before the next unknown id, and the search continues
 * from the farthest order among them. If there is none, the next 500 ids are read. An
 * unknown id returns zeros or reverts, or uses up its gas, as an access out of bounds does
 * before Solidity 0.8. Of those, only the lowest one at the end is asked again, with all
 * gas: a revert shows that it is unknown, and the ids behind it are, too.
 *
 * @throws VaultError VAULT_INVALID_ARGUMENT if there is an order 2^40 ids behind the
 * first. If every id reverts, the first error, since an empty contract may do the same.
 * The error of two ids in a row that fail with all gas, but do not revert.
 */
export async function findLastOrder(
  source: OrderSource,
  first: bigint,
  { onFound, onLast }: SearchListeners = {},
): Promise<OrdersEnd> {
  const seen: { isAnswered: boolean; refusal?: VaultError | undefined } = {
    isAnswered: false,
  };
  // Revert reasons of the ids read last, which are all unknown at the end.
  let missing = new Set<string>();
  /** The lowest of the ids read last that used up its gas. */
  let open: bigint | undefined;

  /** @returns True for an order, or for what may be one. */
  const isFound = (order: ListedOrder, near: readonly bigint[]): boolean => {
    const reason = reasonOf(order);
    if (reason === undefined) {
      seen.isAnswered = true;
      return !isEmptyOrder(order);
    }
    if (order.orderID <= (near.at(-1) ?? -1n)) {
      missing.add(reason);
    }
    seen.refusal ??= isFailedOrder(order) ? order.error : undefined;
    return false;
  };

  const findAmong = async (
    ids: readonly bigint[],
    near: readonly bigint[],
    mayBeLast: boolean,
  ): Promise<bigint | undefined> => {
    let found: bigint | undefined;
    missing = new Set();
    open = undefined;
    const whenLast = mayBeLast ? onLast : undefined;
    for await (const orders of source.read(ids, "none", whenLast)) {
      for (const order of orders) {
        const { orderID } = order;
        if (isUsedUp(order)) {
          open = orderID < (open ?? orderID + 1n) ? orderID : open;
        } else if (isFound(order, near) && orderID > (found ?? -1n)) {
          found = orderID;
        }
      }
    }
    return found;
  };

  let wasUnreadable = false;
  /** Asks for the lowest id that is open at the end of the search. */
  const findOpen = async (
    near: readonly bigint[],
  ): Promise<bigint | undefined> => {
    if (open === undefined) {
      return undefined;
    }
    const order = await source.readAlone(open);
    // Other words may be a proxy's, whose contract ran out of gas: no other id's reason.
    const isInvalid =
      isFailedOrder(order) && kindOf(order.error) === "invalid-opcode";
    if (!isFound(order, isInvalid ? near : [])) {
      // Only an id that is unknown does that: a contract that refuses to be read reverts.
      seen.isAnswered = true;
      return undefined;
    }
    const isUnreadable = isFailedOrder(order) && order.error.kind === "rpc";
    if (isUnreadable && wasUnreadable) {
      throw order.error;
    }
    wasUnreadable = isUnreadable;
    return open;
  };

  let last: bigint | undefined;
  /** The next id that is known to be unknown behind the last order. */
  let end: bigint | undefined;
  let largestPower = LARGEST_POWER;
  for (;;) {
    const next = last === undefined ? first : last + 1n;
    const ids = [
      ...distances(largestPower + 1, (power) => 2n ** BigInt(power) - 1n),
      ...(end === undefined ? [] : between(end - next)),
    ]
      .map((distance) => next + distance)
      .filter((id) => id <= MaxUint256)
      // A request that met an unknown id gives the later ones less gas.
      .sort((one, other) => (one < other ? -1 : 1));
    const near = distances(EMPTY_IDS_AT_END, BigInt)
      .map((distance) => next + distance)
      .filter((id) => id <= MaxUint256);
    // Together, if the last order is near: the next search is likely to be the last one.
    const isNear = end !== undefined && end - next <= BigInt(EMPTY_IDS_AT_END);
    let asked: readonly bigint[] = isNear ? [...near, ...ids] : ids;
    let found = await findAmong(asked, near, isNear);
    if (found === undefined && !isNear) {
      asked = near;
      found = await findAmong(asked, near, true);
    }
    found ??= await findOpen(near);
    if (found === undefined) {
      break;
    }
    const after = found;
    end = asked
      .filter((id) => id > after)
      .reduce<bigint | undefined>(
        (least, id) => (least === undefined || id < least ? id : least),
        undefined,
      );
    last = found;
    if (end !== undefined) {
      onFound?.(last);
    }
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
  if (
    !seen.isAnswered &&
    seen.refusal !== undefined &&
    // Of an empty array: a contract that refuses to be read reverts.
    kindOf(seen.refusal) !== "invalid-opcode"
  ) {
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

function distances(
  length: number,
  distanceOf: (index: number) => bigint,
): readonly bigint[] {
  return Array.from({ length }, (_, index) => distanceOf(index));
}

/** Ids at equal distances in a gap, or none if the gap is read as a whole. */
function between(gap: bigint): readonly bigint[] {
  return gap <= BigInt(EMPTY_IDS_AT_END)
    ? []
    : distances(
        PROBES,
        (index) => (gap * BigInt(index + 1)) / BigInt(PROBES + 1),
      );
}

/** The reason of a revert, without the id; undefined for any other answer. */
function reasonOf(order: ListedOrder): string | undefined {
  if (!isFailedOrder(order) || order.error.code !== "VAULT_CALL_REVERTED") {
    return undefined;
  }
  const { orderID, error } = order;
  const kind = kindOf(error);
  // Other texts are our own, with figures that may equal the id.
  if (kind === "string" || kind === "custom") {
    const hex = orderID.toString(16);
    const id = new RegExp(`\\b(?:${orderID}|0x0*${hex})\\b`, "giu");
    return String(error.details["reason"]).replaceAll(id, "#");
  }
  // A custom error has the id in its data, as a word behind the selector. The end of the
  // selector can look like the beginning of the word.
  const word = new RegExp(
    `^(0x[0-9a-f]{8}(?:[0-9a-f]{64})*?)${hexWord(orderID)}`,
    "iu",
  );
  const data = String(asRecord(error.cause)["data"]);
  return `${String(kind)} ${data.replace(word, "$1#")}`;
}

/** The kind of a revert. */
function kindOf({ cause }: VaultError): unknown {
  return asRecord(cause)["kind"];
}
