import { setTimeout as sleep } from "node:timers/promises";

import { fieldsOf } from "./fields.js";
import { keysOf as kindsOf } from "./keys-of.js";
import { answerBehind } from "./lagging-pair.js";
import { startRpcServer } from "./rpc-server.js";
import type { Exchange, RecordedRequest, RpcReply } from "./rpc-server.js";

/** Bytes of a "huge answer". */
const HUGE = 2_000_000;

type Fault = (
  exchange: Exchange,
  delay: number,
) => Promise<RpcReply> | RpcReply;

const drop: Fault = ({ response }) => {
  response.destroy();
  return "handled";
};

const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Fault =>
  ({ response }) => {
    response.writeHead(code, { "content-type": "text/html", ...headers });
    response.end(`<html><body>${code}</body></html>`);
    return "handled";
  };

const body =
  (textFrom: (exchange: Exchange) => Promise<string> | string): Fault =>
  async (exchange): Promise<RpcReply> => {
    const text = await textFrom(exchange);
    exchange.response.setHeader("content-type", "application/json");
    exchange.response.end(text);
    return "handled";
  };

const refusal =
  (code: number, message: string): Fault =>
  () => ({ error: { code, message } });

/** A gateway's error, which leaves open if the node got the request. */
const vague = refusal(-32603, "upstream timed out");

/** The node gets the request; only the answer is lost. */
const after =
  (fault: Fault): Fault =>
  async (exchange, delay) => {
    await exchange.forward();
    return await fault(exchange, delay);
  };

/** What can go wrong with one request. */
const faultsOfAll = {
  "drop before forwarding": drop,
  "drop after forwarding": after(drop),
  // The request arrives long after the client gave it up.
  "delay past the timeout": async (exchange, delay) => {
    await sleep(delay);
    return await after(drop)(exchange, delay);
  },
  "429 without Retry-After": status(429),
  "429 with Retry-After": status(429, { "retry-after": "0" }),
  // More than Hardhat waits by itself.
  "429 with a long Retry-After": status(429, { "retry-after": "6" }),
  "500": status(500),
  "502 after forwarding": after(status(502)),
  "non-JSON body": body(() => "<html>Service Unavailable</html>"),
  "truncated JSON": body(async ({ forward }) => {
    const text = await forward();
    return text.slice(0, text.length / 2);
  }),
  "wrong id": body(async ({ request: { id }, forward }) =>
    JSON.stringify({
      ...fieldsOf(JSON.parse(await forward())),
      id: `not ${String(id)}`,
    }),
  ),
  "JSON-RPC error": vague,
  "JSON-RPC error after forwarding": after(vague),
  "JSON-RPC refusal": refusal(-32000, "exceeds block gas limit"),
} satisfies Readonly<Record<string, Fault>>;

/** What can go wrong with a request that only reads. */
const faultsOfReads = {
  ...faultsOfAll,
  "header not found": refusal(-32000, "header not found"),
  "empty body": body(() => ""),
  "a list of answers": body(async ({ forward }) => `[${await forward()}]`),
  "no result": () => ({ result: null }),
  "huge answer": () => ({ result: "01".repeat(HUGE) }),
} satisfies Readonly<Record<string, Fault>>;

export const faultKinds = kindsOf(faultsOfAll);
export const readFaultKinds = kindsOf(faultsOfReads);
export type FaultKind = keyof typeof faultsOfReads;

/** To be hidden like a method: calls with a third parameter are refused. */
export const STATE_OVERRIDES = "state overrides";

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
  /**
   * As by a node that has not seen the blocks after this one yet, or a gateway
   * that asks such a node for some methods.
   */
  fallBehind(head: number, methods?: readonly string[]): void;
  /** Faults and actions whose request did not come. */
  readonly unused: readonly string[];
  /** Forgets faults, actions and records; keeps hidden methods. */
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
  let counts = new Map<string, number>();
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
      const fail: Fault = faultsOfReads[fault];
      return await fail(exchange, delay);
    }
    if (hidden.has(request.method)) {
      return { error: { code: -32601, message: "Method not found" } };
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
    return undefined;
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
    fallBehind(head, methods = [...stateMethods, ...blockMethods]) {
      behind = { head, methods };
    },
    reset() {
      behind = undefined;
      faults = new Map();
      actions = new Map();
      lateActions = new Map();
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

const blockMethods = ["eth_getBlockByNumber", "eth_blockNumber"];

/** A node that has no block after its head, asked for some methods. */
interface Behind {
  readonly head: number;
  readonly methods: readonly string[];
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
