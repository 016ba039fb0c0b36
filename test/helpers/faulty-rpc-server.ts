import { setTimeout as sleep } from "node:timers/promises";

import { fieldsOf } from "./fields.js";
import { answerBehind } from "./lagging-pair.js";
import { startRpcServer } from "./rpc-server.js";
import type { Exchange, RecordedRequest, RpcReply } from "./rpc-server.js";

/**
 * What can go wrong with one request. "after" means that the node got it and
 * only the answer is lost.
 */
export const faultKinds = [
  "drop before forwarding",
  "drop after forwarding",
  "delay past the timeout",
  "429 without Retry-After",
  "429 with Retry-After",
  "429 with a long Retry-After",
  "500",
  "502 after forwarding",
  "non-JSON body",
  "truncated JSON",
  "wrong id",
  "JSON-RPC error",
  "JSON-RPC error after forwarding",
  "JSON-RPC refusal",
] as const;

/** To be hidden like a method: calls with a third parameter are refused. */
export const STATE_OVERRIDES = "state overrides";

/** What can go wrong with a request that only reads, besides. */
export const readFaultKinds = [
  ...faultKinds,
  "header not found",
  "empty body",
  "a list of answers",
  "no result",
  "huge answer",
] as const;

export type FaultKind = (typeof readFaultKinds)[number];

/** Bytes of a "huge answer". */
const HUGE = 2_000_000;

/** The request of a method that a fault hits, counted from 0. */
export interface RequestKey {
  readonly method: string;
  readonly occurrence: number;
}

export interface FaultyRpcServer {
  readonly url: string;
  /** What was asked since the last `reset`. */
  readonly requests: readonly RecordedRequest[];
  /** One request fails, once. */
  inject(fault: RequestKey & { readonly kind: FaultKind }): void;
  /** These methods are answered as by a node that does not have them. */
  hide(...methods: readonly string[]): void;
  /** Ends what `hide` began. */
  show(): void;
  /** Awaited before the request goes on, as something else on the chain. */
  before(key: RequestKey, action: () => Promise<void>): void;
  /** The same, once the node has answered and before that answer goes back. */
  afterwards(key: RequestKey, action: () => Promise<void>): void;
  /** Another answer than the node's: the whole result, made from the node's. */
  rewrite(method: string, change: (result: unknown) => unknown): void;
  /** As by a node that keeps the state of its newest block alone. */
  forgetOldState(): void;
  /**
   * As by a node that has not seen the blocks after this one yet, or a gateway
   * that asks such a node for some methods.
   */
  fallBehind(head: number, methods?: readonly string[]): void;
  /** Faults and actions whose request did not come. */
  readonly unused: readonly string[];
  /** Forgets faults, actions, changes and records; keeps hidden methods. */
  reset(): void;
  /** Resolves when no request is under way any more. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a JSON-RPC server that fails as told, in front of a real node. */
export async function startFaultyRpcServer({
  upstream,
  delay,
}: {
  readonly upstream: string;
  /** Milliseconds that "delay past the timeout" holds a request back. */
  readonly delay: number;
}): Promise<FaultyRpcServer> {
  const hidden = new Set<string>();
  let faults = new Map<string, FaultKind>();
  let actions = new Map<string, () => Promise<void>>();
  let lateActions = new Map<string, () => Promise<void>>();
  let changes = new Map<string, (result: unknown) => unknown>();
  let counts = new Map<string, number>();
  let forgetsState = false;
  let behind: Behind | undefined;
  const underWay = new Set<Promise<unknown>>();

  const server = await startRpcServer({ upstream });
  server.handler = async (exchange) => {
    const work = handle(exchange);
    underWay.add(work);
    try {
      return await work;
    } finally {
      underWay.delete(work);
    }
  };

  async function handle(exchange: Exchange): Promise<RpcReply | undefined> {
    const { request } = exchange;
    const occurrence = counts.get(request.method) ?? 0;
    counts.set(request.method, occurrence + 1);
    const key = keyOf({ method: request.method, occurrence });
    const act = actions.get(key);
    actions.delete(key);
    await act?.();
    const fault = faults.get(key);
    faults.delete(key);
    if (fault !== undefined) {
      return await fail(fault, exchange, delay);
    }
    if (hidden.has(request.method)) {
      return { error: { code: -32601, message: "Method not found" } };
    }
    if (forgetsState && (await asksForOldState(exchange))) {
      return { error: { code: -32000, message: "missing trie node 12ab" } };
    }
    if (behind?.methods.includes(request.method) === true) {
      return await answerBehind(exchange, behind.head);
    }
    if (hidden.has(STATE_OVERRIDES) && request.params.length > 2) {
      return { error: { code: -32602, message: "too many arguments" } };
    }
    const actLate = lateActions.get(key);
    if (actLate !== undefined) {
      lateActions.delete(key);
      const answer = await exchange.forward();
      await actLate();
      exchange.response.end(answer);
      return "handled";
    }
    const change = changes.get(request.method);
    if (change === undefined) {
      return undefined;
    }
    const { result } = fieldsOf(JSON.parse(await exchange.forward()));
    return { result: change(result) };
  }

  return {
    url: server.url,
    requests: server.requests,
    get unused() {
      return [...faults, ...actions, ...lateActions].map(([key]) => key);
    },
    inject({ kind, ...key }) {
      faults.set(keyOf(key), kind);
    },
    hide(...methods) {
      methods.forEach((method) => hidden.add(method));
    },
    show() {
      hidden.clear();
    },
    before(key, action) {
      actions.set(keyOf(key), action);
    },
    afterwards(key, action) {
      lateActions.set(keyOf(key), action);
    },
    rewrite(method, change) {
      changes.set(method, change);
    },
    forgetOldState() {
      forgetsState = true;
    },
    fallBehind(head, methods = [...stateMethods, ...blockMethods]) {
      behind = { head, methods };
    },
    reset() {
      forgetsState = false;
      behind = undefined;
      faults = new Map();
      actions = new Map();
      lateActions = new Map();
      changes = new Map();
      counts = new Map();
      server.requests.length = 0;
    },
    async idle() {
      while (underWay.size > 0) {
        await Promise.allSettled(underWay);
      }
    },
    async stop() {
      await server.stop();
    },
  };
}

const stateMethods = ["eth_call", "eth_getTransactionCount", "eth_getBalance"];

async function asksForOldState({
  request: { method, params, id },
  forward,
}: Exchange): Promise<boolean> {
  const tag = params[1];
  if (!stateMethods.includes(method) || !String(tag).startsWith("0x")) {
    return false;
  }
  const { result } = fieldsOf(
    JSON.parse(
      await forward({
        jsonrpc: "2.0",
        id,
        method: "eth_blockNumber",
        params: [],
      }),
    ),
  );
  return tag !== result;
}

const blockMethods = ["eth_getBlockByNumber", "eth_blockNumber"];

/** A node that has no block after its head, asked for some methods. */
interface Behind {
  readonly head: number;
  readonly methods: readonly string[];
}

/** What a gateway says, and what does not tell whether a node was asked. */
const vagueError = {
  error: { code: -32603, message: "upstream timed out" },
} as const;

async function fail(
  kind: FaultKind,
  exchange: Exchange,
  delay: number,
): Promise<RpcReply | undefined> {
  const { request, response } = exchange;
  const forward = async (): Promise<string> => await exchange.forward();
  const status = (code: number, headers: Record<string, string> = {}): void => {
    response.writeHead(code, { "content-type": "text/html", ...headers });
    response.end(`<html><body>${code}</body></html>`);
  };
  const body = (text: string): void => {
    response.setHeader("content-type", "application/json");
    response.end(text);
  };
  switch (kind) {
    case "drop before forwarding":
      response.destroy();
      break;
    case "drop after forwarding":
      await forward();
      response.destroy();
      break;
    case "delay past the timeout":
      // The request itself arrives, long after it was given up.
      await sleep(delay);
      await forward();
      response.destroy();
      break;
    case "429 without Retry-After":
      status(429);
      break;
    case "429 with Retry-After":
      status(429, { "retry-after": "0" });
      break;
    case "429 with a long Retry-After":
      // More than Hardhat waits by itself.
      status(429, { "retry-after": "6" });
      break;
    case "500":
      status(500);
      break;
    case "502 after forwarding":
      await forward();
      status(502);
      break;
    case "non-JSON body":
      body("<html>Service Unavailable</html>");
      break;
    case "truncated JSON": {
      const text = await forward();
      body(text.slice(0, text.length / 2));
      break;
    }
    case "wrong id": {
      body(
        JSON.stringify({
          ...fieldsOf(JSON.parse(await forward())),
          id: `not ${String(request.id)}`,
        }),
      );
      break;
    }
    case "JSON-RPC error":
      return vagueError;
    case "JSON-RPC error after forwarding":
      await forward();
      return vagueError;
    case "header not found":
      return { error: { code: -32000, message: "header not found" } };
    case "empty body":
      body("");
      break;
    case "a list of answers":
      body(`[${await forward()}]`);
      break;
    case "no result":
      return { result: null };
    case "huge answer":
      return { result: "01".repeat(HUGE) };
    case "JSON-RPC refusal":
      return {
        error: {
          code: -32000,
          message: "exceeds block gas limit",
        },
      };
  }
  return "handled";
}

/** All that was asked, each by its method and how often that was asked before. */
export function keysOf({ requests }: FaultyRpcServer): readonly RequestKey[] {
  const counts = new Map<string, number>();
  return requests.map(({ method }) => {
    const occurrence = counts.get(method) ?? 0;
    counts.set(method, occurrence + 1);
    return { method, occurrence };
  });
}

function keyOf({ method, occurrence }: RequestKey): string {
  return `${method} ${occurrence}`;
}
