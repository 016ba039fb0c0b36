import { Transaction, toQuantity } from "ethers";
import type { NetworkHooks } from "hardhat/types/hooks";
import type { JsonRpcRequest } from "hardhat/types/providers";

import type { VaultClient } from "../client/vault-client.js";
import type { VaultHost } from "../host.js";
import { asRecord, listOf } from "../json.js";
import type { ContractRole } from "../protocol/index.js";
import type { MockAddresses } from "./deployed-mocks.js";
import { ANYBODY } from "./failure.js";
import { call, mockInterfaces } from "./mock-contracts.js";
import type { ScriptCall } from "./mock-contracts.js";

/** A scripted failure of one mock, as `setRevertWhen` of MockBase.sol takes it. */
interface CountedFailure {
  readonly role: ContractRole;
  readonly selector: string;
  readonly from: string;
  readonly args: string;
  readonly revertData: string;
}

/** Requests that call contracts. */
const counted: readonly string[] = [
  "eth_call",
  "eth_estimateGas",
  "eth_sendTransaction",
  "eth_sendRawTransaction",
];

/** What ends the counting of a failure, by connection, then by `keyOf`. */
const counters = new WeakMap<object, Map<string, () => void>>();

/**
 * Ends failures after some requests that met one of them. A revert undoes all that a
 * contract stores, so a mock cannot count: each request of the connection is traced first.
 *
 * @param script The calls that made the failures.
 * @param end Makes the calls that end them. It is called again after a snapshot brought
 * one back.
 */
export function endAfter(
  { connection, context }: VaultClient & VaultHost,
  addresses: MockAddresses,
  script: readonly ScriptCall[],
  times: number,
  end: (calls: readonly ScriptCall[]) => Promise<void>,
): void {
  let left = times;
  const failures = new Set(script.map((one) => failureOf(one)));
  const handlers: Partial<NetworkHooks> = {
    onRequest: async (ofHook, from, request, next) => {
      if (from === connection && counted.includes(request.method)) {
        // Not by next(), which can be called once.
        const trace = async (): Promise<unknown> =>
          await connection.provider.request({
            method: "debug_traceCall",
            params: traceParameters(request),
          });
        const traced = await trace().catch(() => undefined);
        if ([...failures].some((one) => meets(traced, addresses, one))) {
          if (left > 0) {
            left -= 1;
          } else {
            await end(
              [...failures].map(({ role, selector, from: caller, args }) =>
                call(role, "clearRevertWhen", selector, caller, args),
              ),
            );
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
  for (const failure of failures) {
    ofConnection.set(keyOf(addresses[failure.role], failure), () => {
      failures.delete(failure);
      if (failures.size === 0) {
        hooks.unregisterHandlers("network", handlers);
      }
    });
  }
}

/** Forgets the counts of failures that a script replaces or ends. */
export function forgetCounts(
  { connection }: VaultHost,
  addresses: MockAddresses,
  script: readonly ScriptCall[],
): void {
  const ofConnection = counters.get(connection);
  for (const one of ofConnection === undefined ? [] : script) {
    const overwritten = overwrittenBy(addresses[one.role], one);
    for (const [key, stop] of ofConnection ?? []) {
      if (overwritten !== undefined && key.startsWith(overwritten)) {
        stop();
        ofConnection?.delete(key);
      }
    }
  }
}

/** @returns The beginning of the keys that a call overwrites, if it overwrites any. */
function overwrittenBy(address: string, one: ScriptCall): string | undefined {
  const { role, data } = one;
  switch (mockInterfaces[role].parseTransaction({ data })?.name) {
    case "reset":
      return `${address} `;
    case "clearRevert": {
      const { selector } = failureOf(one);
      return `${address} ${selector} `;
    }
    case "setRevertWhen":
    case "clearRevertWhen":
      return keyOf(address, failureOf(one));
    default:
      return undefined;
  }
}

function failureOf({ role, data }: ScriptCall): CountedFailure {
  const [selector, from, args, revertData] =
    mockInterfaces[role].parseTransaction({ data })?.args.map(String) ?? [];
  return {
    role,
    selector: selector ?? "",
    from: from ?? "",
    args: args ?? "",
    revertData: revertData ?? "",
  };
}

/** It ends with a blank, so that it is the beginning of no other key. */
function keyOf(
  address: string,
  { selector, from, args }: CountedFailure,
): string {
  return `${address} ${selector} ${from} ${args} `;
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
function meets(
  frame: unknown,
  addresses: MockAddresses,
  failure: CountedFailure,
): boolean {
  const { from, to, input, output = "0x", error, calls } = asRecord(frame);
  const { role, selector, args, revertData } = failure;
  return (
    (error !== undefined &&
      addresses[role].toLowerCase() === to &&
      String(input).startsWith(`${selector}${args.slice(2)}`) &&
      [ANYBODY, from].includes(failure.from.toLowerCase()) &&
      output === revertData) ||
    listOf(calls).some((each) => meets(each, addresses, failure))
  );
}
