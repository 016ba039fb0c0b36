import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe } from "node:diagnostics_channel";

import { asRecord } from "../json.js";

/** Bytes of an answer; a chunk of 1,000 orders has a thousandth of it. */
const MAX_ANSWER_BYTES = 64 * 2 ** 20;

interface Watched {
  readonly requests: Set<object>;
  readonly tooLong: () => Error;
  bytes: number;
}

// Hardhat and fetch send through undici, and have no way to cancel a request or to
// limit its answer. Undici reports each request in the context that made it.
const context = new AsyncLocalStorage<Watched>();
const owners = new WeakMap<object, Watched>();

subscribe("undici:request:create", (message) => {
  const watched = context.getStore();
  const request = requestOf(message);
  if (watched !== undefined) {
    watched.requests.add(request);
    owners.set(request, watched);
  }
});
subscribe("undici:request:bodyChunkReceived", (message) => {
  const request = requestOf(message);
  const watched = owners.get(request);
  const { length } = asRecord(asRecord(message)["chunk"]);
  if (watched !== undefined && typeof length === "number") {
    watched.bytes += length;
    if (watched.bytes > MAX_ANSWER_BYTES) {
      abort(request, watched.tooLong());
    }
  }
});

function requestOf(message: unknown): object {
  return asRecord(asRecord(message)["request"]);
}

function abort(request: object, reason: Error): void {
  const end: unknown = Reflect.get(request, "abort");
  // Null until the request has a connection.
  if (typeof end === "function") {
    Reflect.apply(end, request, [reason]);
  }
}

/**
 * Sends a request whose answer has a limit.
 *
 * @param tooLong Makes the error for a longer answer.
 * @returns The answer, and a function that ends the request.
 */
export function sendBounded<T>(
  send: () => Promise<T>,
  tooLong: (limit: string) => Error,
): { readonly answer: Promise<T>; readonly cancel: () => void } {
  const watched: Watched = {
    requests: new Set(),
    tooLong: () => tooLong(`${MAX_ANSWER_BYTES / 2 ** 20} MiB`),
    bytes: 0,
  };
  return {
    answer: context.run(watched, send),
    cancel: () => {
      for (const request of watched.requests) {
        abort(request, new Error("the deadline is over"));
      }
    },
  };
}
