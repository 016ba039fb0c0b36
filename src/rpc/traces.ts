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
