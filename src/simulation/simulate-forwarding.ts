import type { VaultHost } from "../host.js";
import type { ChosenNextBlock } from "../settlement-call/next-block.js";
import type { SimulationRequest } from "./options.js";
import { simulateSettlement } from "./simulate-settlement.js";
import type { Simulated } from "./simulate-settlement.js";

/**
 * Simulates a settlement; through a guard, once more with the tokens that the first
 * simulation leaves in it, which it then forwards.
 */
export async function simulateForwarding(
  vault: VaultHost,
  request: SimulationRequest,
  next: ChosenNextBlock,
): Promise<Simulated> {
  const first = await simulateSettlement(vault, request, next);
  const { route, kept, simulation } = first;
  const { guard } = route;
  if (
    guard === undefined ||
    request.areTokensGiven === true ||
    kept.tokens.length === 0 ||
    kept.others.length > 0
  ) {
    return first;
  }
  const { engine } = simulation;
  const forwarding = {
    ...request,
    tokens: [...new Set([...(request.tokens ?? []), ...kept.tokens])],
    route: {
      ...route,
      guard: { ...guard, tokens: [...guard.tokens, ...kept.tokens] },
    },
    ...(engine !== "in-process" && { engine }),
  };
  return await simulateSettlement(vault, forwarding, next);
}
