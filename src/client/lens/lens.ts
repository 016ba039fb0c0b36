import type { Buffer } from "node:buffer";

import { Interface, dataSlice, getAddress, id } from "ethers";

import { assertInvariant, fallbackTo, vaultError } from "../../errors.js";
import type { VaultOrder } from "../../protocol/index.js";
import { quoteForeignText } from "../../foreign-text.js";
import type { BlockId, BlockInfo } from "../../rpc/blocks.js";
import { callContract, getChainId } from "../../rpc/chain.js";
import type { CallResult } from "../../rpc/revert-reason.js";
import { allowsAnotherRequest } from "../../rpc/errors.js";
import { fewRetries } from "../../rpc/rpc-client.js";
import { decodeRevertReason } from "../../rpc/revert-reason.js";
import type { RpcClient } from "../../rpc/rpc-client.js";
import { WORD, addressAt, hexWord, readSmallWord, readWord } from "../codec.js";
import { VaultLensArtifact } from "./artifact.js";

export const lensCode: string = VaultLensArtifact.deployedBytecode;

export const lensInterface = new Interface(VaultLensArtifact.abi);

/** What a call needs beside its data. */
export interface CallContext {
  readonly rpc: RpcClient;
  /** The caller that the contracts see. */
  readonly from: string;
  readonly block: BlockId;
}

export interface ReadCall {
  readonly address: string;
  readonly data: string;
}

const READ_CALLS = lensInterface.getFunction("readCalls")?.selector;

/** Packs calls as contracts/lens/VaultLens.sol expects them. */
export function encodeReadCalls(calls: readonly ReadCall[]): string {
  const packed = calls.map(
    ({ address, data }) =>
      `${address.slice(2).toLowerCase()}${twoBytes((data.length - 2) / 2)}${data.slice(2)}`,
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
  isRange: boolean,
): string {
  const [first = 0n] = ids;
  return lensInterface.encodeFunctionData("readOrders", [
    trading,
    first,
    ids.length,
    isRange ? [] : ids,
  ]);
}

/**
 * Makes calls in one request, which answers the chain id, number and time of its block, too.
 *
 * @returns Undefined if the lens does not work on this node, or failed for a moment.
 * @throws VaultError VAULT_REORGED, or if the node does not answer at all
 */
export async function tryLens(
  context: CallContext,
  calls: readonly ReadCall[],
): Promise<LensAnswer | undefined> {
  const { rpc, from } = context;
  if (
    rpc.node.runsLens === false ||
    // The lens would replace the contract to read.
    calls.some(({ address }) => address === from)
  ) {
    return undefined;
  }
  // Without an answer of the lens, the caller reads in another way.
  const patient = { ...context, rpc: rpc.withRetries(fewRetries) };
  const answer = await callLens(patient, encodeReadCalls(calls)).catch(
    fallbackTo(
      undefined,
      ({ kind, code }) => kind === "rpc" && code !== "VAULT_REORGED",
    ),
  );
  if (answer === undefined) {
    await learnIfLensRuns(rpc, from);
  }
  return answer;
}

/**
 * Finds out if a node runs the lens, by an empty call unless it is known. It is kept for good,
 * so a node that is gone for a moment is not taken for one without: it answers the chain id
 * before.
 */
export async function learnIfLensRuns(
  rpc: RpcClient,
  from: string,
): Promise<void> {
  if (rpc.node.runsLens === undefined) {
    await getChainId(rpc);
    rpc.node.runsLens = await callLens(
      { rpc, from, block: "latest" },
      encodeReadCalls([]),
    ).then(() => true, fallbackTo(false, allowsAnotherRequest));
  }
}

/**
 * Runs the lens inside one `eth_call`. A state override puts its code at the caller's
 * address, so that contracts see this caller. It hides the caller's own code.
 */
export async function callLens(
  { rpc, from, block }: CallContext,
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
  rpc.node.runsLens = true;
  return parsed;
}

/** The outcome of a call inside the lens; see contracts/lens/VaultLens.sol. */
export interface LensEntry {
  /**
   * `tooLong` and `usedUp`: the call needs a request of its own. `packed`: an order
   * without the zeros at the start of its words.
   */
  readonly status: (typeof statuses)[number];
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
  /** As contracts see it: on some rollups, its number is not that of the header. */
  readonly block: BlockInfo;
  readonly chainId: number;
  readonly entries: readonly LensEntry[];
  readonly bytes: Buffer;
}

const FORMAT = id("hardhat-vault/VaultLens/3").slice(2);
const HEADER = 4 * WORD;

/** In the order of the constants in VaultLens.sol. */
const statuses = [
  "reverted",
  "returned",
  "tooLong",
  "usedUp",
  "packed",
] as const;

/** Bytes of a packed order before its pair: see PACKED in VaultLens.sol. */
const PACKED_SIZE = 4 + 20 + 8 + 8 * 12;

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
    readSmallWord(bytes, offset + word * WORD),
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
  const entries: LensEntry[] = [];
  let offset = from;
  while (offset < to) {
    const status = statuses[bytes.readUInt8(offset)];
    const isPacked = status === "packed";
    const head = offset + (isPacked ? PACKED_SIZE : WORD);
    if (status === undefined || head > to) {
      return undefined;
    }
    const length = isPacked
      ? bytes.readUInt8(offset + 1)
      : bytes.readUInt32BE(head - 4);
    const [start, end] = [isPacked ? offset : head, head + length];
    if (end > to) {
      return undefined;
    }
    const hasCode = isPacked || bytes.readUInt8(offset + 1) === 1;
    entries.push({ status, hasCode, start, end });
    offset = end;
  }
  return entries;
}

/**
 * Converts an entry to the answer of its call. Secrets in a reason are not hidden.
 *
 * @returns Undefined if the call needs a request of its own.
 */
export function entryAnswer(
  { bytes }: Pick<LensAnswer, "bytes">,
  { status, start, end }: LensEntry,
): CallResult | undefined {
  if (status === "tooLong" || status === "usedUp") {
    return undefined;
  }
  const data = bytes.subarray(start, end);
  return status === "reverted"
    ? { reverted: decodeRevertReason(`0x${data.toString("hex")}`) }
    : { data };
}

/** Reads an order as `PACKED` in contracts/lens/VaultLens.sol tells. */
export function unpackOrder(
  bytes: Buffer,
  view: DataView,
  { start, end }: LensEntry,
  orderID: bigint,
): { readonly orderID: bigint } & VaultOrder {
  return {
    orderID,
    exType: bytes.toString("utf8", start + PACKED_SIZE, end),
    holder: addressAt(bytes, start + 4),
    number: amountAt(view, start + 32),
    exFee: amountAt(view, start + 44),
    lockFee: amountAt(view, start + 56),
    newLockFee: amountAt(view, start + 68),
    openPrice: amountAt(view, start + 80),
    marginAmount: amountAt(view, start + 92),
    marginFee: amountAt(view, start + 104),
    startTime: view.getBigUint64(start + 24),
    closePrice: amountAt(view, start + 116),
    contractType: view.getUint8(start + 2),
    state: view.getUint8(start + 3),
  };
}

function amountAt(view: DataView, offset: number): bigint {
  const high = view.getUint32(offset);
  const low = view.getBigUint64(offset + 4);
  return high === 0 ? low : (BigInt(high) << 64n) | low;
}

/** An unused address: the lens replaces no account there. */
export const NOBODYS_ADDRESS = getAddress(
  dataSlice(id("hardhat-vault/VaultLens"), 12),
);

const FACTS_HEADER = 4 * WORD;

const FACTS_OF = lensInterface.getFunction("factsOf")?.selector;
const LEND = lensInterface.getFunction("lend")?.selector;

/** Reads the block that the lens runs in, and balance and code of accounts. */
export function factsCall(lens: string, accounts: readonly string[]): ReadCall {
  const words = [WORD, accounts.length, ...accounts].map(hexWord);
  return { address: lens, data: [FACTS_OF, ...words].join("") };
}

/** @param needed Wei of the lens, for an account that has less, or has code. */
export function lendCall(
  lens: string,
  account: string,
  needed: bigint,
): ReadCall {
  const words = [account, needed].map(hexWord);
  return { address: lens, data: [LEND, ...words].join("") };
}

/**
 * Wei to lend for gas: the price of all of it to a sender who cannot pay, or has code.
 * `lend` in contracts/lens/VaultLens.sol has the same rule.
 */
export function loanFor(
  { balance, codeSize }: { balance: bigint; codeSize: bigint },
  fee: bigint,
): bigint {
  return balance < fee || codeSize > 0n ? fee : 0n;
}

export interface LensFacts {
  readonly block: ExecutedBlock & { readonly baseFee: bigint };
  /** By address; balances are in wei. */
  readonly accounts: ReadonlyMap<
    string,
    { readonly balance: bigint; readonly codeSize: bigint }
  >;
}

/**
 * @param accounts The accounts given to {@link factsCall}.
 * @returns Undefined if `factsOf` returns something else.
 */
export function parseFacts(
  answer: CallResult | undefined,
  accounts: readonly string[],
): LensFacts | undefined {
  if (
    answer === undefined ||
    "reverted" in answer ||
    answer.data.length !== FACTS_HEADER + accounts.length * 2 * WORD
  ) {
    return undefined;
  }
  const { data } = answer;
  const block = readBlock(data, 0);
  if (block === undefined) {
    return undefined;
  }
  const facts = accounts.map((account, place) => {
    const offset = FACTS_HEADER + place * 2 * WORD;
    const codeSize = readWord(data, offset + WORD);
    return [account, { balance: readWord(data, offset), codeSize }] as const;
  });
  return {
    block: { ...block, baseFee: readWord(data, 3 * WORD) },
    accounts: new Map(facts),
  };
}
