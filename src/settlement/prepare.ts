// A settlement is tried as it would be sent, shown with its cost, and agreed to.

import { failedReading } from "../client/read-at-block.js";
import { VaultError, fallbackTo, vaultError } from "../errors.js";
import { INTRINSIC_GAS, keepsTokens, settlementCall } from "../guard/call.js";
import type { SettlementRoute } from "../guard/call.js";
import type { GuardedSettlement } from "../guard/round-guard.js";
import { explainRefusal, statusOfRefusal } from "../guard/refusal.js";
import type { Refusal } from "../guard/refusal.js";
import type { VaultHost } from "../host.js";
import type { BlockId, NextBlock } from "../rpc/blocks.js";
import { getBalance, tryCall } from "../rpc/chain.js";
import {
  offerAtMost,
  requireFeeLimit,
  requireWithin,
  resolveFees,
  resolveGas,
} from "../sending/fees.js";
import type { Gas, GasPrice } from "../sending/fees.js";
import { nothingToDo, refusedBy } from "../sending/job.js";
import type { Stopped } from "../sending/job.js";
import type { Signer } from "../sending/signer.js";
import { simulate } from "../simulation/simulate.js";
import type { Simulated, SimulationRequest } from "../simulation/simulate.js";
import { readTokens } from "../simulation/tokens.js";
import { findObstacle, readCurrentRound } from "./current-round.js";
import type { CurrentRound } from "./current-round.js";
import type { ParsedOptions, SettlementPreflight } from "./options.js";

/** What a settlement in the next block would do, as an account would send it. */
export type Trial = {
  readonly route: SettlementRoute;
  /** Undefined if no engine works on the node: the settlement is called only. */
  readonly simulated: Simulated | undefined;
  /** Of the account, in wei. */
  readonly balance: bigint;
  readonly price: GasPrice;
} & (
  | { readonly gas: bigint; readonly stop?: undefined }
  | {
      /** Gas limit to sign with; undefined if the contracts refuse the settlement. */
      readonly gas: bigint | undefined;
      /** Why it is not to be sent; with an error, though the contracts accept it. */
      readonly stop: Stopped;
    }
);

/** How a settlement is tried. */
interface TrialRules extends Pick<ParsedOptions, "limits" | "tokens"> {
  /** True if it is not to be sent unless it settles the round. */
  readonly mustSettle: boolean;
  /** Default: the first that works. */
  readonly engine?: SimulationRequest["engine"];
  /** Where it is called if no engine works. Default: the newest block. */
  readonly at?: BlockId | undefined;
}

/**
 * Tries a settlement in the next block, by an engine or else by a call. Sends nothing.
 *
 * @throws VaultError if the node does not answer
 */
export async function trySettlement(
  vault: VaultHost,
  route: SettlementRoute,
  next: NextBlock,
  rules: TrialRules,
): Promise<Trial> {
  const { rpc, connection } = vault;
  const { limits, tokens, engine } = rules;
  const { from } = route;
  const [offered, contracts] = await Promise.all([
    resolveFees(rpc, connection.networkConfig, next),
    vault.locateAll(),
  ]);
  const simulated = await simulate(
    vault,
    { route, price: offered, contracts, tokens, engine },
    next,
  ).catch(fallbackTo(undefined, cannotSimulate));
  const balance = simulated?.balance ?? (await getBalance(rpc, from));
  const price = offerAtMost(offered, limits.maxFeePerGas?.wei);
  const tried = { route, simulated, balance, price };
  const found = await findGas(vault, tried, next, rules.at);
  if ("kind" in found) {
    return { ...tried, gas: undefined, stop: found };
  }
  const sendable = { ...tried, ...found };
  const failed = await requireSendable(vault, sendable, rules).catch(
    failedReading,
  );
  return failed === undefined
    ? sendable
    : { ...sendable, stop: refusedBy(failed.error) };
}

/** A fork needs more of a node than a settlement; a node behind the same URL may be behind. */
function cannotSimulate({ code }: VaultError): boolean {
  return (
    code === "VAULT_ENGINE_UNAVAILABLE" ||
    code === "VAULT_ARCHIVE_NODE_NEEDED" ||
    code === "VAULT_BLOCK_NOT_FOUND" ||
    code === "VAULT_RPC_ERROR"
  );
}

function stoppedBy({ code, reason }: Refusal): Stopped {
  const status = statusOfRefusal(code);
  return status === "nothing-to-do"
    ? nothingToDo(reason)
    : { kind: "stopped", status, code: code ?? undefined, reason };
}

/** @returns The gas limit to sign with, or why the contracts refuse the settlement. */
async function findGas(
  vault: VaultHost,
  { route, simulated, price }: Omit<Trial, "gas" | "stop">,
  next: NextBlock,
  at: BlockId = "latest",
): Promise<Gas | Stopped> {
  const { rpc, connection } = vault;
  const { networkConfig } = connection;
  const call = settlementCall(route);
  if (simulated === undefined) {
    const { gas: configured } = networkConfig;
    const most = configured === "auto" ? next.gasLimit : configured;
    const reverted = await tryCall(rpc, call, at, most);
    if (reverted !== undefined) {
      return stoppedBy(await explainRefusal(vault, reverted, route));
    }
  }
  const { gasNeeded: needed, simulation } = simulated ?? {};
  const { status, code = null, reason, gasUsed: used } = simulation ?? {};
  if (status === "reverted" || status === "nothing-to-do") {
    return stoppedBy({ code, reason: reason ?? "" });
  }
  const isKnown = typeof used === "bigint" && typeof needed === "bigint";
  const found = await resolveGas(
    rpc,
    networkConfig,
    { ...call, gasPrice: price.current },
    next,
    isKnown ? { used, needed } : undefined,
  );
  return "reverted" in found
    ? stoppedBy(await explainRefusal(vault, found.reverted, route))
    : found;
}

/** @throws VaultError why it is not to be sent, though the contracts accept it */
async function requireSendable(
  vault: VaultHost,
  { route, simulated, balance, price, gas }: Trial & Gas,
  { limits, tokens, engine, mustSettle }: TrialRules,
): Promise<undefined> {
  const { networkName: network } = vault;
  const { from, guard } = route;
  const { simulation, kept = [] } = simulated ?? {};
  // Another engine may show what stays in the guard, if this one cannot.
  const areNamed = tokens !== undefined || engine !== undefined;
  if (guard !== undefined && simulated === undefined && !areNamed) {
    const problem = "no engine can simulate a settlement";
    throw tokensNotKnown(vault, guard, problem);
  }
  if (guard !== undefined && kept.length > 0) {
    throw keepsTokens(vault, guard, kept);
  }
  if (gas < (simulation?.gasUsed ?? INTRINSIC_GAS)) {
    throw vaultError("VAULT_GAS_LIMIT_TOO_LOW", { network, gas });
  }
  requireWithin(network, price.current, price.fees, limits);
  if (mustSettle && simulation?.status === "not-settled") {
    const [contract, factory] = await Promise.all([
      vault.addressOf("vault", "settleAll"),
      vault.addressOf("vaultFactory", "getLatestRoundInfo"),
    ]);
    throw vaultError("VAULT_WOULD_NOT_SETTLE", {
      network,
      contract: contract.source,
      factory: factory.source,
    });
  }
  // Last: nothing is known of the funds of an account that is not.
  const cost = gas * price.highest;
  if (balance < cost) {
    const details = { from, network, balance, cost };
    throw vaultError("VAULT_INSUFFICIENT_FUNDS", details);
  }
  return undefined;
}

/** The error if nothing shows which tokens a settlement would leave in the guard. */
export function tokensNotKnown(
  { networkName: network }: VaultHost,
  { address: guard }: GuardedSettlement,
  problem: string,
): VaultError {
  return vaultError("VAULT_TOKENS_NOT_KNOWN", { network, guard, problem });
}

/** A settlement to agree to. */
export type Proposal = Trial & {
  readonly signer: Signer;
  readonly current: CurrentRound;
  /** Milliseconds by the wall clock before it was simulated. */
  readonly since: number;
  readonly preflight: SettlementPreflight;
};

/** A proposal that was agreed to. */
export type Agreed = Extract<Proposal, { readonly stop?: undefined }>;

/** Tries the settlement, and makes what is shown of it. Sends nothing. */
export async function propose(
  vault: VaultHost,
  { signer, route, current }: Pick<Proposal, "signer" | "route" | "current">,
  { limits, tokens, confirm, partial }: ParsedOptions,
): Promise<Proposal> {
  const since = Date.now();
  const { chainId, contract, round, next } = current;
  const isUnattended = confirm === undefined;
  // Only a person may agree to one that leaves the round open.
  const mustSettle = isUnattended && partial !== true;
  const rules = { limits, tokens, mustSettle };
  const trial = await trySettlement(vault, route, next, rules);
  const { simulated, balance, gas, price, stop } = trial;
  const preview = simulated?.simulation ?? null;
  const moved = (preview?.transfers ?? []).map(({ token }) => token);
  const preflight: SettlementPreflight = {
    chainId,
    chainTime: next.timestamp,
    round,
    contract,
    from: signer.address,
    signing: signer.kind,
    balance,
    guard: route.guard?.address ?? null,
    gas: gas ?? null,
    cost: gas === undefined ? null : gas * price.current,
    maxCost: gas === undefined ? null : gas * price.highest,
    outcome: gas === undefined ? "reverts" : "succeeds",
    reason: gas === undefined ? (stop?.reason ?? null) : null,
    preview,
    // Without a symbol, the address shows the token.
    tokens: await readTokens(vault, moved, next.base).catch(
      fallbackTo<SettlementPreflight["tokens"]>(new Map()),
    ),
  };
  return { ...trial, signer, current, since, preflight };
}

/** A preview that is older is made again before anything is signed: the chain has gone on. */
const OLD_MS = 15_000;

/**
 * Shows the settlement, and asks for confirmation. After a long answer it is tried again.
 *
 * @returns With the reason to stop, if nobody agrees or it cannot be sent.
 * @throws VaultError VAULT_PREVIEW_CHANGED if it is another settlement by then
 */
export async function agree(
  vault: VaultHost,
  proposal: Proposal,
  options: ParsedOptions,
): Promise<Proposal> {
  const stop = await ask(vault, proposal, options);
  const { current, preflight, since } = proposal;
  if (stop !== undefined) {
    return { ...proposal, stop };
  }
  if (Math.abs(Date.now() - since) <= OLD_MS) {
    return proposal;
  }
  const later = await readCurrentRound(vault);
  const { ifExpired } = options;
  const intended = { ifExpired, intended: current.round };
  const obstacle = await findObstacle(vault, later, intended);
  if (obstacle !== undefined) {
    return { ...proposal, stop: obstacle };
  }
  const newer = await propose(vault, { ...proposal, current: later }, options);
  if (newer.stop !== undefined) {
    return newer;
  }
  const { gas, price } = newer;
  const most = preflight.maxCost ?? gas * price.highest;
  if (preflight.preview?.status !== newer.preflight.preview?.status) {
    const change = "its outcome is another one now";
    throw vaultError("VAULT_PREVIEW_CHANGED", { change });
  }
  if (gas * price.current > most) {
    const change = `it costs ${gas * price.current} wei now, above the ${most} wei that were shown`;
    throw vaultError("VAULT_PREVIEW_CHANGED", { change });
  }
  return { ...newer, price: offerAtMost(price, most / gas), preflight };
}

/**
 * Emits the preflight, and asks for confirmation if the settlement can be sent.
 *
 * @returns Why it is not to be sent.
 */
async function ask(
  vault: VaultHost,
  { preflight, price, stop }: Proposal,
  { confirm, emit, limits }: ParsedOptions,
): Promise<Stopped | undefined> {
  if (stop?.status !== "nothing-to-do") {
    emit({ type: "preflight", preflight });
  }
  if (stop !== undefined) {
    return stop;
  }
  const isUnattended = confirm === undefined;
  if (isUnattended) {
    await requireFeeLimit(vault, price, limits);
    return undefined;
  }
  // JavaScript may return another type: only true confirms.
  const answer: unknown = await confirm(preflight);
  if (answer === true) {
    return undefined;
  }
  const refusal = refusedBy(
    VaultError.isVaultError(answer)
      ? answer
      : vaultError("VAULT_NOT_CONFIRMED", {}),
  );
  const isText = typeof answer === "string" && answer !== "";
  return isText ? { ...refusal, reason: answer } : refusal;
}
