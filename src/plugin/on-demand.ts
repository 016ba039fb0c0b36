/**
 * What the vault of a connection loads when it is first asked for it, in a file
 * of its own for the reason that src/client/on-demand.ts gives.
 */

export const loadSettlement = async (): Promise<
  typeof import("../settlement/settle-all.js")
> => await import("../settlement/settle-all.js");

export const loadFees = async (): Promise<
  typeof import("../settlement/fees.js")
> => await import("../settlement/fees.js");

export const loadSimulation = async (): Promise<
  typeof import("../rehearsal/simulate-settle-all.js")
> => await import("../rehearsal/simulate-settle-all.js");

export const loadFork = async (): Promise<
  typeof import("../rehearsal/engines/fork.js")
> => await import("../rehearsal/engines/fork.js");

export const loadMocks = async (): Promise<
  typeof import("../mocks/deploy-mocks.js")
> => await import("../mocks/deploy-mocks.js");

export const loadMockAt = async (): Promise<
  typeof import("../mocks/mock-at.js")
> => await import("../mocks/mock-at.js");

export const loadSender = async (): Promise<typeof import("./sender.js")> =>
  await import("./sender.js");

/** What reads and writes files takes longer to load than a connection itself. */
export const loadDeploymentFiles = async (): Promise<
  typeof import("./deployment-file.js")
> => await import("./deployment-file.js");
