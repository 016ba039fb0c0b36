// What a settlement would do, and the gas that it needs: for a run, and for who only looks.

import { fallbackTo, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { INTRINSIC_GAS, keepsTokens, settlementCall } from "../guard/call.js";
import type { SettlementRoute } from "../guard/call.js";
import { explainRefusal } from "../guard/outcome.js";
import type { Refusal } from "../guard/outcome.js";
import type { VaultHost } from "../host.js";
import type { BlockId } from "../rpc/blocks.js";
import { tryCall } from "../rpc/calls.js";
import { resolveGas } from "../sending/fees.js";
import type { Gas } from "../sending/fees.js";
import type { ChosenNextBlock } from "../simulation/next-block.js";
import type { SimulationRequest } from "../simulation/options.js";
import { simulate } from "../simulation/simulate.js";
import type { Simulated } from "../simulation/simulate.js";
import type { Simulation } from "../simulation/types.js";

/** @returns Undefined if no engine works on the node. */
export async function trySimulation(
  vault: VaultHost,
  sender: string,
  next: ChosenNextBlock,
  given: Pick<SimulationRequest, "engine" | "price" | "route">,
): Promise<Simulated | undefined> {
  // A fork needs more of a node than a settlement does; a node behind the same URL may be
  // behind.
  const cannotSimulate = ({ code }: VaultError): boolean =>
    code === "VAULT_ENGINE_UNAVAILABLE" ||
    code === "VAULT_FORK_NETWORK_TAKEN" ||
    code === "VAULT_FORK_REORGED" ||
    code === "VAULT_BLOCK_NOT_FOUND" ||
    code === "VAULT_RPC_ERROR";
  return await simulate(vault, { ...given, sender }, next).catch(
    fallbackTo(undefined, cannotSimulate),
  );
}

/** @returns Why the contracts refuse the settlement; undefined if they accept it. */
export async function findRefusal(
  vault: VaultHost,
  route: SettlementRoute,
  simulated: Simulated | undefined,
  /** The block and the gas of a plain call, if there is no simulation. */
  at: BlockId,
  gas: bigint,
): Promise<Refusal | undefined> {
  if (simulated !== undefined) {
    const { status, code, reason } = simulated.simulation;
    return status === "reverted" ? { code, reason: reason ?? "" } : undefined;
  }
  const reverted = await tryCall(vault.rpc, settlementCall(route), at, gas);
  return reverted === undefined
    ? undefined
    : await explainRefusal(vault, reverted, route);
}

/**
 * Finds the gas limit to sign with, or why the contracts refuse the settlement.
 *
 * @param simulated If undefined, the settlement is called instead.
 * @throws VaultError VAULT_GAS_LIMIT_TOO_LOW if the settings leave less than it uses
 */
export async function findGas(
  vault: VaultHost,
  route: SettlementRoute,
  next: ChosenNextBlock,
  simulated: Simulated | undefined,
  gasPrice?: bigint,
): Promise<Gas | { readonly refusal: Refusal }> {
  const { rpc, connection, networkName: network } = vault;
  const { networkConfig } = connection;
  const limit =
    networkConfig.gas === "auto" ? next.gasLimit : networkConfig.gas;
  const refusal = await findRefusal(vault, route, simulated, "latest", limit);
  if (refusal !== undefined) {
    return { refusal };
  }
  const { gasNeeded: needed, simulation } = simulated ?? {};
  const { gasUsed: used } = simulation ?? {};
  const isKnown = typeof used === "bigint" && typeof needed === "bigint";
  const found = await resolveGas(
    rpc,
    networkConfig,
    { ...settlementCall(route), gasPrice },
    next,
    isKnown ? { used, needed } : undefined,
  );
  if ("reverted" in found) {
    return { refusal: await explainRefusal(vault, found.reverted, route) };
  }
  if (found.gas < (used ?? INTRINSIC_GAS)) {
    throw vaultError("VAULT_GAS_LIMIT_TOO_LOW", { network, gas: found.gas });
  }
  return found;
}

/** What a simulation says of the tokens. */
interface SimulatedTokens extends Pick<Simulated, "kept"> {
  readonly simulation: Pick<Simulation, "reason" | "status">;
}

/**
 * @returns VAULT_GUARD_KEEPS_TOKENS if a settlement would leave something in the guard,
 * VAULT_TOKENS_NOT_KNOWN if it may do so.
 */
export function lossInGuard(
  vault: VaultHost,
  { guard }: SettlementRoute,
  simulated: SimulatedTokens | undefined,
  areTokensNamed: boolean,
): VaultError | undefined {
  if (guard === undefined) {
    return undefined;
  }
  const { kept = [], simulation } = simulated ?? {};
  const { status, reason } = simulation ?? {};
  const problem =
    simulated === undefined
      ? "no engine can simulate a settlement"
      : // It may succeed later.
        status === "reverted" &&
        `the simulation reverts: ${(reason ?? "").replace(/\.$/u, "")}`;
  if (problem !== false && !areTokensNamed) {
    const { networkName: network } = vault;
    const details = { network, guard: guard.address, problem };
    return vaultError("VAULT_TOKENS_NOT_KNOWN", details);
  }
  return kept.length === 0 ? undefined : keepsTokens(vault, guard, kept);
}

/** The error for a call that the contract accepts, and that leaves the round open. */
export async function wouldNotSettle(vault: VaultHost): Promise<VaultError> {
  const [contract, factory] = await Promise.all([
    vault.addressOf("vault", "settleAll"),
    vault.addressOf("vaultFactory", "getLatestRoundInfo"),
  ]);
  return vaultError("VAULT_WOULD_NOT_SETTLE", {
    network: vault.networkName,
    contract: contract.source,
    factory: factory.source,
  });
}

/** @throws VaultError VAULT_INSUFFICIENT_FUNDS */
export function requireFunds(
  { networkName: network }: VaultHost,
  from: string,
  balance: bigint,
  cost: bigint,
): void {
  if (balance < cost) {
    const details = { from, network, balance, cost };
    throw vaultError("VAULT_INSUFFICIENT_FUNDS", details);
  }
}
