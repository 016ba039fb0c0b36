import {
  getDispatcher,
  postJsonRequest,
} from "@nomicfoundation/hardhat-utils/request";

import { asRecord, listOf } from "../json.js";
import type { Eip1193Provider } from "./rpc-client.js";
import { classify } from "./errors.js";
import { BATCH } from "./rpc-client.js";

/** A node over HTTP, as the settings of its network describe it. */
export interface HttpSettings {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds for one HTTP request; 0 for no limit. */
  readonly timeout: number;
}

/** Sends JSON-RPC over HTTP, alone or in batches. It retries nothing. */
export class HttpTransport implements Eip1193Provider {
  readonly #dispatcher: ReturnType<typeof getDispatcher>;

  constructor(private readonly settings: HttpSettings) {
    const { url, timeout } = settings;
    this.#dispatcher = getDispatcher(url, { pool: true, timeout });
    // Each request meets the failure.
    this.#dispatcher.catch(() => undefined);
  }

  /**
   * @returns Of a batch, the results in the order of its calls: undefined for an error.
   * @throws The error of the node, or of the way to it. Of a batch, a limit of the
   * rate, or the first if each call fails.
   */
  public async request({
    method,
    params = [],
  }: Parameters<Eip1193Provider["request"]>[0]): Promise<unknown> {
    if (method !== BATCH) {
      const body = { jsonrpc: "2.0", id: 1, method, params };
      return resultIn(await this.#post(body), 1);
    }
    const answer = await this.#post(
      params.map((call, id) => ({ jsonrpc: "2.0", id, ...asRecord(call) })),
    );
    if (!Array.isArray(answer)) {
      return resultIn(answer);
    }
    const answers = listOf(answer).map(asRecord);
    const errors = answers.flatMap(({ error }) => error ?? []);
    const isLimit = (error: unknown): boolean =>
      classify(error).retry === "rateLimited";
    const refused = errors.length === answers.length ? errors : [];
    for (const error of [...errors.filter(isLimit), ...refused]) {
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- as providers do
      throw error;
    }
    // The order of the answers is the node's choice.
    const byId = new Map(answers.map((one) => [one["id"], one]));
    return params.map((_, id) => {
      const { error = null, result = null } = byId.get(id) ?? { error: "none" };
      return error === null ? result : undefined;
    });
  }

  /** Ends all requests. */
  public async close(): Promise<void> {
    await (await this.#dispatcher).destroy();
  }

  async #post(body: unknown): Promise<unknown> {
    const { url, headers: extraHeaders, timeout } = this.settings;
    const options = {
      extraHeaders,
      // Undici's own limit begins again with each piece of an answer.
      ...(timeout > 0 && { abortSignal: AbortSignal.timeout(timeout) }),
    };
    const dispatcher = await this.#dispatcher;
    const response = await postJsonRequest(url, body, options, dispatcher);
    const parsed: unknown = JSON.parse(await response.body.text());
    return parsed;
  }
}

/** An error counts with any id: nodes that cannot read a request do not know its id. */
function resultIn(answer: unknown, expected?: number): unknown {
  const { id, error = null, result = null } = asRecord(answer);
  if (error !== null) {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- as providers do
    throw error;
  }
  if (id === undefined || id !== expected) {
    // As for an answer that is no JSON.
    throw new SyntaxError("the answer is to another request");
  }
  return result;
}
