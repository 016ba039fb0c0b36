// What few connections need, loaded on first use. tsx, which loads a configuration in
// TypeScript, rewrites each file with an `import()`, in time that grows with the file: so
// they are in a small one.

/** With tsx, each `import()` of a file looks for it on the disk, loaded or not. */
function once<Module>(load: () => Promise<Module>): () => Promise<Module> {
  let loaded: Promise<Module> | undefined;
  return async () => await (loaded ??= load());
}

/** Needs zod. */
export const loadDeployments = once(
  async () => await import("./deployments.js"),
);

export const loadSettleAll = once(
  async () => await import("../settlement/settle-all.js"),
);

export const loadSigner = once(
  async () => await import("../settlement/signer.js"),
);

export const loadSimulateSettleAll = once(
  async () => await import("../simulation/simulate.js"),
);

export const loadFork = once(async () => await import("../simulation/fork.js"));

export const loadForkServer = once(
  async () => await import("../simulation/fork-server.js"),
);

export const loadDeployMocks = once(
  async () => await import("../mocks/deploy-mocks.js"),
);
