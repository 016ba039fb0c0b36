import type * as logUpdate from "log-update";

// Apart from the tasks' code, for the reason in src/plugin/on-demand.ts.
export async function loadLogUpdate(): Promise<typeof logUpdate> {
  return await import("log-update");
}
