import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";

import { fieldsOf } from "./fields.js";

export interface AskedCall {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** What a server answers to an HTTP request: JSON, or a number as its HTTP status. */
export type BatchAnswer = (
  calls: readonly AskedCall[],
  isBatch: boolean,
) => unknown;

/** A JSON-RPC server whose answers to whole requests a test scripts. */
export interface BatchServer {
  readonly url: string;
  /** The calls of each HTTP request. */
  readonly bodies: Array<readonly AskedCall[]>;
  answer: BatchAnswer;
  stop(): Promise<void>;
}

export async function startBatchServer(
  answer: BatchAnswer,
): Promise<BatchServer> {
  const server = createServer((request, response) => {
    void (async () => {
      const body: unknown = JSON.parse(await text(request));
      // what a fork sends is JSON-RPC
      const calls = [body].flat() as readonly AskedCall[];
      started.bodies.push(calls);
      const reply = await started.answer(calls, Array.isArray(body));
      response.statusCode = typeof reply === "number" ? reply : 200;
      response.end(JSON.stringify(reply));
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = fieldsOf(server.address());
  const started: BatchServer = {
    url: `http://127.0.0.1:${String(port)}`,
    bodies: [],
    answer,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return started;
}

/** Answers each call by itself, alone and in a batch. */
export function answerEach(
  each: (call: AskedCall, isBatch: boolean) => object,
): BatchAnswer {
  return (calls, isBatch) => {
    const answers = calls.map((call) => ({
      ...{ jsonrpc: "2.0", id: call.id },
      ...each(call, isBatch),
    }));
    return isBatch ? answers : answers[0];
  };
}
