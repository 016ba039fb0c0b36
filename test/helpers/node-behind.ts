import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

import { fieldsOf, listOf } from "./fields.js";

export interface Asked {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

type Replied = { readonly result: unknown } | { readonly error: unknown };

/** A node at a distance, whose answers a test can change. */
export interface NodeBehind {
  readonly url: string;
  /** HTTP requests with their calls, since the start or the last `clear()`. */
  readonly bodies: ReadonlyArray<readonly Asked[]>;
  readonly headers: readonly IncomingHttpHeaders[];
  /** Length of the longest chain of requests that were each sent after an answer to the one before. */
  readonly waves: number;
  /** The place of each of the `bodies` in its chain, from 1 on. */
  readonly waveOf: readonly number[];
  /** In place of the real result of a call, if not undefined. */
  answer: (call: Asked, result: unknown) => Replied | undefined;
  /**
   * Changes the answer to a batch; a number is an HTTP status, `cut` closes the connection
   * without an answer, and other text is no JSON.
   */
  batch: (answers: readonly unknown[]) => unknown;
  /** True for a request after which the connection closes without an answer. */
  isLost: (calls: readonly Asked[]) => boolean;
  /** Delays a request until it resolves. */
  hold: (calls: readonly Asked[]) => Promise<void>;
  responseHeaders: Readonly<Record<string, string>>;
  clear(): void;
  stop(): Promise<void>;
}

/**
 * Starts a server in front of a node that delays every request.
 *
 * @param isInStep Gives all answers of a wave together, once no request has come for that
 * delay. On a busy machine the waves are the same as on an idle one.
 */
export async function startNodeBehind(
  upstream: string,
  delayMs = 0,
  isInStep = false,
): Promise<NodeBehind> {
  const bodies: Array<readonly Asked[]> = [];
  const headers: IncomingHttpHeaders[] = [];
  const waveOf: number[] = [];
  let lastAnswered = 0;
  let unanswered = 0;
  let held: Array<() => void> = [];
  let release: NodeJS.Timeout | undefined;
  /** Waits until every request of the wave can be answered. */
  const inStep = async (): Promise<void> => {
    unanswered -= 1;
    await new Promise<void>((resolve) => {
      held.push(resolve);
      if (unanswered === 0) {
        release = setTimeout(() => {
          const answers = held;
          held = [];
          for (const give of answers) {
            give();
          }
        }, delayMs);
      }
    });
  };
  const server = createServer((request, response) => {
    void (async () => {
      const body: unknown = JSON.parse(await text(request));
      // what reaches a node in a test is JSON-RPC
      const calls = [body].flat() as readonly Asked[];
      const wave = lastAnswered + 1;
      bodies.push(calls);
      waveOf.push(wave);
      headers.push(request.headers);
      unanswered += 1;
      clearTimeout(release);
      await sleep(isInStep ? 0 : delayMs);
      await node.hold(calls);
      const answered = await fetch(upstream, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const answer = await answered.text();
      const isUnchanged = node.answer === asItIs && !Array.isArray(body);
      const real = new Map(
        // Long answers would keep this process from others.
        (isUnchanged ? [] : [JSON.parse(answer)])
          .flat()
          .map((each: unknown) => [fieldsOf(each)["id"], fieldsOf(each)]),
      );
      const answers = calls.map((call) => {
        const { id } = call;
        const changed = node.answer(call, real.get(id)?.["result"]);
        return changed === undefined
          ? real.get(id)
          : { jsonrpc: "2.0", id, ...changed };
      });
      const reply = Array.isArray(body) ? node.batch(answers) : answers[0];
      if (isInStep) {
        await inStep();
      }
      lastAnswered = Math.max(lastAnswered, wave);
      if (reply === "cut" || node.isLost(calls)) {
        response.destroy();
        return;
      }
      response.writeHead(typeof reply === "number" ? reply : 200, {
        "content-type": "application/json",
        ...node.responseHeaders,
      });
      response.end(
        isUnchanged
          ? answer
          : typeof reply === "string"
            ? reply
            : JSON.stringify(reply),
      );
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = fieldsOf(server.address());
  const node: NodeBehind = {
    url: `http://127.0.0.1:${String(port)}`,
    bodies,
    headers,
    get waves() {
      return Math.max(0, ...waveOf);
    },
    waveOf,
    answer: asItIs,
    batch: (answers) => listOf(answers),
    isLost: () => false,
    hold: async () => await Promise.resolve(),
    responseHeaders: {},
    clear() {
      bodies.length = 0;
      headers.length = 0;
      waveOf.length = 0;
      lastAnswered = 0;
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return node;
}

function asItIs(): undefined {
  return undefined;
}
