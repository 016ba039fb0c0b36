import type { Buffer } from "node:buffer";

import { getAddress } from "ethers";

import type { OrderInfo } from "../../protocol/index.js";
import { isSmallWord, readSmallWord, readWord } from "../lens/words.js";

const WORD = 32;
/** The thirteen words, of which the first is the offset of the string. */
const HEAD = 13 * WORD;
const ADDRESS_SIZE = 20;

/**
 * Decodes what `getOrderInfo` returned (protocol, section 2.3).
 *
 * Written for this one layout, since the general coder takes a hundred times
 * as long. As strict as that one with `decodeResult` around it: only the
 * canonical encoding is an order.
 *
 * @param start Where the returned data begins in `bytes`.
 * @param end Where it ends.
 * @returns Undefined where the data is not the canonical encoding of an order.
 */
export function decodeOrder(
  bytes: Buffer,
  view: DataView,
  start: number,
  end: number,
): OrderInfo | undefined {
  const text = start + HEAD + WORD;
  if (end < text) {
    return undefined;
  }
  const holder = start + WORD;
  const contractType = start + 11 * WORD;
  const state = start + 12 * WORD;
  const length = start + HEAD;
  if (
    !isSmallWord(view, start, 4) ||
    readSmallWord(view, start) !== HEAD ||
    !isSmallWord(view, holder, ADDRESS_SIZE) ||
    !isSmallWord(view, contractType, 1) ||
    !isSmallWord(view, state, 1) ||
    !isSmallWord(view, length, 4)
  ) {
    return undefined;
  }
  const textEnd = text + readSmallWord(view, length);
  if (end !== text + Math.ceil((textEnd - text) / WORD) * WORD) {
    return undefined;
  }
  for (let index = textEnd; index < end; ++index) {
    if (view.getUint8(index) !== 0) {
      return undefined;
    }
  }
  return {
    // Replaces what is not UTF-8 as the standard says, as decodeUtf8 does.
    exType: bytes.toString("utf8", text, textEnd),
    holder: checksumAddress(
      bytes.toString("hex", holder + WORD - ADDRESS_SIZE, holder + WORD),
    ),
    number: readWord(view, start + 2 * WORD),
    exFee: readWord(view, start + 3 * WORD),
    lockFee: readWord(view, start + 4 * WORD),
    newLockFee: readWord(view, start + 5 * WORD),
    openPrice: readWord(view, start + 6 * WORD),
    marginAmount: readWord(view, start + 7 * WORD),
    marginFee: readWord(view, start + 8 * WORD),
    startTime: readWord(view, start + 9 * WORD),
    closePrice: readWord(view, start + 10 * WORD),
    contractType: view.getUint8(contractType + WORD - 1),
    state: view.getUint8(state + WORD - 1),
  };
}

const MAX_CACHED_ADDRESSES = 10_000;
const checksumAddresses = new Map<string, string>();

/** A checksum takes longer than all the rest, and holders have many orders. */
function checksumAddress(hex: string): string {
  let address = checksumAddresses.get(hex);
  if (address === undefined) {
    address = getAddress(`0x${hex}`);
    if (checksumAddresses.size >= MAX_CACHED_ADDRESSES) {
      checksumAddresses.clear();
    }
    checksumAddresses.set(hex, address);
  }
  return address;
}
