import type { Eip1193Provider } from "../../src/rpc/rpc-client.js";

/** The barest provider over HTTP that `hardhat-vault/client` promises to work with. */
export function fetchProvider(url: string): Eip1193Provider {
  let id = 0;
  return {
    async request({ method, params = [] }) {
      id += 1;
      const response = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
      });
      // JSON-RPC, whose result is anything
      const answer = (await response.json()) as {
        result?: unknown;
        error?: { message: string };
      };
      if (answer.error !== undefined) {
        throw Object.assign(new Error(answer.error.message), answer.error);
      }
      return answer.result;
    },
  };
}
