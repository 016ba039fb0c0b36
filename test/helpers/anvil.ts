import { createRequire } from "node:module";

import { startServerProcess } from "./child-process.js";
import type { ServerProcess } from "./child-process.js";
import { fetchProvider } from "./fetch-provider.js";

const { resolve } = createRequire(import.meta.url);

/** Starts anvil on a free port, or on the given one. */
export async function startAnvil(
  options: { port?: number; args?: readonly string[] } = {},
): Promise<ServerProcess> {
  return await startServerProcess(
    foundryBinary("anvil"),
    ["--port", String(options.port ?? 0), ...(options.args ?? [])],
    /Listening on 127\.0\.0\.1:(\d+)/u,
  );
}

/** An anvil for all tests of a suite. */
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
 * the same every time.
 */
export async function startDatedAnvil(
  genesisSeconds: number,
): Promise<ServerProcess> {
  const anvil = await startAnvil({
    args: [
      ...["--timestamp", String(genesisSeconds)],
      // Without a base fee, costs are the same every time.
      ...["--base-fee", "0"],
      // Transactions sent together would share a block, or not.
      ...["--max-transactions", "1"],
    ],
  });
  await fetchProvider(anvil.url).request({
    method: "anvil_setBlockTimestampInterval",
    params: [1],
  });
  return anvil;
}

/**
 * The binary of this platform's package. The package's own launcher would stay
 * between us and it, and a killed launcher leaves its anvil running.
 */
export function foundryBinary(tool: "anvil" | "cast" | "forge"): string {
  const arch = process.arch === "x64" ? "amd64" : process.arch;
  return resolve(`@foundry-rs/${tool}-${process.platform}-${arch}/bin/${tool}`);
}
