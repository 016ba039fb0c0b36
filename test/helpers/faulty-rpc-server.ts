import { setTimeout as sleep } from "node:timers/promises";

import { fieldsOf } from "./fields.js";
import { keysOf as kindsOf } from "../../src/protocol/index.js";
import { answerBehind } from "./lagging-pair.js";
import { startRpcServer } from "./rpc-server.js";
import type {
  Exchange,
  RecordedRequest,
  RpcReply,
  RpcServer,
} from "./rpc-server.js";

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

type Action = (exchange: Exchange) => Promise<void>;

/** A JSON-RPC server that fails as told, in front of a real node. */
export class FaultyRpcServer {
  readonly #hidden = new Set<string>();
  readonly #faults = new Map<string, FaultKind>();
  readonly #actions = new Map<string, Action>();
  readonly #lateActions = new Map<string, () => Promise<void>>();
  readonly #underWay = new Set<Promise<unknown>>();
  #behind: { head: number; methods: readonly string[] } | undefined;

  constructor(
    private readonly server: RpcServer,
    private readonly delay: number,
    private readonly known: ReadonlyMap<string, unknown>,
  ) {
    server.handler = async (exchange) => {
      const work = this.#handle(exchange);
      this.#underWay.add(work);
      try {
        return await work;
      } finally {
        this.#underWay.delete(work);
      }
    };
  }

  public get url(): string {
    return this.server.url;
  }

  public get requests(): readonly RecordedRequest[] {
    return this.server.requests;
  }

  /** Faults and actions that did not happen; see {@link idle}. */
  public get unused(): readonly string[] {
    const all = [...this.#faults, ...this.#actions, ...this.#lateActions];
    return all.map(([key]) => key);
  }

  /** One request fails, once. */
  public inject({
    kind,
    ...key
  }: RequestKey & { readonly kind: FaultKind }): void {
    this.#faults.set(keyOf(key), kind);
  }

  /** These methods are answered as by a node that does not have them. */
  public hide(...methods: readonly string[]): void {
    methods.forEach((method) => this.#hidden.add(method));
  }

  public show(): void {
    this.#hidden.clear();
  }

  /** Awaited before the request goes on, as something else on the chain. */
  public before(key: RequestKey, action: Action): void {
    this.#actions.set(keyOf(key), action);
  }

  /** The same, once the node has answered and before that answer goes back. */
  public afterwards(key: RequestKey, action: () => Promise<void>): void {
    this.#lateActions.set(keyOf(key), action);
  }

  /** As by a gateway that asks, for some methods, a node without later blocks. */
  public fallBehind(head: number, methods: readonly string[]): void {
    this.#behind = { head, methods };
  }

  /** Forgets faults, actions and records; keeps hidden methods. */
  public reset(): void {
    this.#behind = undefined;
    this.#faults.clear();
    this.#actions.clear();
    this.#lateActions.clear();
    this.server.requests.length = 0;
  }

  /** Resolves when no request is under way any more. */
  public async idle(): Promise<void> {
    while (this.#underWay.size > 0) {
      await Promise.allSettled(this.#underWay);
    }
  }

  public async stop(): Promise<void> {
    await this.server.stop();
  }

  async #handle(exchange: Exchange): Promise<RpcReply | undefined> {
    const { method, params } = exchange.request;
    const key = keyOf({ method, occurrence: exchange.occurrence });
    // Unused until it is done: what is only looked up proves nothing.
    await this.#actions.get(key)?.(exchange);
    this.#actions.delete(key);
    const fault = this.#faults.get(key);
    if (fault !== undefined) {
      const fail: Fault = faultsOfReads[fault];
      const reply = await fail(exchange, this.delay);
      this.#faults.delete(key);
      return reply;
    }
    if (this.#hidden.has(method)) {
      return { error: { code: -32601, message: "Method not found" } };
    }
    if (this.#behind?.methods.includes(method) === true) {
      return await answerBehind(exchange, this.#behind.head);
    }
    if (this.#hidden.has(STATE_OVERRIDES) && params.length > 2) {
      return { error: { code: -32602, message: "too many arguments" } };
    }
    const actLate = this.#lateActions.get(key);
    if (actLate === undefined) {
      const { known } = this;
      return known.has(method) ? { result: known.get(method) } : undefined;
    }
    const answer = await exchange.forward();
    await actLate();
    this.#lateActions.delete(key);
    exchange.response.end(answer);
    return "handled";
  }
}

/**
 * @param delay Milliseconds that "delay past the timeout" holds a request back.
 * @param known Results by method, for which the node is not asked.
 */
export async function startFaultyRpcServer(
  upstream: string,
  delay: number,
  known: ReadonlyMap<string, unknown> = new Map(),
): Promise<FaultyRpcServer> {
  return new FaultyRpcServer(await startRpcServer({ upstream }), delay, known);
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
