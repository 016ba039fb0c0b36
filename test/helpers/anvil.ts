import { createRequire } from "node:module";
import { setTimeout } from "node:timers/promises";

import pLimit from "p-limit";

import { startServerProcess } from "./child-process.js";
import type { ServerProcess } from "./child-process.js";
import { fetchProvider } from "./fetch-provider.js";
import { fieldsOf } from "./fields.js";
import { startRpcServer } from "./rpc-server.js";
import type { RpcReply } from "./rpc-server.js";

const { resolve } = createRequire(import.meta.url);

export async function startAnvil({
  args = [],
}: { args?: readonly string[] } = {}): Promise<ServerProcess> {
  return await startServerProcess(
    foundryBinary("anvil"),
    ["--port", "0", ...args],
    /Listening on 127\.0\.0\.1:(\d+)/u,
  );
}

export function useAnvil(...args: readonly string[]): { readonly url: string } {
  let anvil: ServerProcess | undefined;
  before(async () => {
    anvil = await startAnvil({ args });
  });
  after(async () => {
    await anvil?.stop();
  });
  return {
    get url() {
      return anvil?.url ?? "";
    },
  };
}

/**
 * Starts an anvil whose first block is at this time, and each block a second
 * after the last one, however long a test takes, so that what is shown of it is
 * the same every time. Each transaction has a block of its own: those that are
 * sent together would share one, or not, by chance.
 */
export async function startDatedAnvil(
  genesisSeconds: number,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const anvil = await startAnvil({
    // Without a base fee, costs are the same every time.
    args: ["--timestamp", String(genesisSeconds), "--base-fee", "0"],
  });
  const node = fetchProvider(anvil.url);
  const ask = async (method: string): Promise<unknown> =>
    await node.request({ method });
  const isMining = async (): Promise<boolean> =>
    (await ask("anvil_getAutomine")) === true &&
    fieldsOf(await ask("txpool_status"))["pending"] !== "0x0";
  await node.request({
    method: "anvil_setBlockTimestampInterval",
    params: [1],
  });
  const oneByOne = pLimit(1);
  const server = await startRpcServer({
    upstream: anvil.url,
    handler: async ({ request: { method }, forward }) =>
      await oneByOne(async () => {
        const answer: unknown = JSON.parse(await forward());
        while (method.startsWith("eth_send") && (await isMining())) {
          await setTimeout(1);
        }
        // anvil's JSON-RPC
        return answer as RpcReply;
      }),
  });
  return {
    url: server.url,
    stop: async () => {
      await Promise.all([server.stop(), anvil.stop()]);
    },
  };
}

/**
 * The binary of this platform's package. The package's own launcher would stay
 * between us and it, and a killed launcher leaves its anvil running.
 */
export function foundryBinary(tool: "anvil" | "cast" | "forge"): string {
  const arch = process.arch === "x64" ? "amd64" : process.arch;
  const program = process.platform === "win32" ? `${tool}.exe` : tool;
  return resolve(
    `@foundry-rs/${tool}-${process.platform}-${arch}/bin/${program}`,
  );
}
