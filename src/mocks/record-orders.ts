import { createHash } from "node:crypto";

import { dataSlice, keccak256 } from "ethers";

import { hexWord } from "../client/words.js";
import type { VaultClient } from "../client/vault-client.js";
import { operations } from "../protocol/index.js";
import type { VaultOrder } from "../protocol/index.js";
import { call, isInProcess } from "./mock-contracts.js";
import type { ScriptCall } from "./mock-contracts.js";
import { callsForOrders } from "./state.js";
import type { MockState } from "./types.js";

/** From this many orders on, a recording is faster than a script. */
const FEWEST_ORDERS = 100;

/** Orders in a page; `MockTrading` has the same number. */
const PAGE = 16n;

/**
 * Returns the calls that set orders. In process, many orders are written as
 * code, for `MockTrading.setRecording`: storing ten thousand takes seconds.
 */
export async function recordOrders(
  vault: VaultClient,
  orders: MockState["orders"],
): Promise<readonly ScriptCall[]> {
  if (orders.size < FEWEST_ORDERS || !isInProcess(vault)) {
    return callsForOrders(orders);
  }
  const hash = createHash("sha256");
  const pages = new Map<bigint, string>();
  for (const number of new Set([...orders.keys()].map((id) => id / PAGE))) {
    const page = Array.from({ length: Number(PAGE) }, (_, index) => {
      const order = orders.get(number * PAGE + BigInt(index));
      return encodeBytes(
        order === undefined || order === null ? "" : encodeAnswer(order),
      );
    });
    const code = `0x${encodeList(page)}`;
    pages.set(number, code);
    hash.update(`${number} ${code}`);
  }
  // The hash keeps the pages of two recordings apart.
  const recording = hash.digest("hex");
  for (const [number, code] of pages) {
    const location = keccak256(`0x${recording}${hexWord(number)}`);
    await vault.rpc.request("hardhat_setCode", [dataSlice(location, 12), code]);
  }
  const removed = [...orders].filter(([, order]) => order === null);
  return [
    ...callsForOrders(new Map(removed)),
    call("trading", "setRecording", `0x${recording}`),
  ];
}

const { outputs } = operations.getOrderInfo;

function encodeAnswer(order: VaultOrder): string {
  const words = outputs.map(({ name }) =>
    hexWord(name === "exType" ? 32 * outputs.length : order[name]),
  );
  const text = Buffer.from(order.exType).toString("hex");
  return words.join("") + encodeBytes(text);
}

function encodeBytes(digits: string): string {
  const padded = Math.ceil(digits.length / 64) * 64;
  return hexWord(digits.length / 2) + digits.padEnd(padded, "0");
}

/** Encodes a list of encoded dynamic values, twenty times as fast as ethers. */
function encodeList(items: readonly string[]): string {
  let offset = 32 * items.length;
  let offsets = "";
  for (const item of items) {
    offsets += hexWord(offset);
    offset += item.length / 2;
  }
  return `${hexWord(32)}${hexWord(items.length)}${offsets}${items.join("")}`;
}
