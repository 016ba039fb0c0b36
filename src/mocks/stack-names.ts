import { brotliDecompressSync } from "node:zlib";

import { asRecord } from "../json.js";
import type { VaultHost } from "../host.js";

/** The projects whose networks have the build info: one decoder serves all of them. */
const known = new WeakSet<object>();

/**
 * Lets an in-process network name the mocks' contracts, functions and errors in the
 * stack of a transaction that reverts in them. Hardhat does the same with the project's
 * own contracts.
 */
export async function nameInStacks({
  connection: { provider },
  context,
}: Pick<VaultHost, "connection" | "context">): Promise<void> {
  // Not in the provider's interface; `hardhat node` calls it after a compilation.
  const { addCompilationResult: add } = asRecord(provider);
  if (typeof add !== "function" || known.has(context.artifacts)) {
    return;
  }
  known.add(context.artifacts);
  const { buildInfo } = await import("./build-info.js");
  const { solcVersion, input, output } = asRecord(
    JSON.parse(
      brotliDecompressSync(Buffer.from(buildInfo, "base64")).toString("utf8"),
    ),
  );
  try {
    await Reflect.apply(add, provider, [solcVersion, input, output]);
  } catch {
    // Names are not worth the failure of a test, with a Hardhat that takes another form.
  }
}
