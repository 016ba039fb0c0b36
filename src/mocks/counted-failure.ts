import { Transaction, toQuantity } from "ethers";
import type { JsonRpcRequest } from "hardhat/types/providers";

import type { VaultClient } from "../client/vault-client.js";
import { hasHost } from "../host.js";
import type { VaultHost } from "../host.js";
import { asRecord, listOf } from "../json.js";
import { framesOf } from "../rpc/traces.js";
import type { CallFrame } from "../rpc/traces.js";
import type { MockAddresses } from "./deployed-mocks.js";
import { ANYBODY } from "./failure.js";
import { call, mockInterfaces } from "./mock-contracts.js";
import type { ScriptCall } from "./mock-contracts.js";
import { writeScript } from "./mock-sender.js";

/** A failure that ends after some requests. */
interface CountedFailure {
  readonly vault: VaultClient;
  readonly addresses: MockAddresses;
  /** The call of `setRevertWhen`. */
  readonly made: ScriptCall;
  /** Of all failures of a `fail()`: those of the two pools. */
  readonly count: { left: number };
}

type Failures = Map<string, CountedFailure>;

/** By connection, then by `keyOf`. */
const known = new WeakMap<object, Failures>();

const counted: readonly string[] = [
  "eth_call",
  "eth_estimateGas",
  "eth_sendTransaction",
  "eth_sendRawTransaction",
];

/**
 * Ends failures after some requests that met one of them. A revert undoes all that a
 * contract stores, so a mock cannot count: each request of the connection is traced first.
 *
 * @param script The calls that made the failures.
 */
export function endAfter(
  vault: VaultClient & VaultHost,
  addresses: MockAddresses,
  script: readonly ScriptCall[],
  times: number,
): void {
  const { connection, context } = vault;
  const failures: Failures = known.get(connection) ?? new Map();
  if (!known.has(connection)) {
    known.set(connection, failures);
    context.hooks.registerHandlers("network", {
      onRequest: async (ofHook, from, request, next) => {
        if (
          from === connection &&
          failures.size > 0 &&
          counted.includes(request.method)
        ) {
          await countRequest(connection, failures, request);
        }
        return await next(ofHook, from, request);
      },
    });
  }
  const count = { left: times };
  for (const made of script) {
    const key = String(keyOf(addresses, made));
    failures.set(key, { vault, addresses, made, count });
  }
}

async function countRequest(
  connection: VaultHost["connection"],
  failures: Failures,
  request: JsonRpcRequest,
): Promise<void> {
  // Not by the hook's next(), which can be called once.
  const traced = await trace(connection, request).catch(() => undefined);
  const frames = framesOf(traced);
  const all = [...failures.values()];
  const met = all.filter((failure) =>
    frames.some((frame) => meets(frame, failure)),
  );
  for (const count of new Set(met.map((failure) => failure.count))) {
    if (count.left > 0) {
      count.left -= 1;
      continue;
    }
    // They stay known, because a snapshot may bring the failures back.
    for (const { vault, addresses, made } of all.filter(
      (failure) => failure.count === count,
    )) {
      const condition = parse(made).args.slice(0, 3);
      const clear = call(made.role, "clearRevertWhen", ...condition);
      await writeScript(vault, addresses, [clear]);
    }
  }
}

/** Forgets the counts of failures that a script replaces or ends. */
export function forgetCounts(
  vault: VaultClient,
  addresses: MockAddresses,
  script: readonly ScriptCall[],
): void {
  const failures = hasHost(vault) ? known.get(vault.connection) : undefined;
  if (failures === undefined) {
    return;
  }
  for (const one of script) {
    const replaced = keyOf(addresses, one);
    for (const key of failures.keys()) {
      if (replaced !== undefined && key.startsWith(replaced)) {
        failures.delete(key);
      }
    }
  }
}

/** Of the arguments of a call, how many name the failures that it sets or ends. */
const namingArguments: Readonly<Record<string, number>> = {
  reset: 0,
  clearRevert: 1,
  setRevertWhen: 3,
  clearRevertWhen: 3,
};

/** @returns The key of the failure that a call sets, or the start of those that it ends. */
function keyOf(addresses: MockAddresses, one: ScriptCall): string | undefined {
  const { name, args } = parse(one);
  const length = namingArguments[name];
  return length === undefined
    ? undefined
    : [addresses[one.role], ...args.slice(0, length)]
        // With a blank at its end, no key is the start of another one.
        .map((part) => `${part} `)
        .join("");
}

function parse({ role, data }: ScriptCall): {
  readonly name: string;
  readonly args: readonly string[];
} {
  const parsed = mockInterfaces[role].parseTransaction({ data });
  return { name: parsed?.name ?? "", args: parsed?.args.map(String) ?? [] };
}

async function trace(
  { provider }: VaultHost["connection"],
  { method, params }: JsonRpcRequest,
): Promise<unknown> {
  const [given, block] = listOf(params);
  // A copy: the transaction of a settlement can be written as JSON once.
  let transaction: object = { ...asRecord(given) };
  if (method === "eth_sendRawTransaction") {
    const { from, to, data, value } = Transaction.from(String(given));
    transaction = { from, to, data, value: toQuantity(value) };
  }
  return await provider.request({
    method: "debug_traceCall",
    params: [
      transaction,
      typeof block === "string" ? block : "latest",
      { tracer: "callTracer" },
    ],
  });
}

/** True if the call failed as the mock does. */
function meets(frame: CallFrame, { addresses, made }: CountedFailure): boolean {
  const [selector, caller = "", args = "", revertData] = parse(made).args;
  const { from, to, input, output, isFailed } = frame;
  return (
    isFailed &&
    to === addresses[made.role].toLowerCase() &&
    input.startsWith(`${selector}${args.slice(2)}`) &&
    [ANYBODY, from].includes(caller.toLowerCase()) &&
    output === revertData
  );
}
