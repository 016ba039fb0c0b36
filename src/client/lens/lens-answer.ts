import type { Buffer } from "node:buffer";

import { id } from "ethers";

import { decodeRevertReason } from "../../rpc/revert-reason.js";
import type { BlockInfo, CallResult } from "../../rpc/rpc-client.js";
import { WORD, readSmallWord, viewOf } from "./words.js";

/** The result of one call inside the lens; see contracts/lens/VaultLens.sol. */
export interface LensEntry {
  /** `unknown`: it has to be made by itself. */
  readonly status: "reverted" | "returned" | "unknown";
  readonly hasCode: boolean;
  /** Place of the returned data, or the revert's, in the answer's bytes. */
  readonly start: number;
  readonly end: number;
}

export interface LensAnswer {
  /** The block that the lens ran at. */
  readonly block: BlockInfo;
  readonly chainId: number;
  readonly entries: readonly LensEntry[];
  readonly bytes: Buffer;
}

const FORMAT = id("hardhat-vault/VaultLens/1").slice(2);
const HEADER = 4 * WORD;

/** In the order of the lens' constants. */
const statuses = ["reverted", "returned", "unknown"] as const;

/**
 * Takes a lens' answer apart.
 *
 * @returns Undefined where the bytes are not the answer of a lens, whole and
 * with nothing behind it.
 */
export function parseLensAnswer(bytes: Buffer): LensAnswer | undefined {
  if (bytes.length < HEADER || bytes.toString("hex", 0, WORD) !== FORMAT) {
    return undefined;
  }
  const executed = readBlock(bytes, WORD);
  const entries = parseLensEntries(bytes, HEADER, bytes.length);
  if (executed === undefined || entries === undefined) {
    return undefined;
  }
  const { chainId, ...block } = executed;
  return { block, chainId, entries, bytes };
}

/** The block in which a lens ran. */
export interface ExecutedBlock extends BlockInfo {
  readonly chainId: number;
}

/** @returns Undefined where the three words are not a lens' block and chain. */
export function readBlock(
  bytes: Buffer,
  offset: number,
): ExecutedBlock | undefined {
  const [number, timestamp, chainId] = [0, 1, 2].map((word) =>
    readSmallWord(viewOf(bytes), offset + word * WORD),
  );
  return number === undefined ||
    timestamp === undefined ||
    chainId === undefined
    ? undefined
    : { number, timestamp, chainId };
}

/**
 * Takes the entries between two offsets apart.
 *
 * @returns Undefined where they are not entries, whole and without a gap.
 */
export function parseLensEntries(
  bytes: Buffer,
  from: number,
  to: number,
): readonly LensEntry[] | undefined {
  const view = viewOf(bytes);
  const entries: LensEntry[] = [];
  let offset = from;
  while (offset < to) {
    if (to - offset < WORD) {
      return undefined;
    }
    const status = statuses[view.getUint8(offset)];
    const start = offset + WORD;
    const end = start + view.getUint32(start - 4);
    if (status === undefined || end > to) {
      return undefined;
    }
    entries.push({
      status,
      hasCode: view.getUint8(offset + 1) === 1,
      start,
      end,
    });
    offset = end;
  }
  return entries;
}

/** The result of the entry's call, as if it had been made by itself. */
export function entryAnswer(
  { bytes }: Pick<LensAnswer, "bytes">,
  { status, start, end }: LensEntry,
): CallResult {
  return status === "reverted"
    ? {
        reverted: decodeRevertReason(`0x${bytes.toString("hex", start, end)}`),
      }
    : { data: bytes.subarray(start, end) };
}

/**
 * Gives an answer's memory back at once; its bytes are gone then. To the
 * garbage collector each answer is a small object, so that hundreds would
 * gather before it looks.
 */
export function releaseAnswer({ bytes }: LensAnswer): void {
  const { buffer } = bytes;
  // A small Buffer shares its memory with others.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length) {
    buffer.transfer(0);
  }
}
