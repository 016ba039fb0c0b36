import type { Buffer } from "node:buffer";

/** Bytes of a word in the ABI encoding. */
export const WORD = 32;

/** Encodes a number or an address in 32 bytes of hex, without 0x. */
export function hexWord(value: bigint | number | string): string {
  const digits =
    typeof value === "string"
      ? value.slice(2).toLowerCase()
      : value.toString(16);
  return digits.padStart(2 * WORD, "0");
}

export function viewOf({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length);
}

export function readWord(bytes: Buffer, offset: number): bigint {
  return BigInt(`0x${bytes.toString("hex", offset, offset + WORD)}`);
}

/**
 * Reads a number of at most `size` bytes; undefined if the word has more. Six bytes
 * always fit a safe integer.
 */
export function readSmallWord(
  bytes: Buffer,
  offset: number,
  size = 6,
): number | undefined {
  const start = offset + WORD - size;
  return isZero(bytes, offset, start)
    ? bytes.readUIntBE(start, size)
    : undefined;
}

export function isZero(bytes: Buffer, start: number, end: number): boolean {
  return bytes.subarray(start, end).every((byte) => byte === 0);
}
