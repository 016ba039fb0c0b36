import type { Buffer } from "node:buffer";

import { Interface, id } from "ethers";

import { VaultError, fallbackTo, vaultError } from "../../errors.js";
import { quoteForeignText } from "../../untrusted-text.js";
import { isRefusedAnyhow } from "../../rpc/errors.js";
import { decodeRevertReason } from "../../rpc/revert-reason.js";
import type { BlockInfo, CallResult, RpcClient } from "../../rpc/rpc-client.js";
import { WORD, readSmallWord, viewOf } from "../words.js";
import { VaultLensArtifact } from "./artifact.js";

export interface LensContext {
  readonly rpc: RpcClient;
  /** The caller that the contracts see. */
  readonly from: string;
  /** As on the wire. */
  readonly blockTag: string;
}

const lensInterface = new Interface(VaultLensArtifact.abi);

/** One of the calls that a lens makes. */
export interface ReadCall {
  readonly target: string;
  readonly data: string;
}

/** One snapshot is much like the one before. */
let latest = { key: "", data: "" };

/** Call data that reads several contracts. */
export function encodeReadCalls(calls: readonly ReadCall[]): string {
  const key = calls.map(({ target, data }) => `${target}:${data}`).join();
  if (key !== latest.key || key === "") {
    const list = calls.map(({ target, data }) => [target, data]);
    const data = lensInterface.encodeFunctionData("readCalls", [list]);
    latest = { key, data };
  }
  return latest.data;
}

/** Call data that reads orders by id, at most `count` of them. */
export function encodeReadOrders(
  trading: string,
  firstId: bigint,
  count: number,
): string {
  return lensInterface.encodeFunctionData("readOrders", [
    trading,
    firstId,
    count,
  ]);
}

/**
 * The answers of some contracts, or only the chain's id and the block, in one
 * request.
 *
 * @returns Undefined if the node cannot do that.
 * @throws VaultError if the node does not answer at all
 */
export async function tryLens(
  context: LensContext,
  calls: readonly ReadCall[] = [],
): Promise<LensAnswer | undefined> {
  const { rpc, from } = context;
  if (
    rpc.node.takesOverrides === false ||
    // The lens would stand in the place of what is to be read.
    calls.some(({ target }) => target === from)
  ) {
    return undefined;
  }
  try {
    return await callLens(context, encodeReadCalls(calls));
  } catch (error) {
    if (!VaultError.isVaultError(error) || error.kind !== "rpc") {
      throw error;
    }
  }
  if (rpc.node.takesOverrides === undefined) {
    // It may be this call, or a node that fails for a moment; what is remembered
    // here stays.
    await rpc.chainId();
    const probe = { rpc, from, blockTag: "latest" };
    rpc.node.takesOverrides = await callLens(probe, encodeReadCalls([])).then(
      () => true,
      fallbackTo(false, isRefusedAnyhow),
    );
  }
  return undefined;
}

/**
 * Runs the lens inside one `eth_call`.
 *
 * Its code is put at the address of the caller, so that to the contracts it
 * reads it is that caller. Whatever code the caller has is hidden meanwhile.
 *
 * @throws VaultError those of a failed request, and
 * VAULT_RPC_INVALID_RESPONSE if the answer is not the lens'
 */
export async function callLens(
  { rpc, from, blockTag }: LensContext,
  data: string,
): Promise<LensAnswer> {
  const answer = await rpc.call({ from, to: from, data }, blockTag, {
    [from]: { code: VaultLensArtifact.deployedBytecode },
  });
  if ("reverted" in answer) {
    // The lens never reverts: this is how some nodes say "out of gas".
    throw vaultError("VAULT_RPC_ERROR", {
      network: rpc.network,
      method: "eth_call",
      problem: quoteForeignText(answer.reverted.text),
    });
  }
  const parsed = parseLensAnswer(answer.data);
  if (parsed === undefined) {
    throw rpc
      .parser("eth_call")
      .invalid("a call with a state override has no such answer");
  }
  rpc.node.takesOverrides = true;
  if (blockTag === "latest") {
    // What is asked next is of that block, maybe of a node that is behind.
    // By the EVM's number, which may be another than the chain's.
    rpc.noteBlock(parsed.block.number);
  }
  // A chain may number its blocks otherwise than its EVM does.
  return blockTag.startsWith("0x")
    ? { ...parsed, block: { ...parsed.block, number: Number(blockTag) } }
    : parsed;
}

/** The outcome of a call inside the lens; see contracts/lens/VaultLens.sol. */
export interface LensEntry {
  /** `unknown`: it has to be made by itself. */
  readonly status: "reverted" | "returned" | "unknown";
  readonly hasCode: boolean;
  /** The place of the returned data, or of the reverts, in the bytes. */
  readonly start: number;
  readonly end: number;
}

/** The block and chain of a lens. */
export interface ExecutedBlock extends BlockInfo {
  readonly chainId: number;
}

export interface LensAnswer {
  readonly block: BlockInfo;
  readonly chainId: number;
  readonly entries: readonly LensEntry[];
  readonly bytes: Buffer;
}

const FORMAT = id("hardhat-vault/VaultLens/1").slice(2);
const HEADER = 4 * WORD;

/** In the order of the lens' constants. */
const statuses = ["reverted", "returned", "unknown"] as const;

/** @returns Undefined where the bytes are not the answer of a lens, and all of it. */
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

/** @returns Undefined where there are not entries from one offset to the other. */
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

/** The answer that the entry's call would have had by itself. */
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
