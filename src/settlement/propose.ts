// A settlement is simulated, shown with its cost, and agreed to.

import { VaultError, fallbackTo, vaultError } from "../errors.js";
import { INTRINSIC_GAS, keepsTokens, settlementCall } from "../guard/call.js";
import type { SettlementRoute } from "../guard/call.js";
import { explainRefusal, statusOfRefusal } from "../guard/refusal.js";
import type { Refusal } from "../guard/refusal.js";
import type { VaultHost } from "../host.js";
import { getBalance, hasCode } from "../rpc/accounts.js";
import type { BlockId, NextBlock } from "../rpc/blocks.js";
import { tryCall } from "../rpc/calls.js";
import {
  limitFees,
  offerAtMost,
  requireFeeLimit,
  resolveFees,
  resolveGas,
} from "../sending/fees.js";
import type { Gas, GasPrice } from "../sending/fees.js";
import { nothingToDo, refusedBy } from "../sending/outcome.js";
import type { Stopped } from "../sending/outcome.js";
import type { Signer } from "../sending/signer.js";
import { simulate } from "../simulation/simulate.js";
import type { Simulated, SimulationRequest } from "../simulation/simulate.js";
import { describeTokens } from "../simulation/tokens.js";
import type { Simulation } from "../simulation/types.js";
import {
  SETTLED_MEANWHILE,
  readCurrentRound,
  requireSomethingToDo,
} from "./current-round.js";
import type { CurrentRound } from "./current-round.js";
import type { ParsedOptions } from "./options.js";
import { Stop } from "./settlement-result.js";
import type { SettlementPreflight } from "./types.js";

/** Gas limit and price to sign with. */
interface Terms extends Gas {
  readonly price: GasPrice;
}

/** The account, its way to the vault, and the round to settle. */
interface Basis {
  readonly signer: Signer;
  readonly route: SettlementRoute;
  readonly current: CurrentRound;
}

/** A settlement to agree to. */
export interface Proposal extends Basis {
  /** Milliseconds by the wall clock before it was simulated. */
  readonly since: number;
  readonly preflight: SettlementPreflight;
  /** The terms to sign, or why it is not to be sent. */
  readonly verdict: Stopped | Terms;
}

/** What was agreed to. */
export type Agreement = Basis & Terms & Pick<Proposal, "preflight">;

/**
 * Simulates the settlement, or only calls it if no engine works on the node, and computes
 * its cost. Sends nothing.
 *
 * @throws Stop if there is nothing to do any more, and a VaultError for a limit of the settings
 */
export async function propose(
  vault: VaultHost,
  basis: Basis,
  { limits, tokens }: ParsedOptions,
): Promise<Proposal> {
  const since = Date.now();
  const { signer, route, current } = basis;
  const { chainId, contract, round, next } = current;
  const { address: from, kind: signing } = signer;
  const tried = await trySettlement(vault, route, next, { limits, tokens });
  const { simulated, balance, found, problem } = tried;
  const isRefused = "refusal" in found;
  const verdict = isRefused
    ? stoppedBy(found.refusal)
    : problem === undefined
      ? found
      : refusedBy(problem);
  const preview = simulated?.simulation ?? null;
  const transfers = preview?.transfers ?? [];
  const moved = transfers.map(({ token }) => token);
  const preflight: SettlementPreflight = {
    chainId,
    chainTime: next.timestamp,
    round,
    contract,
    from,
    signing,
    balance,
    guard: route.guard?.address ?? null,
    gas: isRefused ? null : found.gas,
    cost: isRefused ? null : found.gas * found.price.current,
    maxCost: isRefused ? null : found.gas * found.price.highest,
    outcome: isRefused ? "reverts" : "succeeds",
    reason: isRefused ? found.refusal.reason : null,
    preview,
    // Without a symbol, the address shows the token.
    tokens: await describeTokens(vault, moved, next.base).catch(
      fallbackTo<SettlementPreflight["tokens"]>(new Map()),
    ),
  };
  return { ...basis, since, preflight, verdict };
}

/** @throws Stop if the guard says that there is nothing to do any more */
function stoppedBy({ code, reason }: Refusal): Stopped {
  const status = statusOfRefusal(code);
  if (status === "nothing-to-do") {
    throw new Stop(nothingToDo(code === null ? SETTLED_MEANWHILE : reason));
  }
  return { kind: "stopped", status, code: code ?? undefined, reason };
}

/** A preview that is older is made again before anything is signed: the chain has gone on. */
const OLD_MS = 15_000;

/**
 * Asks for confirmation, and once more if the settlement is another one by then.
 *
 * @throws VaultError VAULT_PREVIEW_CHANGED if nobody can be asked, or after two answers
 */
export async function agree(
  vault: VaultHost,
  first: Proposal,
  options: ParsedOptions,
): Promise<Agreement> {
  await warnOfDataFee(vault, options);
  let proposal = first;
  for (let isRepeated = false; ; isRepeated = true) {
    const terms = await ask(vault, proposal, options);
    const { current, preflight, since } = proposal;
    if (Math.abs(Date.now() - since) <= OLD_MS) {
      return { ...proposal, ...terms };
    }
    const later = await readCurrentRound(vault);
    const { ifExpired } = options;
    await requireSomethingToDo(vault, later, {
      ifExpired,
      intended: current.round,
    });
    const newer = await propose(
      vault,
      { ...proposal, current: later },
      options,
    );
    const change = changeSince(preflight, newer.preflight);
    if (change === undefined) {
      return { ...newer, ...termsWithin(termsOf(newer), preflight), preflight };
    }
    if (options.confirm === undefined || isRepeated) {
      throw vaultError("VAULT_PREVIEW_CHANGED", { change });
    }
    proposal = newer;
  }
}

/** Contract of every chain of the OP stack. */
const OP_GAS_PRICE_ORACLE = "0x420000000000000000000000000000000000000F";

async function warnOfDataFee(
  { rpc, connection }: VaultHost,
  { emit }: ParsedOptions,
): Promise<void> {
  if (
    connection.networkConfig.type === "http" &&
    (await hasCode(rpc, OP_GAS_PRICE_ORACLE).catch(fallbackTo(false)))
  ) {
    const message =
      "This chain adds a fee for the transaction's data (OP stack), which is not known beforehand and is not in the cost.";
    emit({ type: "trouble", message });
  }
}

function termsOf({ verdict }: Proposal): Terms {
  if ("reason" in verdict) {
    throw new Stop(verdict);
  }
  return verdict;
}

/** Emits the preflight, and asks for confirmation if the settlement can succeed. */
async function ask(
  vault: VaultHost,
  proposal: Proposal,
  { confirm, emit, partial, limits }: ParsedOptions,
): Promise<Terms> {
  const { preflight } = proposal;
  emit({ type: "preflight", preflight });
  const terms = termsOf(proposal);
  if (confirm === undefined) {
    // Only a person may agree to these. Without a preview, the plain call decides.
    if (preflight.preview?.status === "not-settled" && partial !== true) {
      throw await wouldNotSettle(vault);
    }
    await requireFeeLimit(vault, terms.price, limits);
    return terms;
  }
  // JavaScript may return another type: only true confirms.
  const answer: unknown = await confirm(preflight);
  if (answer === true) {
    return terms;
  }
  const refusal = refusedBy(
    VaultError.isVaultError(answer)
      ? answer
      : vaultError("VAULT_NOT_CONFIRMED", {}),
  );
  const isText = typeof answer === "string" && answer !== "";
  throw new Stop(isText ? { ...refusal, reason: answer } : refusal);
}

/** @returns The difference that a person has to agree to again, as a clause. */
function changeSince(
  before: SettlementPreflight,
  after: SettlementPreflight,
): string | undefined {
  const [earlier, later] = [before, after].map(({ outcome, preview }) =>
    [outcome, preview?.status, preview?.code].join(),
  );
  if (earlier !== later) {
    return "its outcome is another one now";
  }
  return (after.cost ?? 0n) > (before.maxCost ?? 0n)
    ? `it costs ${after.cost} wei now, above the ${before.maxCost} wei that were shown`
    : undefined;
}

/** The newer gas limit, at a price whose cost does not exceed the one that was shown. */
function termsWithin(
  { gas, price }: Terms,
  { maxCost }: SettlementPreflight,
): Terms {
  return {
    gas,
    price: maxCost === null ? price : offerAtMost(price, maxCost / gas),
  };
}

/** What a settlement in the next block would do. */
interface Tried {
  /** Undefined if no engine works on the node. */
  readonly simulated: Simulated | undefined;
  /** Of the account, in wei. */
  readonly balance: bigint;
  /** The terms to sign, or why the contracts refuse it. */
  readonly found: Terms | { readonly refusal: Refusal };
  /** Why it is not to be sent, though the contracts accept it. */
  readonly problem?: VaultError | undefined;
}

/**
 * How a settlement is tried: the limits of its fee, the tokens that a guard forwards, and the
 * engine. If no engine works, it is called at the block `at`.
 */
interface Rules extends Pick<ParsedOptions, "limits" | "tokens"> {
  readonly engine?: SimulationRequest["engine"];
  readonly at?: BlockId;
}

/**
 * Tries a settlement in the next block, by an engine or else by a call. Sends nothing.
 *
 * @throws VaultError VAULT_FEE_ABOVE_LIMIT, VAULT_GAS_LIMIT_TOO_LOW
 */
export async function trySettlement(
  vault: VaultHost,
  route: SettlementRoute,
  next: NextBlock,
  { limits, tokens, engine, at }: Rules,
): Promise<Tried> {
  const { rpc, networkName: network, connection } = vault;
  const { from } = route;
  const offered = await resolveFees(rpc, connection.networkConfig, next);
  const attempt = { route, price: offered, engine };
  const simulated = await trySimulation(vault, from, next, attempt);
  const balance = simulated?.balance ?? (await getBalance(rpc, from));
  const { current } = offered;
  const found = await findGas(vault, route, next, simulated, current, at);
  if ("refusal" in found) {
    return { simulated, balance, found };
  }
  const price = limitFees(network, offered, limits);
  const cost = found.gas * price.highest;
  // Another engine may show what stays in the guard, if this one cannot.
  const areNamed = tokens !== undefined || engine !== undefined;
  let problem = lossInGuard(vault, route, simulated, areNamed);
  if (problem === undefined && balance < cost) {
    const details = { from, network, balance, cost };
    problem = vaultError("VAULT_INSUFFICIENT_FUNDS", details);
  }
  return { simulated, balance, found: { ...found, price }, problem };
}

/** @returns Undefined if no engine works on the node. */
export async function trySimulation(
  vault: VaultHost,
  sender: string,
  next: NextBlock,
  given: Pick<SimulationRequest, "engine" | "price" | "route">,
): Promise<Simulated | undefined> {
  // A fork needs more of a node than a settlement does; a node behind the same URL may be
  // behind.
  const cannotSimulate = ({ code }: VaultError): boolean =>
    code === "VAULT_ENGINE_UNAVAILABLE" ||
    code === "VAULT_FORK_NETWORK_TAKEN" ||
    code === "VAULT_ARCHIVE_NODE_NEEDED" ||
    code === "VAULT_BLOCK_NOT_FOUND" ||
    code === "VAULT_RPC_ERROR";
  return await simulate(vault, { ...given, sender }, next).catch(
    fallbackTo(undefined, cannotSimulate),
  );
}

/**
 * @returns Why the contracts refuse the settlement; undefined if they accept it.
 * @param simulated If undefined, the settlement is called with this gas, at this block.
 */
export async function findRefusal(
  vault: VaultHost,
  route: SettlementRoute,
  simulated: Simulated | undefined,
  gas: bigint,
  at: BlockId = "latest",
): Promise<Refusal | undefined> {
  if (simulated !== undefined) {
    const { status, code, reason } = simulated.simulation;
    return status === "reverted"
      ? { code, reason: reason ?? "" }
      : status === "nothing-to-do"
        ? { code: null, reason: SETTLED_MEANWHILE }
        : undefined;
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
  next: NextBlock,
  simulated: Simulated | undefined,
  gasPrice?: bigint,
  at?: BlockId,
): Promise<Gas | { readonly refusal: Refusal }> {
  const { rpc, connection, networkName: network } = vault;
  const { networkConfig } = connection;
  const limit =
    networkConfig.gas === "auto" ? next.gasLimit : networkConfig.gas;
  const refusal = await findRefusal(vault, route, simulated, limit, at);
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
