import { Transaction, toQuantity } from "ethers";
import type { NetworkHooks } from "hardhat/types/hooks";
import type { JsonRpcRequest } from "hardhat/types/providers";

import type { VaultClient } from "../client/vault-client.js";
import type { VaultHost } from "../host.js";
import { asRecord, listOf } from "../json.js";

/** A failure of a mock, as a trace shows it. */
export interface TracedFailure {
  readonly addresses: readonly string[];
  readonly selector: string;
  readonly revertData: string;
}

/** Requests that call contracts. */
const counted: readonly string[] = [
  "eth_call",
  "eth_estimateGas",
  "eth_sendTransaction",
  "eth_sendRawTransaction",
];

/** The handlers that count, by connection, then by mock and selector. */
const counters = new WeakMap<object, Map<string, () => void>>();

/**
 * Ends a failure after some requests that met it. A revert undoes all that a contract
 * stores, so a mock cannot count: each request of the connection is traced first.
 *
 * @param end Ends the failure. It is called again after a snapshot brought it back.
 */
export function endAfter(
  { connection, context }: VaultClient & VaultHost,
  failure: TracedFailure,
  times: number,
  end: () => Promise<void>,
): void {
  let left = times;
  const handlers: Partial<NetworkHooks> = {
    onRequest: async (ofHook, from, request, next) => {
      if (from === connection && counted.includes(request.method)) {
        // Not by next(), which can be called once.
        const traced: unknown = await connection.provider
          .request({
            method: "debug_traceCall",
            params: traceParameters(request),
          })
          .catch(() => undefined);
        if (meets(traced, failure)) {
          if (left > 0) {
            left -= 1;
          } else {
            await end();
          }
        }
      }
      return await next(ofHook, from, request);
    },
  };
  const { hooks } = context;
  hooks.registerHandlers("network", handlers);
  const ofConnection =
    counters.get(connection) ?? new Map<string, () => void>();
  counters.set(connection, ofConnection);
  for (const key of keysOf(failure)) {
    ofConnection.set(key, () => {
      hooks.unregisterHandlers("network", handlers);
    });
  }
}

/** Forgets the counts of failures that others replace or end. */
export function stopCounting(
  { connection }: VaultHost,
  failure: Pick<TracedFailure, "addresses" | "selector">,
): void {
  const ofConnection = counters.get(connection);
  for (const key of keysOf(failure)) {
    ofConnection?.get(key)?.();
    ofConnection?.delete(key);
  }
}

function keysOf({
  addresses,
  selector,
}: Pick<TracedFailure, "addresses" | "selector">): readonly string[] {
  return addresses.map((address) => `${address} ${selector}`);
}

function traceParameters({ method, params }: JsonRpcRequest): unknown[] {
  const [given, block] = listOf(params);
  const tracer = { tracer: "callTracer" };
  if (method !== "eth_sendRawTransaction") {
    // A copy: the transaction of a settlement can be written as JSON once.
    return [
      { ...asRecord(given) },
      typeof block === "string" ? block : "latest",
      tracer,
    ];
  }
  const { from, to, data, value } = Transaction.from(String(given));
  return [{ from, to, data, value: toQuantity(value) }, "latest", tracer];
}

/** True if a call in the trace failed as the mock does. */
function meets(frame: unknown, failure: TracedFailure): boolean {
  const { to, input, output = "0x", error, calls } = asRecord(frame);
  const { addresses, selector, revertData } = failure;
  return (
    (error !== undefined &&
      addresses.some((each) => each.toLowerCase() === to) &&
      String(input).startsWith(selector) &&
      output === revertData) ||
    listOf(calls).some((each) => meets(each, failure))
  );
}
