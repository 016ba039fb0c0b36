import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** A JSON-RPC request as it came over the wire. */
export interface RecordedRequest {
  readonly jsonrpc: unknown;
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

export interface RecordedHttpRequest {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** What a test may do with one request. */
export interface Exchange {
  readonly request: RecordedRequest;
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
  /** HTTP requests in order. */
  readonly httpRequests: RecordedHttpRequest[];
  handler: RpcHandler;
  stop(): Promise<void>;
}

/** Starts a recording server, in front of a node where `upstream` names one. */
export async function startRpcServer({
  upstream,
  handler = () => undefined,
}: {
  upstream?: string;
  handler?: RpcHandler;
}): Promise<RpcServer> {
  const requests: RecordedRequest[] = [];
  const httpRequests: RecordedHttpRequest[] = [];
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
    const body = await readBody(incoming);
    httpRequests.push({
      method: incoming.method,
      url: incoming.url,
      headers: incoming.headers,
      body,
    });
    if (body === "") {
      // A client that followed a redirect with GET.
      response.setHeader("content-type", "text/html");
      response.end("<html>Send a JSON-RPC request</html>");
      return;
    }
    const parsed: unknown = JSON.parse(body);
    // what reaches a JSON-RPC server of a test is JSON-RPC
    const batch = [parsed].flat() as RecordedRequest[];
    const replies: string[] = [];
    for (const request of batch) {
      const before = requests.length;
      requests.push(request);
      const forward = async (changed = request): Promise<string> => {
        if (upstream === undefined) {
          throw new Error(`no answer for ${request.method}`);
        }
        const forwarded = await fetch(upstream, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(changed),
        });
        return await forwarded.text();
      };
      const reply = await rpcServer.handler({
        request,
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
        return;
      }
      replies.push(
        reply === undefined
          ? await forward()
          : JSON.stringify({ jsonrpc: "2.0", id: request.id, ...reply }),
      );
    }
    response.setHeader("content-type", "application/json");
    response.end(
      Array.isArray(parsed) ? `[${replies.join(",")}]` : replies.join(""),
    );
  }

  // As the proxy of a machine, for hosts that there are none.
  server.on("connect", (_request, socket: Socket) => {
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    server.emit("connection", socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") {
    throw new Error("a TCP server has an address with a port");
  }
  const rpcServer: RpcServer = {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    httpRequests,
    handler,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return rpcServer;
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  // a request stream without an encoding yields bytes
  for await (const chunk of incoming as AsyncIterable<Uint8Array>) {
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * The handler that lets a development node look like one where transactions
 * cost money, whatever it calls itself: what only development nodes do, it
 * refuses.
 */
export function asLiveNode({
  client,
  chainId,
}: {
  client: string;
  chainId?: number;
}): RpcHandler {
  return ({ request: { method, params } }) => {
    if (method === "web3_clientVersion") {
      return { result: client };
    }
    if (method === "eth_chainId" && chainId !== undefined) {
      return { result: `0x${chainId.toString(16)}` };
    }
    if (method === "eth_call" && params.length === 3 && chainId !== undefined) {
      // Code would find out which chain it is.
      return { error: { code: -32602, message: "too many arguments" } };
    }
    return /^(?:anvil|evm|hardhat)_/u.test(method)
      ? {
          error: {
            code: -32601,
            message: `the method ${method} does not exist/is not available`,
          },
        }
      : undefined;
  };
}
