// Simulates a settlement, shows what it would do and cost, and asks.

import { VaultError, fallbackTo, vaultError } from "../errors.js";
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
import {
  limitFees,
  offerAtMost,
  requireFeeLimit,
  resolveFees,
  resolveGas,
} from "../sending/fees.js";
import type { Gas, GasPrice } from "../sending/fees.js";
import type { Signer } from "../sending/signer.js";
import { chooseNextBlock } from "../simulation/next-block.js";
import type { ChosenNextBlock } from "../simulation/next-block.js";
import type { SimulationRequest } from "../simulation/options.js";
import { simulate } from "../simulation/simulate.js";
import type { Simulated } from "../simulation/simulate.js";
import { describeTokens } from "../simulation/tokens.js";
import type { Simulation } from "../simulation/types.js";
import type { ParsedOptions } from "./options.js";
import { Stop } from "./result.js";
import {
  readCurrent,
  requireSomethingToDo,
  staleHead,
  wouldNotSettle,
} from "./state.js";
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
  /** Why it is not to be sent, or the terms to sign. */
  readonly verdict: Stopped | Terms;
}

/**
 * Simulates the settlement, or only calls it if no engine works on the node, and computes
 * its cost. Sends nothing.
 */
export async function propose(
  vault: VaultHost,
  basis: Basis,
  { limits, tokens }: ParsedOptions,
): Promise<Proposal> {
  const since = Date.now();
  const { signer, route, now } = basis;
  const { rpc, networkName, connection } = vault;
  const { networkConfig } = connection;
  const { chainId, contract, round, next } = now;
  requireGas(vault, networkConfig.gas, INTRINSIC_GAS);
  const price = await resolveFees(rpc, networkConfig, next);
  const attempt = { route, price };
  const from = signer.address;
  const simulated = await trySimulation(vault, from, next, attempt);
  const { simulation: preview = null } = simulated ?? {};
  if (preview?.status === "nothing-to-do") {
    throw new Stop(nothingToDo(SETTLED_MEANWHILE));
  }
  const found = await findGas(vault, route, next, simulated, price.current);
  let terms: Terms | undefined;
  let verdict: Stopped | Terms;
  if ("refusal" in found) {
    verdict = stopOrExplain(vault, found.refusal);
  } else {
    requireGas(vault, found.gas, preview?.gasUsed ?? INTRINSIC_GAS);
    terms = { ...found, price: limitFees(networkName, price, limits) };
    const loss = lossInGuard(vault, route, simulated, tokens !== undefined);
    verdict = loss === undefined ? terms : refusedBy(loss);
  }
  const stale = await staleHead(vault, now.block);
  const transfers = preview?.transfers ?? [];
  const moved = transfers.map(({ token }) => token);
  const preflight: SettlementPreflight = {
    chainId,
    chainTime: next.timestamp,
    headAge: stale === undefined ? null : Number(stale.details["age"]),
    round,
    contract,
    from,
    signing: signer.kind,
    balance: simulated?.balance ?? (await getBalance(rpc, from)),
    guard: route.guard?.address ?? null,
    gas: terms?.gas ?? null,
    cost: terms === undefined ? null : terms.gas * terms.price.current,
    maxCost: terms === undefined ? null : terms.gas * terms.price.highest,
    outcome: terms === undefined ? "reverts" : "succeeds",
    reason: "refusal" in found ? found.refusal.reason : null,
    preview,
    warnings: await findWarnings(vault),
    tokens: await describeTokens(vault, moved, next.base),
  };
  return { ...basis, since, stale, preflight, verdict };
}

/**
 * Why the settlement cannot be sent, of what refuses its call.
 *
 * @throws Stop if there is nothing to do any more, VaultError VAULT_GAS_LIMIT_TOO_LOW
 */
function stopOrExplain(vault: VaultHost, { code, reason }: Refusal): Stopped {
  const status = statusOfRefusal(code);
  if (status === "nothing-to-do") {
    throw new Stop(nothingToDo(code === null ? SETTLED_MEANWHILE : reason));
  }
  if (code === "VAULT_OUT_OF_GAS") {
    requireGas(vault, vault.connection.networkConfig.gas, undefined);
  }
  return { kind: "stopped", status, code: code ?? undefined, reason };
}

/** What a simulation says of it. */
interface Loss extends Pick<Simulated, "kept"> {
  readonly simulation: Pick<Simulation, "reason" | "status">;
}

/**
 * @returns VAULT_GUARD_KEEPS_TOKENS if a settlement would leave something in the guard,
 * VAULT_TOKENS_NOT_KNOWN if it may do so.
 */
export function lossInGuard(
  vault: VaultHost,
  { guard }: SettlementRoute,
  simulated: Loss | undefined,
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

async function findWarnings({
  rpc,
  connection,
}: VaultHost): Promise<readonly string[]> {
  const hasDataFee =
    connection.networkConfig.type === "http" &&
    (await hasCode(rpc, OP_GAS_PRICE_ORACLE).catch(fallbackTo(false)));
  return hasDataFee
    ? [
        "This chain adds a fee for the transaction's data (OP stack), which is not known beforehand and is not in the cost.",
      ]
    : [];
}

/** @returns Undefined if no engine works on the node. */
export async function trySimulation(
  vault: VaultHost,
  sender: string,
  next: ChosenNextBlock,
  given: Pick<SimulationRequest, "price" | "route">,
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

const OLD_PROPOSAL_MS = 15_000;
/** It is simulated in the next block, so one more block makes no difference. */
const MOST_BLOCKS = 1;

/** What was agreed to, and the preflight that showed it. */
export type Agreement = Pick<
  Proposal,
  "now" | "preflight" | "route" | "signer"
> &
  Terms;

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
  let proposal = first;
  for (let isRepeated = false; ; isRepeated = true) {
    const { preflight } = proposal;
    const terms = await ask(vault, proposal, options);
    const newer = await proposeAgain(vault, proposal, options);
    if (newer === undefined) {
      return { ...proposal, ...terms };
    }
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
  const { preflight, stale } = proposal;
  emit({ type: "preflight", preflight });
  const terms = termsOf(proposal);
  const { from, balance, maxCost: cost } = preflight;
  if (cost !== null && balance < cost) {
    const args = { from, network: vault.networkName, balance, cost };
    throw vaultError("VAULT_INSUFFICIENT_FUNDS", args);
  }
  if (confirm === undefined) {
    // Only a person may agree to these. Without a preview, the plain call decides.
    if (preflight.preview?.status === "not-settled" && partial !== true) {
      throw await wouldNotSettle(vault);
    }
    if (stale !== undefined) {
      throw stale;
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

/**
 * Makes the proposal again if it is old by now.
 *
 * @returns Undefined if it is not.
 */
async function proposeAgain(
  vault: VaultHost,
  proposal: Proposal,
  options: ParsedOptions,
): Promise<Proposal | undefined> {
  const { now, since } = proposal;
  const isOld = Math.abs(Date.now() - since) > OLD_PROPOSAL_MS;
  // If nobody was asked, no time has passed, and a request more would make it pass.
  if (options.confirm === undefined && !isOld) {
    return undefined;
  }
  const next = await chooseNextBlock(vault);
  if (!isOld && next.number - now.next.number <= MOST_BLOCKS) {
    return undefined;
  }
  const newer = await readCurrent(vault, next);
  await requireSomethingToDo(vault, newer, options, now.round);
  return await propose(vault, { ...proposal, now: newer }, options);
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
  if (before.headAge === null && after.headAge !== null) {
    return `the newest block is ${after.headAge} s old now`;
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
