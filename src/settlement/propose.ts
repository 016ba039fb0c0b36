// Step 5 of a settlement: what it would do, and what it costs.

import type { LocatedAddress } from "../client/addresses.js";
import { fallbackTo, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { INTRINSIC_GAS, keepsTokens, settlementCall } from "../guard/call.js";
import type { SettlementRoute } from "../guard/call.js";
import {
  SETTLED_MEANWHILE,
  explainRefusal,
  nothingToDo,
  refusedBy,
  statusOfRefusal,
} from "../guard/outcome.js";
import type { Refusal, Stopped } from "../guard/outcome.js";
import type { VaultHost } from "../host.js";
import { getBalance, hasCode } from "../rpc/accounts.js";
import { tryCall } from "../rpc/calls.js";
import { limitFees, resolveFees, resolveGas } from "../sending/fees.js";
import type { Gas, GasPrice } from "../sending/fees.js";
import type { Signer } from "../sending/signer.js";
import type { ChosenNextBlock } from "../simulation/next-block.js";
import type { SimulationRequest } from "../simulation/options.js";
import { simulate } from "../simulation/simulate.js";
import type { Simulated } from "../simulation/simulate.js";
import { describeTokens } from "../simulation/tokens.js";
import type { ParsedOptions } from "./options.js";
import { Stop } from "./result.js";
import { staleHead } from "./state.js";
import type { Current } from "./state.js";
import type { SettlementPreflight } from "./types.js";

/** Gas limit and price to sign with. */
export interface Terms {
  readonly gas: bigint;
  readonly price: GasPrice;
}

/** The account, its way to the vault, and the state to settle on. */
interface Basis {
  readonly signer: Signer;
  readonly route: SettlementRoute;
  readonly now: Current;
}

/** A settlement to agree to. */
export interface Proposal extends Basis {
  /** Milliseconds by the wall clock before it was simulated. */
  readonly since: number;
  readonly preflight: SettlementPreflight;
  /** If the node may be behind. */
  readonly stale: VaultError | undefined;
  /** Why it cannot be sent, or the terms to sign. */
  readonly verdict: Stopped | Terms;
}

/**
 * Simulates the settlement, or only calls it if no engine works on the node, and computes
 * its cost. Sends nothing.
 */
export async function propose(
  vault: VaultHost,
  { signer, route, now }: Basis,
  { limits, tokens: named }: ParsedOptions,
): Promise<Proposal> {
  const since = Date.now();
  const { rpc, networkName, connection } = vault;
  const { networkConfig } = connection;
  const { chainId, contract, block, round, next } = now;
  requireGas(vault, networkConfig.gas, INTRINSIC_GAS);
  const offered = await resolveFees(rpc, networkConfig, next);
  const simulated = await trySimulation(vault, signer.address, next, {
    route,
    price: offered,
  });
  const { simulation: preview = null } = simulated ?? {};
  if (preview?.status === "nothing-to-do") {
    throw new Stop(nothingToDo(SETTLED_MEANWHILE));
  }
  const stale = await staleHead(vault, block);
  const found = await findGas(vault, route, next, simulated, offered.current);
  const transfers = preview?.transfers ?? [];
  const basis = { signer, route, now, since, stale };
  const preflight = {
    chainId,
    chainTime: next.timestamp,
    headAge: stale === undefined ? null : Number(stale.details["age"]),
    round,
    contract,
    from: signer.address,
    signing: signer.kind,
    balance: simulated?.balance ?? (await getBalance(rpc, signer.address)),
    guard: route.guard?.address ?? null,
    preview,
    warnings: await findWarnings(vault, contract),
    tokens: await describeTokens(
      vault,
      transfers.map(({ token }) => token),
      next.latest,
    ),
  };
  if ("refusal" in found) {
    const { code, reason } = found.refusal;
    const status = statusOfRefusal(code);
    if (status === "nothing-to-do") {
      throw new Stop(nothingToDo(code === null ? SETTLED_MEANWHILE : reason));
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
  requireGas(vault, gas, preview?.gasUsed ?? INTRINSIC_GAS);
  const price = limitFees(networkName, offered, limits);
  const loss = lossInGuard(vault, route, simulated, named !== undefined);
  return {
    ...basis,
    preflight: {
      ...preflight,
      gas,
      cost: gas * price.current,
      maxCost: gas * price.highest,
      outcome: "succeeds",
      reason: null,
    },
    verdict: loss === undefined ? { gas, price } : refusedBy(loss),
  };
}

/**
 * @returns VAULT_GUARD_KEEPS_TOKENS if a settlement would leave something in the guard,
 * VAULT_TOKENS_NOT_KNOWN if it may do so.
 */
export function lossInGuard(
  vault: VaultHost,
  { guard }: SettlementRoute,
  simulated: Simulated | undefined,
  areTokensNamed: boolean,
): VaultError | undefined {
  if (guard === undefined) {
    return undefined;
  }
  const { status, reason } = simulated?.simulation ?? {};
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
  const { kept = [] } = simulated ?? {};
  return kept.length === 0 ? undefined : keepsTokens(vault, guard, kept);
}

/** Contract of every chain of the OP stack. */
const OP_GAS_PRICE_ORACLE = "0x420000000000000000000000000000000000000F";

async function findWarnings(
  vault: VaultHost,
  contract: LocatedAddress,
): Promise<readonly string[]> {
  const factory = await vault.addressOf("vaultFactory", "getLatestRoundInfo");
  const isLive = vault.connection.networkConfig.type === "http";
  const hasDataFee =
    isLive &&
    (await hasCode(vault.rpc, OP_GAS_PRICE_ORACLE).catch(fallbackTo(false)));
  const own = `networks.${vault.networkName}.vault.contracts.vaultFactory`;
  return [
    // An instance's own vault with the factory of the network's own contracts.
    contract.source.includes(".vault.instances.") &&
      factory.source === own &&
      `The vault's address is from ${contract.source}, but the round is read from the factory of ${own}, which the instance inherits. If the instance has its own factory, set its vaultFactory.`,
    hasDataFee &&
      "This chain adds a fee for the transaction's data (OP stack), which is not known beforehand and is not in the cost.",
  ].filter((one) => one !== false);
}

/** @returns Undefined if no engine works on the node. */
export async function trySimulation(
  vault: VaultHost,
  sender: string,
  next: ChosenNextBlock,
  known: Pick<SimulationRequest, "price" | "route">,
): Promise<Simulated | undefined> {
  // A fork needs more of a node than a settlement does; a node behind the same URL may be
  // behind.
  const cannotSimulate = ({ code }: VaultError): boolean =>
    code === "VAULT_ENGINE_UNAVAILABLE" ||
    code === "VAULT_FORK_NETWORK_TAKEN" ||
    code === "VAULT_FORK_REORGED" ||
    code === "VAULT_BLOCK_NOT_FOUND" ||
    code === "VAULT_RPC_ERROR";
  return await simulate(vault, { ...known, sender }, next).catch(
    fallbackTo(undefined, cannotSimulate),
  );
}

/** @param simulated If undefined, the settlement is called instead. */
export async function findGas(
  vault: VaultHost,
  route: SettlementRoute,
  next: ChosenNextBlock,
  simulated: Simulated | undefined,
  gasPrice?: bigint,
): Promise<Gas | { readonly refusal: Refusal }> {
  const { rpc, connection } = vault;
  const { networkConfig } = connection;
  const call = settlementCall(route);
  const { status, code = null, reason, gasUsed } = simulated?.simulation ?? {};
  if (status === "reverted") {
    return { refusal: { code, reason: reason ?? "" } };
  }
  if (simulated === undefined) {
    const { gas } = networkConfig;
    const limit = gas === "auto" ? next.gasLimit : gas;
    const reverted = await tryCall(rpc, call, "latest", limit);
    if (reverted !== undefined) {
      return { refusal: await explainRefusal(vault, reverted, route) };
    }
  }
  const { gasNeeded } = simulated ?? {};
  const needs =
    typeof gasUsed === "bigint" && typeof gasNeeded === "bigint"
      ? { used: gasUsed, needed: gasNeeded }
      : undefined;
  const found = await resolveGas(
    rpc,
    networkConfig,
    { ...call, gasPrice },
    next,
    needs,
  );
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
