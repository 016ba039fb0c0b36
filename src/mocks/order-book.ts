import { getCreateAddress } from "ethers";

import { operations } from "../protocol/index.js";
import { requestRpc } from "../rpc/request.js";
import { calls, hexWord } from "./setters.js";
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
  await requestRpc(vault.provider, vault.networkName, "hardhat_setCode", [
    book,
    encodeOrderBook(booked),
  ]);
  return {
    state: { ...state, orders: others },
    script: [calls.orderBook(book)],
  };
}

/** Every value but exType, which stands behind them. */
const values = operations.getOrderInfo.outputs.flatMap(({ name }) =>
  name === "exType" ? [] : [name],
);

/** Two hex digits for every length that a value can have. */
const lengths = Array.from({ length: 33 }, (_, length) =>
  length.toString(16).padStart(2, "0"),
);

/** What `MockTrading.setOrderBook` reads. */
export function encodeOrderBook(
  orders: ReadonlyArray<readonly [bigint, MockOrder]>,
): string {
  const sorted = [...orders].sort(([one], [other]) =>
    one < other ? -1 : one > other ? 1 : 0,
  );
  let index = `0x${hexWord(BigInt(sorted.length))}`;
  let records = "";
  const start = 32 + 36 * (sorted.length + 1);
  for (const [id, order] of sorted) {
    index += hexWord(id) + offset(start + records.length / 2);
    records += encodeRecord(order);
  }
  index += hexWord(0n) + offset(start + records.length / 2);
  return index + records;
}

function encodeRecord(order: MockOrder): string {
  let record = "";
  for (const name of values) {
    const value = order[name];
    const digits =
      typeof value === "string" ? value.slice(2) : value.toString(16);
    const whole = digits.length % 2 === 0 ? digits : `0${digits}`;
    record += `${lengths[whole.length / 2] ?? ""}${whole}`;
  }
  // A lone surrogate becomes U+FFFD, as where orders are scripted.
  return record + Buffer.from(order.exType).toString("hex");
}

function offset(value: number): string {
  return value.toString(16).padStart(8, "0");
}
