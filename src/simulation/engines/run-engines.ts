import { assertInvariant, vaultError } from "../../errors.js";
import type { VaultError } from "../../errors.js";
import { EngineUnsupportedError } from "../engine.js";
import type { EngineResult, SimulationParameters } from "../engine.js";
import type { SimulationEngine } from "../types.js";
import { runCall } from "./call.js";
import { runFork } from "./fork.js";
import { runInProcess } from "./in-process.js";
import { runSimulateV1 } from "./simulate-v1.js";

export type HttpEngine = Exclude<SimulationEngine, "in-process">;

/** In the order in which they are asked. */
export const httpEngines = ["simulateV1", "call", "fork"] as const;

const run = {
  simulateV1: runSimulateV1,
  call: runCall,
  fork: runFork,
  "in-process": runInProcess,
};

/**
 * Runs one engine after the other, until one can.
 *
 * @throws VaultError VAULT_ENGINE_UNAVAILABLE if none of them can
 */
export async function runEngines(
  parameters: SimulationParameters,
  engines: readonly SimulationEngine[],
): Promise<EngineResult & { readonly engine: SimulationEngine }> {
  let last: VaultError | undefined;
  for (const engine of engines) {
    try {
      return { engine, ...(await run[engine](parameters)) };
    } catch (error) {
      if (!(error instanceof EngineUnsupportedError)) {
        throw error;
      }
      const { networkName: network } = parameters.vault;
      last = vaultError(
        "VAULT_ENGINE_UNAVAILABLE",
        { engine, network, problem: error.message },
        error,
      );
    }
  }
  assertInvariant(last !== undefined, "no engine to simulate with");
  throw last;
}
