/** Bytes of a word of an ABI encoding. */
export const WORD = 32;

/** A number or an address as call data has it: without 0x, in 32 bytes. */
export function hexWord(value: bigint | number | string): string {
  return BigInt(value)
    .toString(16)
    .padStart(2 * WORD, "0");
}

/** A view for reading the big-endian words of an ABI encoding. */
export function viewOf(
  bytes: Uint8Array,
  start = 0,
  end = bytes.length,
): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset + start, end - start);
}

export function isZero(view: DataView, start: number, end: number): boolean {
  for (let index = start; index < end; ++index) {
    if (view.getUint8(index) !== 0) {
      return false;
    }
  }
  return true;
}

/**
 * The number in a word; undefined where it takes more than the last `size`
 * bytes. More than six would not be safe integers.
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

/** The uint256 of a word. */
export function readWord(view: DataView, offset: number): bigint {
  const high =
    view.getUint32(offset) |
    view.getUint32(offset + 4) |
    view.getUint32(offset + 8) |
    view.getUint32(offset + 12);
  const lowest = view.getBigUint64(offset + 24);
  const low = view.getBigUint64(offset + 16);
  if (high === 0) {
    // Nearly every amount; twice as fast as shifting all four parts.
    return low === 0n ? lowest : (low << 64n) | lowest;
  }
  return (
    (view.getBigUint64(offset) << 192n) |
    (view.getBigUint64(offset + 8) << 128n) |
    (low << 64n) |
    lowest
  );
}
