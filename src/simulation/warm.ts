import { isAddress, isHexString, toQuantity } from "ethers";

import { asRecord, listOf } from "../json.js";
import type { CallRequest } from "../rpc/rpc-client.js";
import type { BlockCache } from "./block-cache.js";
import type { UpstreamAnswer, UpstreamCall } from "./upstream.js";

/** State that a fork will need. */
export interface Needs {
  /** Each is made on the state of the block. */
  readonly calls: readonly CallRequest[];
  /** Accounts that are read without a call. */
  readonly accounts: readonly string[];
}

/** The places that a call reads, by address in lower case. */
type Places = ReadonlyMap<string, readonly string[]>;

/**
 * Fills the cache in two steps: what the calls read, and the values. A node answers each
 * in one batch. Nothing depends on it: what is missing is asked for when it is needed.
 */
export async function warm(
  cache: BlockCache,
  block: number,
  { calls, accounts }: Needs,
): Promise<void> {
  const at = toQuantity(block);
  const found = await placesOf(cache, at, calls);
  const slots = new Map<string, Set<string>>();
  const add = (address: string, more: readonly string[] = []): void => {
    const known = slots.get(address.toLowerCase()) ?? new Set();
    slots.set(address.toLowerCase(), new Set([...known, ...more]));
  };
  [...accounts, ...calls.flatMap(({ from, to }) => [from, to])].forEach(
    (address) => {
      add(address);
    },
  );
  for (const places of found) {
    for (const [address, more] of places) {
      add(address, more);
    }
  }
  const wanted = [...slots].flatMap(([address, places]): UpstreamCall[] => [
    { method: "eth_getBalance", params: [address, at] },
    { method: "eth_getTransactionCount", params: [address, at] },
    { method: "eth_getCode", params: [address, at] },
    ...[...places].map((slot) => ({
      method: "eth_getStorageAt",
      params: [address, slot, at],
    })),
  ]);
  await Promise.all(wanted.map(async (call) => await cache.get(call)));
  await cache.save();
}

/** @returns The places of each call that the node traces. */
async function placesOf(
  cache: BlockCache,
  block: string,
  calls: readonly CallRequest[],
): Promise<readonly Places[]> {
  const lists = await cache.ask(
    calls.map((call) => ({
      method: "eth_createAccessList",
      params: [call, block],
    })),
  );
  const listed = lists.map(placesInList);
  // Some nodes lack the method, others refuse a call that reverts.
  const others = calls.filter((_, index) => listed[index] === undefined);
  const traces = await cache.ask(
    others.map((call) => ({
      method: "debug_traceCall",
      params: [call, block, { tracer: "prestateTracer" }],
    })),
  );
  return [...listed, ...traces.map(placesInTrace)].filter(
    (places) => places !== undefined,
  );
}

function placesInList(answer: UpstreamAnswer): Places | undefined {
  const { accessList } = asRecord("result" in answer ? answer.result : null);
  return Array.isArray(accessList)
    ? new Map(
        listOf(accessList)
          .map(asRecord)
          .flatMap(({ address, storageKeys }) =>
            isAddress(address) ? [[address, slotsIn(listOf(storageKeys))]] : [],
          ),
      )
    : undefined;
}

function placesInTrace(answer: UpstreamAnswer): Places | undefined {
  return "result" in answer
    ? new Map(
        Object.entries(asRecord(answer.result))
          .filter(([address]) => isAddress(address))
          .map(([address, state]) => {
            const { storage } = asRecord(state);
            return [address, slotsIn(Object.keys(asRecord(storage)))];
          }),
      )
    : undefined;
}

/** Milliseconds after which the simulator asks by itself. */
const WARMING_LIMIT_MS = 15_000;

/** Ends without an error: a fork that is not warm works, too. */
export async function tryToWarm(work: Promise<void>): Promise<void> {
  const limit = new Promise<void>((resolve) => {
    setTimeout(resolve, WARMING_LIMIT_MS).unref();
  });
  await Promise.race([work, limit]).catch(() => undefined);
}

/** As quantities, which is how the simulator asks for them. */
function slotsIn(keys: readonly unknown[]): readonly string[] {
  return keys
    .filter((key) => isHexString(key, 32))
    .map((key) => toQuantity(key));
}
