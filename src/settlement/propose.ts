import type { Stopped, Refusal } from "../guard/outcome.js";
import type { LocatedAddress } from "../client/addresses.js";
import { fallbackTo, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { getBalance, hasCode } from "../rpc/accounts.js";
import type { ChosenNextBlock } from "../simulation/next-block.js";
import { tryCall } from "../rpc/calls.js";

import type { VaultHost } from "../host.js";
import { keepsTokens, INTRINSIC_GAS, settlementCall } from "../guard/call.js";
import type { SettlementRoute } from "../guard/call.js";
import { describeTokens } from "../simulation/tokens.js";
import {
  SETTLED_MEANWHILE,
  explainRefusal,
  nothingToDo,
  refusedBy,
  statusOfRefusal,
} from "../guard/outcome.js";
import type { HttpEngine, SimulationRequest } from "../simulation/options.js";
import { simulate } from "../simulation/simulate.js";
import type { Simulated } from "../simulation/simulate.js";
import type { Simulation } from "../simulation/types.js";
import { limitFees, resolveFees, resolveGas } from "../sending/fees.js";
import type { Gas, GasPrice } from "../sending/fees.js";
import { staleAge } from "./head-age.js";
import type { Observation } from "./observe.js";
import type { ParsedOptions } from "./options.js";
import type { Signer } from "../sending/signer.js";
import type { SettlementPreflight } from "./types.js";

/** A settlement to agree to, and the state that it was simulated on. */
export interface Proposal {
  readonly kind: "proposal";
  readonly observation: Observation;
  readonly next: ChosenNextBlock;
  readonly route: SettlementRoute;
  /** Milliseconds by the wall clock before it was simulated. */
  readonly since: number;
  readonly preflight: SettlementPreflight;
  /** Reason of the revert, or gas limit and price. */
  readonly verdict: Stopped | Terms;
}

/** Gas limit and price to sign with. */
export interface Terms {
  readonly kind: "terms";
  readonly gas: bigint;
  readonly price: GasPrice;
}

/**
 * Simulates the settlement, or only calls it if no engine works on the node, and computes
 * its cost. Sends nothing.
 *
 * @returns A stop if the round was settled meanwhile.
 */
export async function propose(
  vault: VaultHost,
  signer: Signer,
  next: ChosenNextBlock,
  observation: Observation,
  route: SettlementRoute,
  { limits, tokens: givenTokens }: ParsedOptions,
): Promise<Proposal | Stopped> {
  const since = Date.now();
  const { chainId, contract, block, round } = observation;
  const { networkConfig } = vault.connection;
  requireGas(vault, networkConfig.gas, INTRINSIC_GAS);
  const guard = route.guard?.address ?? null;
  const areTokensGiven = givenTokens !== undefined;
  const price = resolveFees(vault.rpc, networkConfig, next);
  // A failure counts where the answer is used.
  price.catch(() => undefined);
  const [simulated, age, warnings, offered] = await Promise.all([
    trySimulation(vault, signer.address, next, { route, price }),
    staleAge(vault, block),
    findWarnings(vault, contract),
    price,
  ]);
  const simulation = simulated?.simulation ?? null;
  if (simulation?.status === "nothing-to-do") {
    return nothingToDo(SETTLED_MEANWHILE);
  }
  const tokens = await describeTokens(
    vault,
    (simulation?.transfers ?? []).map(({ token }) => token),
    next.latest,
  );
  const found = await findGas(vault, route, next, simulated, offered.current);
  const kind = "proposal" as const;
  const basis = { kind, observation, next, route, since };
  const preflight = {
    chainId,
    chainTime: next.timestamp,
    headAge: age ?? null,
    round,
    contract,
    from: signer.address,
    signing: signer.kind,
    balance:
      simulated?.balance ?? (await getBalance(vault.rpc, signer.address)),
    guard,
    preview: simulation,
    warnings,
    tokens,
  };
  if ("refusal" in found) {
    const { code, reason } = found.refusal;
    const status = statusOfRefusal(code);
    if (status === "nothing-to-do") {
      return nothingToDo(code === null ? SETTLED_MEANWHILE : reason);
    }
    if (code === "VAULT_OUT_OF_GAS") {
      requireGas(vault, networkConfig.gas, undefined);
    }
    const costs = { gas: null, cost: null, maxCost: null };
    return {
      ...basis,
      preflight: { ...preflight, ...costs, outcome: "reverts", reason },
      verdict: { kind: "stopped", status, code: code ?? undefined, reason },
    };
  }
  const { gas } = found;
  requireGas(vault, gas, simulation?.gasUsed ?? INTRINSIC_GAS);
  const limited = limitFees(vault.networkName, offered, limits);
  const [cost, maxCost] = [gas * limited.current, gas * limited.highest];
  return {
    ...basis,
    preflight: {
      ...preflight,
      gas,
      cost,
      maxCost,
      outcome: "succeeds",
      reason: null,
    },
    verdict: refuseLoss(vault, route, simulated, areTokensGiven) ?? {
      kind: "terms",
      gas,
      price: limited,
    },
  };
}

/** Refuses a settlement that would leave something in the guard, or may do so. */
export function refuseLoss(
  vault: VaultHost,
  { guard }: SettlementRoute,
  simulated: Simulated | undefined,
  areTokensGiven: boolean,
): Stopped | undefined {
  if (guard === undefined) {
    return undefined;
  }
  const problem = whyUnknown(simulated?.simulation);
  if (problem !== undefined && !areTokensGiven) {
    const { networkName: network } = vault;
    const details = { network, guard: guard.address, problem };
    return refusedBy(vaultError("VAULT_TOKENS_NOT_KNOWN", details));
  }
  const { kept = [] } = simulated ?? {};
  return kept.length === 0
    ? undefined
    : refusedBy(keepsTokens(vault, guard, kept));
}

/** Says why it is not known what a settlement pays to its caller; undefined if it is. */
function whyUnknown(simulation: Simulation | undefined): string | undefined {
  if (simulation === undefined) {
    return "no engine can simulate a settlement";
  }
  const { status, reason } = simulation;
  // It may succeed later.
  return status === "reverted"
    ? `the simulation reverts: ${(reason ?? "").replace(/\.$/u, "")}`
    : undefined;
}

async function findWarnings(
  vault: VaultHost,
  contract: LocatedAddress,
): Promise<readonly string[]> {
  const isLive = vault.connection.networkConfig.type === "http";
  const [factory, hasDataFee] = await Promise.all([
    vault.addressOf("vaultFactory", "getLatestRoundInfo"),
    isLive && hasCode(vault.rpc, OP_GAS_PRICE_ORACLE).catch(fallbackTo(false)),
  ]);
  const own = `networks.${vault.networkName}.vault.contracts.vaultFactory`;
  const warnings = [
    // An instance's own vault with the factory of the network's own contracts.
    contract.source.includes(".vault.instances.") &&
      factory.source === own &&
      `The vault's address is from ${contract.source}, but the round is read from the factory of ${own}, which the instance inherits. If the instance has its own factory, set its vaultFactory.`,
    hasDataFee &&
      "This chain adds a fee for the transaction's data (OP stack), which is not known beforehand and is not in the cost.",
  ];
  return warnings.filter((one) => one !== false);
}

/** Contract of every chain of the OP stack. */
const OP_GAS_PRICE_ORACLE = "0x420000000000000000000000000000000000000F";

/** @returns Undefined if no engine works on the node. */
export async function trySimulation(
  vault: VaultHost,
  sender: string,
  next: ChosenNextBlock,
  known: Pick<SimulationRequest, "price" | "route">,
): Promise<Simulated | undefined> {
  const simulateWith = async (engine: HttpEngine): Promise<Simulated> =>
    await simulate(vault, { ...known, sender, engine }, next);
  const isUnavailable = ({ code }: VaultError): boolean =>
    code === "VAULT_ENGINE_UNAVAILABLE";
  // A fork needs more of a node than a settlement does.
  const cannotFork = (error: VaultError): boolean =>
    isUnavailable(error) ||
    error.code === "VAULT_FORK_NETWORK_TAKEN" ||
    error.code === "VAULT_FORK_REORGED" ||
    // A node behind the same URL may be behind.
    error.code === "VAULT_BLOCK_NOT_FOUND" ||
    error.code === "VAULT_RPC_ERROR";
  return (
    (await simulateWith("simulateV1").catch(
      fallbackTo(undefined, isUnavailable),
    )) ?? (await simulateWith("fork").catch(fallbackTo(undefined, cannotFork)))
  );
}

interface Refused {
  readonly refusal: Refusal;
}

/** @param simulated If undefined, the settlement is called instead. */
export async function findGas(
  vault: VaultHost,
  route: SettlementRoute,
  next: ChosenNextBlock,
  simulated: Simulated | undefined,
  gasPrice?: bigint,
): Promise<Gas | Refused> {
  const { networkConfig } = vault.connection;
  const { gas } = networkConfig;
  const call = settlementCall(route);
  const { status, code = null, reason, gasUsed } = simulated?.simulation ?? {};
  if (status === "reverted") {
    return { refusal: { code, reason: reason ?? "" } };
  }
  const limit = gas === "auto" ? next.gasLimit : gas;
  const reverted =
    simulated === undefined
      ? await tryCall(vault.rpc, call, "latest", limit)
      : undefined;
  const used =
    typeof gasUsed === "bigint" && typeof simulated?.gasNeeded === "bigint"
      ? { used: gasUsed, needed: simulated.gasNeeded }
      : undefined;
  const found =
    reverted === undefined
      ? await resolveGas(
          vault.rpc,
          networkConfig,
          { ...call, gasPrice },
          next,
          used,
        )
      : { reverted };
  return "reverted" in found
    ? { refusal: await explainRefusal(vault, found.reverted, route) }
    : found;
}

/** @param used Undefined if it exceeds any configured limit. */
function requireGas(
  { networkName: network }: VaultHost,
  limit: bigint | "auto",
  used: bigint | undefined,
): void {
  if (limit !== "auto" && (used === undefined || limit < used)) {
    throw vaultError("VAULT_GAS_LIMIT_TOO_LOW", { network, gas: limit });
  }
}
