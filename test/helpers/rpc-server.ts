import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { text } from "node:stream/consumers";

import { fieldsOf } from "./fields.js";

export interface RecordedRequest {
  readonly jsonrpc: unknown;
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

export interface RecordedHttpRequest {
  readonly url: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  readonly calls: readonly RecordedRequest[];
  /** Its place, from 1, in a chain of requests that were each sent after an answer to the one before. */
  readonly wave: number;
}

/** What a test may do with one request. */
export interface Exchange {
  readonly request: RecordedRequest;
  readonly isBatch: boolean;
  /** How often this method was asked for before. */
  readonly occurrence: number;
  readonly response: ServerResponse;
  /** Asks the real node, the same or something else; the answer's text. */
  readonly forward: (changed?: RecordedRequest) => Promise<string>;
}

/**
 * Answers a request: a result to send, or undefined where the handler dealt
 * with the response itself or wants it forwarded (with an upstream).
 */
export type RpcHandler = (
  exchange: Exchange,
) => Promise<RpcReply | undefined> | RpcReply | undefined;

export type RpcReply =
  | { readonly result: unknown }
  | { readonly error: { code: number; message: string; data?: unknown } }
  | "handled";

/** A JSON-RPC server that records everything it is asked. */
export interface RpcServer {
  readonly url: string;
  /** JSON-RPC requests in order, those of batches one by one. */
  readonly requests: RecordedRequest[];
  readonly httpRequests: RecordedHttpRequest[];
  readonly bodies: ReadonlyArray<readonly RecordedRequest[]>;
  /** Length of the longest chain of HTTP requests that waited for each other. */
  readonly waves: number;
  handler: RpcHandler;
  /**
   * What is sent to a batch: JSON, or text as it is; a number is an HTTP status, and
   * "cut" closes the connection.
   */
  batch: (answers: readonly unknown[]) => unknown;
  /** What it answers as the proxy of a machine, for hosts that there are none. */
  proxyStatus: string;
  clear(): void;
  stop(): Promise<void>;
}

/**
 * Starts a recording server, in front of a node where `upstream` names one.
 *
 * @param stepMs Gives all answers of a wave together, once no request has come for so
 * long: on a busy machine, the waves are the same as on an idle one.
 */
export async function startRpcServer({
  upstream,
  handler = () => undefined,
  stepMs,
}: {
  upstream?: string;
  handler?: RpcHandler;
  stepMs?: number;
}): Promise<RpcServer> {
  const requests: RecordedRequest[] = [];
  const httpRequests: RecordedHttpRequest[] = [];
  const step = stepMs === undefined ? undefined : new Step(stepMs);
  let answered = 0;
  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => {
      // A broken test server must not look like a broken node.
      process.stderr.write(`rpc-server: ${String(error)}\n`);
      response.destroy();
    });
  });

  async function answer(
    incoming: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const wave = answered + 1;
    step?.begin();
    const { url, headers } = incoming;
    const body = await text(incoming);
    const parsed: unknown = body === "" ? [] : JSON.parse(body);
    // what reaches a JSON-RPC server of a test is JSON-RPC
    const calls = [parsed].flat() as RecordedRequest[];
    httpRequests.push({ url, headers, body, calls, wave });
    if (body === "") {
      // A client that followed a redirect with GET.
      response.setHeader("content-type", "text/html");
      response.end("<html>Send a JSON-RPC request</html>");
      return;
    }
    const isBatch = Array.isArray(parsed);
    const replies = await repliesTo(calls, isBatch, response);
    const together = step?.end();
    if (replies === "handled") {
      return;
    }
    await together;
    answered = Math.max(answered, wave);
    const isWhole = isBatch && rpcServer.batch !== asTheyAre;
    const sent: unknown = isWhole
      ? rpcServer.batch(replies.map((reply): unknown => JSON.parse(reply)))
      : isBatch
        ? `[${replies.join(",")}]`
        : replies.join("");
    if (sent === "cut") {
      response.destroy();
      return;
    }
    if (typeof sent === "number") {
      response.statusCode = sent;
    }
    response.setHeader("content-type", "application/json");
    response.end(typeof sent === "string" ? sent : JSON.stringify(sent));
  }

  async function repliesTo(
    calls: readonly RecordedRequest[],
    isBatch: boolean,
    response: ServerResponse,
  ): Promise<readonly string[] | "handled"> {
    const replies: string[] = [];
    const forwarded = forwarder(upstream, calls, isBatch);
    for (const request of calls) {
      const before = requests.length;
      requests.push(request);
      const forward = async (changed = request): Promise<string> =>
        await forwarded(request, changed);
      const reply = await rpcServer.handler({
        request,
        isBatch,
        // Counted only where it is asked for: some servers answer thousands.
        get occurrence() {
          const { method } = request;
          return requests
            .slice(0, before)
            .filter((one) => one.method === method).length;
        },
        response,
        forward,
      });
      if (reply === "handled") {
        return reply;
      }
      replies.push(
        reply === undefined ? await forward() : withId(request, reply),
      );
    }
    return replies;
  }

  server.on("connect", (_request, socket: Socket) => {
    socket.write(`HTTP/1.1 ${rpcServer.proxyStatus}\r\n\r\n`);
    if (rpcServer.proxyStatus.startsWith("200")) {
      server.emit("connection", socket);
    } else {
      socket.end();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = fieldsOf(server.address());
  const rpcServer: RpcServer = {
    url: `http://127.0.0.1:${String(port)}`,
    requests,
    httpRequests,
    get bodies() {
      return httpRequests.map(({ calls }) => calls);
    },
    get waves() {
      return Math.max(0, ...httpRequests.map(({ wave }) => wave));
    },
    handler,
    batch: asTheyAre,
    proxyStatus: "200 Connection established",
    clear() {
      requests.length = 0;
      httpRequests.length = 0;
      answered = 0;
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return rpcServer;
}

const asTheyAre: RpcServer["batch"] = (answers) => answers;

const withId = (
  { id }: RecordedRequest,
  reply: Exclude<RpcReply, "handled">,
): string => JSON.stringify({ jsonrpc: "2.0", id, ...reply });

/** Asks the node behind; for what is unchanged of a batch, once for all of it. */
function forwarder(
  upstream: string | undefined,
  calls: readonly RecordedRequest[],
  isBatch: boolean,
): (request: RecordedRequest, changed: RecordedRequest) => Promise<string> {
  const post = async (body: unknown): Promise<string> => {
    if (upstream === undefined) {
      throw new Error(`no answer for ${JSON.stringify(body)}`);
    }
    const response = await fetch(upstream, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return await response.text();
  };
  let batch: Promise<ReadonlyMap<unknown, string>> | undefined;
  const postBatch = async (): Promise<ReadonlyMap<unknown, string>> => {
    // a node's answer to a batch
    const answers = JSON.parse(await post(calls)) as readonly unknown[];
    return new Map(
      answers.map((each) => [fieldsOf(each)["id"], JSON.stringify(each)]),
    );
  };
  return async (request, changed) => {
    if (!isBatch || changed !== request) {
      return await post(changed);
    }
    batch ??= postBatch();
    return (await batch).get(request.id) ?? "null";
  };
}

/** Holds the answers to requests back until no other one is under way or comes. */
class Step {
  #underWay = 0;
  #timer: NodeJS.Timeout | undefined;
  #held: Array<() => void> = [];

  constructor(private readonly milliseconds: number) {}

  public begin(): void {
    this.#underWay += 1;
    clearTimeout(this.#timer);
  }

  public async end(): Promise<void> {
    this.#underWay -= 1;
    await new Promise<void>((resolve) => {
      this.#held.push(resolve);
      if (this.#underWay === 0) {
        this.#timer = setTimeout(() => {
          const held = this.#held;
          this.#held = [];
          held.forEach((give) => {
            give();
          });
        }, this.milliseconds);
      }
    });
  }
}
