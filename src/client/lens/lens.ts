import type { Buffer } from "node:buffer";

import { Interface, id } from "ethers";

import { assertInvariant, fallbackTo, vaultError } from "../../errors.js";
import { quoteForeignText } from "../../redact.js";
import { toBlockId } from "../../rpc/block-id.js";
import type { PinnedBlock } from "../../rpc/block-id.js";
import { getBlock } from "../../rpc/blocks.js";
import type { BlockInfo } from "../../rpc/blocks.js";
import { callContract } from "../../rpc/calls.js";
import type { CallResult } from "../../rpc/calls.js";
import { getChainId } from "../../rpc/chain.js";
import { isRefusedAnyhow } from "../../rpc/errors.js";
import { fewRetries } from "../../rpc/retry.js";
import { decodeRevertReason } from "../../rpc/revert-reason.js";
import type { KnownNode, RpcClient } from "../../rpc/rpc-client.js";
import type { ReadContext } from "../reader.js";
import { WORD, readSmallWord, viewOf } from "../words.js";
import { VaultLensArtifact } from "./artifact.js";

/** True for nodes that apply state overrides, which the lens needs. */
const lensSupport = new WeakMap<KnownNode, boolean>();

/** Nodes whose contracts have seen the block of a header: a lens tells the same. */
const sameCounts = new WeakSet<KnownNode>();

export function isLensKnown({ node }: RpcClient): boolean {
  return lensSupport.get(node) === true;
}

export const lensCode: string = VaultLensArtifact.deployedBytecode;

export const lensInterface = new Interface(VaultLensArtifact.abi);

export interface ReadCall {
  readonly target: string;
  readonly data: string;
}

const READ_CALLS = lensInterface.getFunction("readCalls")?.selector;

/** Packs calls as contracts/lens/VaultLens.sol expects them. */
export function encodeReadCalls(calls: readonly ReadCall[]): string {
  const packed = calls.map(
    ({ target, data }) =>
      `${target.slice(2).toLowerCase()}${twoBytes((data.length - 2) / 2)}${data.slice(2)}`,
  );
  return `${READ_CALLS}${twoBytes(calls.length)}${packed.join("")}`;
}

function twoBytes(value: number): string {
  assertInvariant(value < 2 ** 16, `${value} does not fit in two bytes`);
  return value.toString(16).padStart(4, "0");
}

/** Encodes a read of orders; the gas may allow fewer of them. */
export function encodeReadOrders(
  trading: string,
  ids: readonly bigint[],
): string {
  const [first = 0n] = ids;
  return lensInterface.encodeFunctionData("readOrders", [
    trading,
    first,
    ids.length,
    isRun(ids) ? [] : ids,
  ]);
}

/** True if each id is the one after the id before it. */
export function isRun(ids: readonly bigint[]): boolean {
  let [next = 0n] = ids;
  return ids.every((orderID) => orderID === next++);
}

/**
 * Makes calls, and reads the chain id, in one request, next to one for the block's
 * header.
 *
 * @param needsPin False if the block's hash is not needed: once contracts of this node
 * have seen the same block as its headers, no header is requested.
 * @returns Undefined if the lens does not work on this node.
 * @throws VaultError if the node does not answer at all, or has no such block
 */
export async function tryLens(
  context: ReadContext,
  calls: readonly ReadCall[] = [],
  needsPin = true,
): Promise<PinnedAnswer | undefined> {
  const { rpc, from } = context;
  if (
    lensSupport.get(rpc.node) === false ||
    // The lens would replace the contract to read.
    calls.some(({ target }) => target === from)
  ) {
    return undefined;
  }
  const { block } = context;
  const data = encodeReadCalls(calls);
  // Without an answer of the lens, the caller reads in another way.
  const attempt = { ...context, rpc: rpc.withRetries(fewRetries) };
  const isPending = block === "pending";
  if (!needsPin && !isPending && sameCounts.has(rpc.node)) {
    const answer = await callLens(attempt, data).catch(
      // The header shows why.
      fallbackTo(undefined, ({ kind }) => kind === "rpc"),
    );
    if (answer !== undefined) {
      const { number } = answer.block;
      rpc.node.blocks.note(number);
      const pin = { number, hash: undefined };
      return { ...answer, pin, hasHeader: false, later: undefined };
    }
  }
  const header = isPending ? pendingHeader(rpc) : getBlock(rpc, block);
  try {
    const [answer] = await Promise.all([callLens(attempt, data), header]);
    return await agreeWith(await header, answer, attempt, data);
  } catch (error) {
    // Without a header, nothing can be read.
    await header;
    fallbackTo(undefined, ({ kind }) => kind === "rpc")(error);
  }
  if (lensSupport.get(rpc.node) === undefined) {
    // The result is kept for good, but this call alone may have failed, or the
    // node for a moment. So probe with an empty call.
    await getChainId(rpc);
    const probe = { rpc, from, block: "latest" };
    const isSupported = await callLens(probe, encodeReadCalls([])).then(
      () => true,
      fallbackTo(false, isRefusedAnyhow),
    );
    lensSupport.set(rpc.node, isSupported);
  }
  return undefined;
}

/** Without a time if the node has no pending block, as many public endpoints. */
type Header = PinnedBlock & Partial<BlockInfo>;

async function pendingHeader(rpc: RpcClient): Promise<Header> {
  try {
    return { ...(await getBlock(rpc, "pending")), hash: undefined };
  } catch (error) {
    fallbackTo(undefined)(error);
    const { number } = await getBlock(rpc);
    return { number: number + 1, hash: undefined };
  }
}

/**
 * Pins an answer to the block of a header. Unless both agree, the lens runs again at the
 * header's number. A block may be made between the two requests, two nodes behind one URL
 * may have different heads, and the EVM may count otherwise (rollups, Polygon zkEVM,
 * Lotus).
 *
 * The header may be the older one of the two. That is right for values that are shown with
 * their block. A settlement must not lose the later answer, so it is returned, too.
 */
async function agreeWith(
  header: Header,
  answer: LensAnswer,
  context: ReadContext,
  data: string,
): Promise<PinnedAnswer> {
  const { block: seen } = answer;
  const { number, hash, timestamp = seen.timestamp } = header;
  const { block: asked, rpc } = context;
  const agrees = seen.number === number && seen.timestamp === timestamp;
  if (agrees && asked !== "pending") {
    sameCounts.add(rpc.node);
  }
  const isSame =
    toBlockId(asked).startsWith("0x") ||
    // It changes from request to request, and nodes do not accept its number.
    asked === "pending" ||
    agrees;
  const agreed = isSame
    ? answer
    : await callLens({ ...context, block: { number, hash } }, data);
  const isLater =
    !isSame &&
    (seen.timestamp > timestamp ||
      (seen.timestamp === timestamp && seen.number > number));
  return {
    ...agreed,
    block: { number, timestamp },
    pin: { number, hash },
    hasHeader: true,
    later: isLater ? answer : undefined,
  };
}

/**
 * Runs the lens inside one `eth_call`. A state override puts its code at the caller's
 * address, so that contracts see this caller. It hides the caller's own code.
 */
export async function callLens(
  { rpc, from, block }: ReadContext,
  data: string,
): Promise<LensAnswer> {
  const answer = await callContract(rpc, { from, to: from, data }, block, {
    [from]: { code: lensCode },
  });
  if ("reverted" in answer) {
    // The lens never reverts: some nodes report "out of gas" as a revert.
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
  lensSupport.set(rpc.node, true);
  return parsed;
}

/** The outcome of a call inside the lens; see contracts/lens/VaultLens.sol. */
export interface LensEntry {
  /** `tooLong` and `usedUp`: the call needs a request of its own. */
  readonly status: "reverted" | "returned" | "tooLong" | "usedUp";
  readonly hasCode: boolean;
  /** Offset of the returned data, or of the revert data, in the bytes. */
  readonly start: number;
  readonly end: number;
}

/** The block and the chain that a lens ran on. */
export interface ExecutedBlock extends BlockInfo {
  readonly chainId: number;
}

export interface LensAnswer {
  /** As the EVM sees it; from {@link tryLens}, as in the header. */
  readonly block: BlockInfo;
  readonly chainId: number;
  readonly entries: readonly LensEntry[];
  readonly bytes: Buffer;
}

/** An answer at the block of a header. */
interface PinnedAnswer extends LensAnswer {
  readonly pin: PinnedBlock;
  /** False if the block is only what the contracts saw. */
  readonly hasHeader: boolean;
  /** The same calls as answered at a block that may come after the header's. */
  readonly later: LensAnswer | undefined;
}

const FORMAT = id("hardhat-vault/VaultLens/2").slice(2);
const HEADER = 4 * WORD;

/** In the order of the constants in VaultLens.sol. */
const statuses = ["reverted", "returned", "tooLong", "usedUp"] as const;

/** @returns Undefined unless the bytes are the whole answer of a lens. */
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

/** @returns Undefined if the three words are no block and chain. */
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

/** @returns Undefined unless the bytes between the offsets are entries. */
function parseLensEntries(
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

/** Converts an entry to the answer of its call. Secrets in a reason are not hidden. */
export function entryAnswer(
  { bytes }: Pick<LensAnswer, "bytes">,
  { status, start, end }: LensEntry,
): CallResult {
  const data = bytes.subarray(start, end);
  return status === "reverted"
    ? { reverted: decodeRevertReason(`0x${data.toString("hex")}`) }
    : { data };
}

/**
 * @param answer Of a call that {@link encodeReadCalls} made.
 * @returns The answer of each call; undefined if it needs a request of its own.
 */
export function readsIn(
  answer: CallResult,
): ReadonlyArray<CallResult | undefined> {
  const parsed = "data" in answer ? parseLensAnswer(answer.data) : undefined;
  return (parsed?.entries ?? []).map((entry) =>
    parsed === undefined || isUnanswered(entry)
      ? undefined
      : entryAnswer(parsed, entry),
  );
}

function isUnanswered({ status }: LensEntry): boolean {
  return status === "tooLong" || status === "usedUp";
}
