import { getCreateAddress } from "ethers";

import { operations } from "../protocol/index.js";
import { call } from "./setters.js";
import type { ScriptCall } from "./setters.js";
import { isInProcess } from "./types.js";
import type { MockHost, MockOrder, MockState } from "./types.js";

/** From this many orders on, a book is quicker than a script. */
const FEWEST_ORDERS = 100;

/**
 * Puts a state's orders into the code of a contract, where the node lets it:
 * one request, where scripting thousands takes seconds.
 *
 * @param trading The mock that is to read them.
 * @returns What of the state is still to be scripted, and the call that hands
 * the book to the mock.
 */
export async function placeOrders(
  vault: MockHost,
  state: MockState,
  trading: string,
): Promise<{
  readonly state: MockState;
  readonly script: readonly ScriptCall[];
}> {
  if (state.orders.size < FEWEST_ORDERS || !isInProcess(vault)) {
    return { state, script: [] };
  }
  const booked: Array<[bigint, MockOrder]> = [];
  const others = new Map<bigint, null>();
  for (const [id, order] of state.orders) {
    if (order === null) {
      others.set(id, null);
    } else {
      booked.push([id, order]);
    }
  }
  // Each mock has its own, where nothing else is: a contract's first creation
  // has the nonce 1.
  const book = getCreateAddress({ from: trading, nonce: 0 });
  await vault.chain.request("hardhat_setCode", [book, encodeOrderBook(booked)]);
  return {
    state: { ...state, orders: others },
    script: [call("trading", "setOrderBook", book)],
  };
}

/** Every value but exType, which stands behind them. */
const values = operations.getOrderInfo.outputs.flatMap(({ name }) =>
  name === "exType" ? [] : [name],
);

const WORD = 32;
const ENTRY = WORD + 4;

/** What `MockTrading.setOrderBook` reads. */
export function encodeOrderBook(
  orders: ReadonlyArray<readonly [bigint, MockOrder]>,
): string {
  const sorted = [...orders].sort(([one], [other]) =>
    one < other ? -1 : one > other ? 1 : 0,
  );
  let position = WORD + ENTRY * (sorted.length + 1);
  // Bytes, since a text made of pieces is only joined by who reads it.
  const book = Buffer.alloc(
    sorted.reduce((size, [, order]) => size + mostBytes(order), position),
  );
  const view = new DataView(book.buffer, book.byteOffset, book.length);
  view.setUint32(WORD - 4, sorted.length);
  let entry = WORD;
  for (const [id, order] of sorted) {
    writeInteger(view, entry + WORD, id);
    view.setUint32(entry + WORD, position);
    entry += ENTRY;
    for (const name of values) {
      position = writeValue(book, view, position, order[name]);
    }
    // A lone surrogate becomes U+FFFD, as where orders are scripted.
    position +=
      typeof order.exType === "string"
        ? book.write(order.exType, position)
        : Buffer.from(order.exType).copy(book, position);
  }
  view.setUint32(entry + WORD, position);
  return `0x${book.toString("hex", 0, position)}`;
}

function mostBytes({ exType }: MockOrder): number {
  return values.length * (1 + WORD) + Buffer.byteLength(exType);
}

/** Above it, a value is no number that is written as one. */
const MOST_WRITTEN_AS_NUMBER = 2 ** 48 - 1;

/**
 * Writes the length of a value, and it without leading zeros. Small ones as
 * numbers: arithmetic with bigints leaves as much behind as the orders are.
 *
 * @returns Where that ends.
 */
function writeValue(
  book: Buffer,
  view: DataView,
  position: number,
  value: bigint | number | boolean | string,
): number {
  const start = position + 1;
  const isSmall = typeof value === "bigint" && value <= MOST_WRITTEN_AS_NUMBER;
  if (isSmall || typeof value === "number" || typeof value === "boolean") {
    const number = Number(value);
    const length = bytesOf(number);
    book[position] = length;
    return length === 0 ? start : book.writeUIntBE(number, start, length);
  }
  const end = start + WORD;
  let first = writeInteger(view, end, BigInt(value));
  while (first < end && book[first] === 0) {
    first += 1;
  }
  book[position] = end - first;
  book.copyWithin(start, first, end);
  return start + end - first;
}

/** How many bytes a number below 2^48 takes. */
function bytesOf(value: number): number {
  let length = 0;
  for (let least = 1; value >= least; least *= 256) {
    length += 1;
  }
  return length;
}

/**
 * Writes as many eights of bytes as a value has.
 *
 * @returns Where they begin.
 */
function writeInteger(view: DataView, end: number, value: bigint): number {
  let start = end;
  let rest = value;
  do {
    start -= 8;
    // The lowest 64 bits.
    view.setBigUint64(start, rest);
    rest >>= 64n;
  } while (rest > 0n);
  return start;
}
