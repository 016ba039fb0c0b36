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

export function isZero(view: DataView, start: number, end: number): boolean {
  let index = start;
  for (; index + 4 <= end; index += 4) {
    if (view.getUint32(index) !== 0) {
      return false;
    }
  }
  for (; index < end; ++index) {
    if (view.getUint8(index) !== 0) {
      return false;
    }
  }
  return true;
}

/**
 * Reads a number of at most `size` bytes; undefined if the word has more. Six bytes
 * always fit a safe integer.
 */
export function readSmallWord(
  view: DataView,
  offset: number,
  size = 6,
): number | undefined {
  return isZero(view, offset, offset + WORD - size)
    ? view.getUint16(offset + WORD - 6) * 2 ** 32 +
        view.getUint32(offset + WORD - 4)
    : undefined;
}

/** Most words are small: zeros at the start make no bigints. */
export function readWord(view: DataView, offset: number): bigint {
  let start = offset;
  while (start < offset + 24 && isZero(view, start, start + 8)) {
    start += 8;
  }
  let value = view.getBigUint64(start);
  for (start += 8; start < offset + WORD; start += 8) {
    value = (value << 64n) | view.getBigUint64(start);
  }
  return value;
}
