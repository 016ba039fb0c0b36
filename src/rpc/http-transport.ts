import {
  getDispatcher,
  postJsonRequest,
} from "@nomicfoundation/hardhat-utils/request";

import { asRecord } from "../json.js";
import type { Eip1193Provider } from "./eip1193.js";
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

  /** @throws The error of the node, or of the way to it */
  public async request({
    method,
    params = [],
  }: Parameters<Eip1193Provider["request"]>[0]): Promise<unknown> {
    if (method === BATCH) {
      return await this.#post(
        params.map((call, id) => ({ jsonrpc: "2.0", id, ...asRecord(call) })),
      );
    }
    const body = { jsonrpc: "2.0", id: 1, method, params };
    const { error = null, result } = asRecord(await this.#post(body));
    if (error !== null) {
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- as providers do
      throw error;
    }
    return result;
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
