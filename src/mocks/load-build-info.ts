import type * as buildInfo from "./build-info.js";

// Apart from the mocks' code, for the reason in src/plugin/on-demand.ts.
export async function loadBuildInfo(): Promise<typeof buildInfo> {
  return await import("./build-info.js");
}
