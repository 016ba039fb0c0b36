import { isHexString } from "ethers";

import { asRecord, listOf } from "../json.js";
import { toBlockId } from "./block-id.js";
import type { BlockId } from "./block-id.js";
import type { RpcClient } from "./rpc-client.js";

/** Tracers of geth, which other nodes have too. */
const tracers = {
  /** The outermost call, with the calls in it. */
  calls: { tracer: "callTracer" },
  /** The accounts before and after, of what changes. */
  changes: { tracer: "prestateTracer", tracerConfig: { diffMode: true } },
} as const;

/** A trace as a node describes it, not checked. */
type Trace = Readonly<Record<string, unknown>>;

export async function traceTransaction(
  rpc: RpcClient,
  hash: string,
  of: keyof typeof tracers,
): Promise<Trace> {
  const method = "debug_traceTransaction";
  const trace = await rpc.request(method, [hash, tracers[of]]);
  return rpc.parser(method).record(trace);
}

/** @param more Options of the trace, such as `blockOverrides`. */
export async function traceCall(
  rpc: RpcClient,
  request: object,
  block: BlockId,
  of: keyof typeof tracers,
  more: object = {},
): Promise<Trace> {
  const method = "debug_traceCall";
  const params = [request, toBlockId(block), { ...tracers[of], ...more }];
  return rpc.parser(method).record(await rpc.request(method, params));
}

/** A call in a trace. A field that the node leaves out is `0x`, or 0. */
export interface CallFrame {
  /** Example: `DELEGATECALL`, `CREATE2`, `SELFDESTRUCT`. */
  readonly type: string;
  /** Lower case, as all hex of a frame. */
  readonly from: string;
  readonly to: string;
  readonly input: string;
  readonly output: string;
  /** In wei. */
  readonly value: bigint;
  readonly isFailed: boolean;
  /** True if this call failed, or one around it: nothing of it remains. */
  readonly isUndone: boolean;
}

/** The calls in a trace of `callTracer`, each before those inside it. */
export function framesOf(
  trace: unknown,
  isOuterUndone = false,
): readonly CallFrame[] {
  const { type, from, to, input, output, value, error, calls } =
    asRecord(trace);
  const isFailed = error !== undefined && error !== null;
  const isUndone = isOuterUndone || isFailed;
  const frame = {
    type: String(type),
    from: hexOf(from),
    to: hexOf(to),
    input: hexOf(input),
    output: hexOf(output),
    value: BigInt(hexOf(value).padEnd(3, "0")),
    isFailed,
    isUndone,
  };
  const inside = listOf(calls).flatMap((call) => framesOf(call, isUndone));
  return [frame, ...inside];
}

function hexOf(value: unknown): string {
  return isHexString(value) ? value.toLowerCase() : "0x";
}
