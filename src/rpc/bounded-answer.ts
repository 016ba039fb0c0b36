import { AsyncLocalStorage } from "node:async_hooks";
import { Buffer } from "node:buffer";
import { subscribe } from "node:diagnostics_channel";
import { gunzipSync } from "node:zlib";

import { asRecord } from "../json.js";
import { firstAborted, orAbort } from "./signals.js";

/** Bytes of an answer; a chunk of 700 orders has a thousandth of it. */
const MAX_ANSWER_BYTES = 64 * 2 ** 20;

/** The first bytes of a gzip stream. */
const GZIP = Buffer.from([0x1f, 0x8b]);

interface Watched {
  readonly requests: Set<object>;
  readonly limits: AnswerLimits;
  bytes: number;
  /** When the newest answer began, by the clock of `performance`. */
  begunAt: number;
  newest: NewestRequest | undefined;
  statusError: StatusError | undefined;
}

interface AnswerLimits {
  /** Each ends the request, and what Hardhat repeats by itself. Default: none. */
  readonly signals?: readonly AbortSignal[];
  /** Milliseconds for a body: undici's limit begins again with each piece. */
  readonly timeout: number;
  /** Makes the error for a longer answer. */
  readonly tooLong: (limit: string) => Error;
}

interface NewestRequest {
  /** JSON-RPC, as it was sent. */
  readonly body: unknown;
  /** Kept of an answer that begins as gzip does. */
  readonly compressed: Uint8Array[];
}

/** An HTTP status that is not 2xx, of which nothing else was seen. */
class StatusError extends Error {
  constructor(public readonly statusCode: number) {
    super(`HTTP status ${statusCode}`);
  }
}

/** Observations of a request on its way over HTTP. */
export interface Exchanged {
  /**
   * False if another request came last, such as one that Hardhat sends first; undefined
   * if no request was seen.
   */
  readonly isOwn: boolean | undefined;
  /** Name of the method that came last. */
  readonly method: string;
  /** The answer's text, if it came as gzip: nobody asked for that, or unpacks it. */
  readonly unpacked: string | undefined;
  /** The last answer that was not 2xx: Hardhat repeats a request after status 429. */
  readonly statusError: Error | undefined;
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
    watched.newest = { body: Reflect.get(request, "body"), compressed: [] };
    owners.set(request, watched);
  }
});
subscribe("undici:client:sendHeaders", (message) => {
  const request = requestOf(message);
  const signals = owners.get(request)?.limits.signals ?? [];
  if (firstAborted(signals) !== undefined) {
    abort(request, deadlineIsOver());
  }
});
subscribe("undici:request:headers", (message) => {
  const watched = owners.get(requestOf(message));
  const { statusCode } = asRecord(asRecord(message)["response"]);
  if (watched !== undefined) {
    watched.begunAt = performance.now();
    if (Number(statusCode) >= 400) {
      watched.statusError = new StatusError(Number(statusCode));
    }
  }
});
subscribe("undici:request:bodyChunkReceived", (message) => {
  const request = requestOf(message);
  const watched = owners.get(request);
  const { chunk } = asRecord(message);
  if (watched !== undefined && chunk instanceof Uint8Array) {
    const { limits, begunAt } = watched;
    watched.bytes += chunk.length;
    if (watched.bytes > MAX_ANSWER_BYTES) {
      abort(request, limits.tooLong(`${MAX_ANSWER_BYTES / 2 ** 20} MiB`));
    } else if (performance.now() - begunAt > limits.timeout) {
      abort(request, deadlineIsOver());
    }
    const kept = watched.newest?.compressed ?? [];
    if (kept.length > 0 || GZIP.equals(chunk.subarray(0, GZIP.length))) {
      kept.push(chunk);
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

function deadlineIsOver(): Error {
  return new DOMException("the deadline is over", "TimeoutError");
}

/**
 * Sends a request whose answer has limits.
 *
 * @returns The answer, which throws the reason of a signal that is aborted, and a
 * function that returns what was seen of the request.
 */
export function sendBounded<T>(
  send: () => Promise<T>,
  limits: AnswerLimits,
): {
  readonly answer: Promise<T>;
  readonly exchanged: (method: string, params: readonly unknown[]) => Exchanged;
} {
  const watched: Watched = {
    requests: new Set(),
    limits,
    bytes: 0,
    begunAt: 0,
    newest: undefined,
    statusError: undefined,
  };
  return {
    answer: answerOf(watched, context.run(watched, send)),
    exchanged: (method, params) => {
      const { body, compressed = [] } = watched.newest ?? {};
      const sent = asRecord(parse(body));
      return {
        isOwn:
          watched.newest === undefined
            ? undefined
            : sent["method"] === method &&
              // A copy: a transaction may refuse to be written as JSON twice.
              JSON.stringify(sent["params"]) ===
                JSON.stringify(structuredClone(params)),
        method: String(sent["method"]),
        unpacked: compressed.length === 0 ? undefined : unpack(compressed),
        statusError: watched.statusError,
      };
    },
  };
}

async function answerOf<T>(
  { requests, limits: { signals = [] } }: Watched,
  answer: Promise<T>,
): Promise<T> {
  try {
    return await orAbort(answer, ...signals);
  } finally {
    if (firstAborted(signals) !== undefined) {
      requests.forEach((request) => {
        abort(request, deadlineIsOver());
      });
    }
  }
}

function parse(body: unknown): unknown {
  try {
    return JSON.parse(
      body instanceof Uint8Array ? Buffer.from(body).toString() : String(body),
    );
  } catch {
    // Such as the GET after a redirect.
    return undefined;
  }
}

function unpack(chunks: readonly Uint8Array[]): string | undefined {
  try {
    return gunzipSync(Buffer.concat(chunks), {
      maxOutputLength: MAX_ANSWER_BYTES,
    }).toString("utf8");
  } catch {
    // It is cut, or something else.
    return undefined;
  }
}
