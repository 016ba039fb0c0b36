import type * as deployMocks from "../mocks/deploy-mocks.js";
import type * as settleAll from "../settlement/settle-all.js";
import type * as signer from "../settlement/signer.js";
import type * as forkCache from "../simulation/fork-cache.js";
import type * as fork from "../simulation/fork.js";
import type * as simulateSettleAll from "../simulation/simulate-settle-all.js";
import type * as deployments from "./deployments.js";

// What few connections need, loaded on first use. tsx, which loads a configuration in
// TypeScript, rewrites each file with an `import()`, in time that grows with the file: so
// they are in a small one.

/** Needs zod. */
export async function loadDeployments(): Promise<typeof deployments> {
  return await import("./deployments.js");
}

export async function loadSettleAll(): Promise<typeof settleAll> {
  return await import("../settlement/settle-all.js");
}

export async function loadSigner(): Promise<typeof signer> {
  return await import("../settlement/signer.js");
}

export async function loadSimulateSettleAll(): Promise<
  typeof simulateSettleAll
> {
  return await import("../simulation/simulate-settle-all.js");
}

export async function loadFork(): Promise<typeof fork> {
  return await import("../simulation/fork.js");
}

export async function loadForkCache(): Promise<typeof forkCache> {
  return await import("../simulation/fork-cache.js");
}

export async function loadDeployMocks(): Promise<typeof deployMocks> {
  return await import("../mocks/deploy-mocks.js");
}
