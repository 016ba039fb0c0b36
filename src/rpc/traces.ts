import { isHexString } from "ethers";

import { asRecord, listOf } from "../json.js";
import type { RpcClient } from "./rpc-client.js";

/** A trace as a node describes it, not checked. */
type Trace = Readonly<Record<string, unknown>>;

/** The outermost call of a transaction, with the calls in it. */
export async function traceTransaction(
  rpc: RpcClient,
  hash: string,
): Promise<Trace> {
  const method = "debug_traceTransaction";
  const trace = await rpc.request(method, [hash, { tracer: "callTracer" }]);
  return rpc.parser(method).record(trace);
}

/** The accounts before and after a call at the newest block, of what it changes. */
export async function traceChanges(
  rpc: RpcClient,
  request: object,
): Promise<Trace> {
  const method = "debug_traceCall";
  const diffs = { tracer: "prestateTracer", tracerConfig: { diffMode: true } };
  const trace = await rpc.request(method, [request, "latest", diffs]);
  return rpc.parser(method).record(trace);
}

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
  trace: unknown,
  isOuterUndone = false,
): readonly CallFrame[] {
  const { type, from, to, input, value, error, calls } = asRecord(trace);
  const isUndone = isOuterUndone || (error ?? null) !== null;
  return [
    {
      type: String(type),
      from: hexOf(from),
      to: hexOf(to),
      input: hexOf(input),
      value: BigInt(hexOf(value).padEnd(3, "0")),
      isUndone,
    },
    ...listOf(calls).flatMap((call) => framesOf(call, isUndone)),
  ];
}

function hexOf(value: unknown): string {
  return isHexString(value) ? value.toLowerCase() : "0x";
}
