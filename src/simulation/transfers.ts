import { getAddress, isHexString } from "ethers";

import { asRecord, listOf } from "../json.js";
import type { Transfer } from "./types.js";

/** Stands for the chain's own currency in the place of a token. */
export const NATIVE = "native";

/** `Transfer(address,address,uint256)` of ERC-20. */
const TRANSFER_TOPIC =
  "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/** The contract that `eth_simulateV1` names for native currency. */
const NATIVE_LOG_ADDRESS = "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee";

/**
 * The transfers among a node's logs. ERC-721 has the same event with a fourth
 * topic in place of the data: what it moves is no amount, and is left out.
 *
 * @returns Undefined if they are no logs.
 */
export function transfersIn(logs: unknown): readonly Transfer[] | undefined {
  if (!Array.isArray(logs)) {
    return undefined;
  }
  const transfers: Transfer[] = [];
  for (const log of logs) {
    const { address, topics, data } = asRecord(log);
    if (
      !isHexString(address, 20) ||
      !Array.isArray(topics) ||
      !topics.every((topic): topic is string => isHexString(topic, 32)) ||
      !isHexString(data, true)
    ) {
      return undefined;
    }
    const [topic, from, to, ...more] = topics;
    if (
      topic?.toLowerCase() === TRANSFER_TOPIC &&
      from !== undefined &&
      to !== undefined &&
      more.length === 0 &&
      isHexString(data, 32)
    ) {
      const isNative = address.toLowerCase() === NATIVE_LOG_ADDRESS;
      transfers.push({
        token: isNative ? NATIVE : toAddress(address),
        from: toAddress(from),
        to: toAddress(to),
        amount: BigInt(data),
      });
    }
  }
  return transfers;
}

/** These call other code in the caller's own place, or without value. */
const movesNothing: ReadonlySet<unknown> = new Set([
  "DELEGATECALL",
  "STATICCALL",
  "CALLCODE",
]);

/**
 * The native currency that a call and those inside it move, by Geth's
 * `callTracer`; what reverted moves nothing.
 */
export function nativeTransfersOf(frame: unknown): readonly Transfer[] {
  const { type, from, to, value, error, calls } = asRecord(frame);
  if (error !== undefined && error !== null) {
    return [];
  }
  const inside = listOf(calls).flatMap(nativeTransfersOf);
  if (
    movesNothing.has(type) ||
    !isHexString(from, 20) ||
    !isHexString(to, 20) ||
    typeof value !== "string" ||
    BigInt(value) === 0n
  ) {
    return inside;
  }
  const [payer, payee] = [toAddress(from), toAddress(to)];
  return [
    { token: NATIVE, from: payer, to: payee, amount: BigInt(value) },
    ...inside,
  ];
}

/** A node's case is no checksum of its. */
function toAddress(hex: string): string {
  return getAddress(`0x${hex.slice(-40).toLowerCase()}`);
}
