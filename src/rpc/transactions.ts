import { ZeroHash, isHexString } from "ethers";

import { fallbackTo } from "../errors.js";
import { asRecord, listOf } from "../json.js";
import type { Hex } from "../protocol/index.js";
import { findBlock } from "./blocks.js";
import type { BlockId } from "./blocks.js";
import { BLOCK_METHOD } from "./rpc-client.js";
import type { RpcClient, ResponseParser } from "./rpc-client.js";

export interface Receipt {
  readonly hash: Hex;
  readonly blockNumber: number;
  readonly blockHash: Hex;
  readonly gasUsed: bigint;
  /**
   * Wei that it cost, with the fees for its data (`l1Fee`) and the operator on
   * chains of the OP stack. Undefined if the node does not show the price.
   */
  readonly cost: bigint | undefined;
  /** Undefined on chains whose receipts have no status (before EIP-658). */
  readonly succeeded: boolean | undefined;
  /** Not checked. */
  readonly logs: unknown;
  /** Not checked; the contract that the transaction deployed. */
  readonly contractAddress: unknown;
}

export interface SeenTransaction {
  readonly hash: Hex;
  readonly from: string;
  readonly to: string | undefined;
  readonly data: string;
  readonly nonce: number;
}

/** @returns Undefined while the transaction is not mined. */
export async function getReceipt(
  rpc: RpcClient,
  hash: Hex,
): Promise<Receipt | undefined> {
  const method = "eth_getTransactionReceipt";
  const answer = await rpc.request(method, [hash]);
  if (answer === null) {
    return undefined;
  }
  const read = rpc.parser(method);
  const receipt = read.record(answer);
  const { blockNumber, blockHash, logs, contractAddress } = receipt;
  // Some nodes return a receipt without a block for a waiting transaction.
  if (blockNumber === null || blockHash === null || blockHash === ZeroHash) {
    return undefined;
  }
  const found = receipt["transactionHash"] ?? hash;
  if (typeof found !== "string" || found.toLowerCase() !== hash.toLowerCase()) {
    throw read.invalid("it is the receipt of another transaction");
  }
  const valueOf = (name: string): bigint | undefined =>
    read.optional(receipt[name], (value) => read.quantity(value));
  const gasUsed = read.quantity(receipt["gasUsed"]);
  const price = valueOf("effectiveGasPrice");
  const status = valueOf("status");
  // The operator's scalar counts millionths of a wei; since Jovian, whose receipts name the
  // footprint of the data, hundreds of a wei.
  const scaled = gasUsed * (valueOf("operatorFeeScalar") ?? 0n);
  const isJovian = valueOf("daFootprintGasScalar") !== undefined;
  const feesOfRollup =
    (valueOf("l1Fee") ?? 0n) +
    (isJovian ? scaled * 100n : scaled / 1_000_000n) +
    (valueOf("operatorFeeConstant") ?? 0n);
  return {
    hash,
    logs,
    contractAddress,
    blockNumber: read.number(blockNumber),
    blockHash: read.hash(blockHash),
    gasUsed,
    cost: price === undefined ? undefined : gasUsed * price + feesOfRollup,
    succeeded: status === undefined ? undefined : status === 1n,
  };
}

const FIRST_POLL_MS = 10;
const LONGEST_POLL_MS = 500;

/** @returns Undefined if the transaction is not mined in this time. */
export async function waitForReceipt(
  rpc: RpcClient,
  hash: Hex,
  timeoutMs: number,
): Promise<Receipt | undefined> {
  const end = Date.now() + timeoutMs;
  for (let wait = FIRST_POLL_MS; ; wait = Math.min(2 * wait, LONGEST_POLL_MS)) {
    const receipt = await getReceipt(rpc, hash);
    if (receipt !== undefined || Date.now() >= end) {
      return receipt;
    }
    await rpc.pause(wait);
  }
}

/** @returns A mined or waiting transaction, or undefined if the node has none. */
export async function getTransaction(
  rpc: RpcClient,
  hash: Hex,
): Promise<SeenTransaction | undefined> {
  const method = "eth_getTransactionByHash";
  const answer = await rpc.request(method, [hash]);
  return answer === null
    ? undefined
    : seenTransaction(answer, rpc.parser(method));
}

/**
 * The transactions of a block; at `pending`, those that wait. Left out are those of
 * the chain itself, such as deposits of rollups, which have another form.
 */
export async function getTransactions(
  rpc: RpcClient,
  block: BlockId,
): Promise<readonly SeenTransaction[]> {
  const { transactions } = await findBlock(rpc, block, true);
  const read = rpc.parser(BLOCK_METHOD);
  return read.list(transactions).flatMap((transaction) => {
    try {
      return seenTransaction(transaction, read);
    } catch (error) {
      return fallbackTo([], ({ kind }) => kind === "rpc")(error);
    }
  });
}

function seenTransaction(
  transaction: unknown,
  read: ResponseParser,
): SeenTransaction {
  const fields = read.record(transaction);
  const { hash, from, to, nonce } = fields;
  // Older nodes name it `data`.
  const input = fields["input"] ?? fields["data"];
  if (typeof from !== "string" || typeof input !== "string") {
    throw read.invalid("a transaction was expected");
  }
  return {
    hash: read.hash(hash),
    from: from.toLowerCase(),
    to: typeof to === "string" ? to.toLowerCase() : undefined,
    data: input.toLowerCase(),
    nonce: read.number(nonce),
  };
}

/**
 * What a tracer of the node found, not checked: `callTracer` the outermost call with the calls
 * in it, `prestateTracer` the accounts before and after.
 */
export async function trace(
  rpc: RpcClient,
  method: "debug_traceCall" | "debug_traceTransaction",
  ...params: readonly unknown[]
): Promise<Readonly<Record<string, unknown>>> {
  return rpc.parser(method).record(await rpc.request(method, params));
}

export const CALL_TRACER = { tracer: "callTracer" };

/** A call in a trace. A field that the node leaves out is `0x`, or 0. */
export interface CallFrame {
  /** Example: `DELEGATECALL`, `CREATE2`, `SELFDESTRUCT`. */
  readonly type: string;
  /** Lower case, as all hex of a frame. */
  readonly from: string;
  readonly to: string;
  readonly input: string;
  /** In wei. */
  readonly value: bigint;
  /** True if this call failed, or one around it: nothing of it remains. */
  readonly isUndone: boolean;
}

/** The calls in a trace of a transaction, each before those inside it. */
export function framesOf(
  outermost: unknown,
  isOuterUndone = false,
): readonly CallFrame[] {
  const frame = asRecord(outermost);
  const hexOf = (name: string): string => {
    const value = frame[name];
    return isHexString(value) ? value.toLowerCase() : "0x";
  };
  const isUndone = isOuterUndone || (frame["error"] ?? null) !== null;
  return [
    {
      type: String(frame["type"]),
      from: hexOf("from"),
      to: hexOf("to"),
      input: hexOf("input"),
      value: BigInt(hexOf("value").padEnd(3, "0")),
      isUndone,
    },
    ...listOf(frame["calls"]).flatMap((call) => framesOf(call, isUndone)),
  ];
}
