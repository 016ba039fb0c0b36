import type { Stopped } from "../guard/outcome.js";
import { obstacleIn, refusedBy } from "../guard/outcome.js";
import { VaultError, vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { offerAtMost, requireFeeLimit } from "../sending/fees.js";
import { chooseNextBlock } from "../simulation/next-block.js";
import type { SettlementRoute } from "../guard/call.js";
import { endTime, staleHead } from "./head-age.js";
import { observe } from "./observe.js";
import type { ParsedOptions } from "./options.js";
import { propose } from "./propose.js";
import type { Proposal, Terms } from "./propose.js";
import type { Signer } from "../sending/signer.js";
import type { SettlementPreflight } from "./types.js";

const OLD_PROPOSAL_MS = 15_000;
/** It is simulated in the next block, so one more block makes no difference. */
const MOST_BLOCKS = 1;

/** The terms that were agreed to, and the preflight that showed them. */
export interface Agreement extends Terms {
  /** With the tokens that a guard on it forwards. */
  readonly route: SettlementRoute;
  readonly preflight: SettlementPreflight;
}

/**
 * Asks for confirmation, and once more if the settlement is another one by then.
 *
 * @throws VaultError VAULT_PREVIEW_CHANGED if nobody can be asked, or after two answers
 */
export async function agree(
  vault: VaultHost,
  signer: Signer,
  first: Proposal,
  options: ParsedOptions,
): Promise<Stopped | Agreement> {
  let proposal = first;
  for (let isRepeated = false; ; isRepeated = true) {
    const { preflight } = proposal;
    const answer = await ask(vault, proposal, options);
    if (answer.kind === "stopped") {
      return answer;
    }
    const newer = await proposeAgain(vault, signer, proposal, options);
    if (newer === undefined) {
      return { ...answer, preflight, route: proposal.route };
    }
    if (newer.kind === "stopped") {
      return newer;
    }
    const change = changeSince(preflight, newer.preflight);
    const { verdict } = newer;
    if (change === undefined) {
      return verdict.kind === "stopped"
        ? verdict
        : {
            ...termsWithin(verdict, preflight),
            preflight,
            route: newer.route,
          };
    }
    if (options.confirm === undefined || isRepeated) {
      throw vaultError("VAULT_PREVIEW_CHANGED", { change });
    }
    proposal = newer;
  }
}

/** Emits the preflight, and asks for confirmation if the settlement can succeed. */
async function ask(
  vault: VaultHost,
  proposal: Proposal,
  options: ParsedOptions,
): Promise<Terms | Stopped> {
  const { preflight, verdict } = proposal;
  const { confirm, emit } = options;
  emit({ type: "preflight", preflight });
  if (verdict.kind === "stopped") {
    return verdict;
  }
  const { from, balance, maxCost: cost } = preflight;
  if (cost !== null && balance < cost) {
    const args = { from, network: vault.networkName, balance, cost };
    throw vaultError("VAULT_INSUFFICIENT_FUNDS", args);
  }
  if (confirm === undefined) {
    await refuseUnattended(vault, proposal, verdict, options);
    return verdict;
  }
  // JavaScript may return another type: only true confirms.
  const answer: unknown = await confirm(preflight);
  if (answer === true) {
    return verdict;
  }
  const refusal = refusedBy(
    VaultError.isVaultError(answer)
      ? answer
      : vaultError("VAULT_NOT_CONFIRMED", {}),
  );
  return typeof answer === "string" && answer !== ""
    ? { ...refusal, reason: answer }
    : refusal;
}

/** Refuses what only a person may agree to. */
async function refuseUnattended(
  vault: VaultHost,
  { observation, preflight }: Proposal,
  { price }: Terms,
  options: ParsedOptions,
): Promise<void> {
  const { networkName: network } = vault;
  // Without a preview, the plain call decides, which succeeded.
  if (preflight.preview?.status === "not-settled" && !options.partial) {
    const factory = await vault.addressOf("vaultFactory", "getLatestRoundInfo");
    throw vaultError("VAULT_WOULD_NOT_SETTLE", {
      network,
      contract: preflight.contract.source,
      factory: factory.source,
    });
  }
  if (preflight.headAge !== null) {
    throw staleHead(vault, observation.block.number, preflight.headAge);
  }
  await requireFeeLimit(vault, price, options.limits);
}

/**
 * Makes the proposal again if it is old by now.
 *
 * @returns Undefined if it is not; a stop if the round is another one, or settled.
 */
async function proposeAgain(
  vault: VaultHost,
  signer: Signer,
  { observation: { round }, next: before, route, since }: Proposal,
  options: ParsedOptions,
): Promise<Proposal | Stopped | undefined> {
  const isOld = Math.abs(Date.now() - since) > OLD_PROPOSAL_MS;
  // If nobody was asked, no time has passed, and a request more would make it pass.
  if (options.confirm === undefined && !isOld) {
    return undefined;
  }
  const next = await chooseNextBlock(vault);
  if (!isOld && next.number - before.number <= MOST_BLOCKS) {
    return undefined;
  }
  const observation = await observe(
    vault.pinnedTo(next.latest),
    next.latest.number,
  );
  const { round: current } = observation;
  const time = await endTime(vault, next.latest, next);
  const { ifExpired } = options;
  return (
    obstacleIn(current, { intended: round, ifExpired, time }) ??
    (await propose(vault, signer, next, observation, route, options))
  );
}

/** @returns The difference that a person has to agree to again, as a clause. */
function changeSince(
  before: SettlementPreflight,
  after: SettlementPreflight,
): string | undefined {
  const [earlier, later] = [before, after].map(
    ({ outcome, preview: simulation }) =>
      [outcome, simulation?.status, simulation?.code].join(),
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
function termsWithin(terms: Terms, { maxCost }: SettlementPreflight): Terms {
  const { gas, price } = terms;
  return maxCost === null
    ? terms
    : { ...terms, price: offerAtMost(price, maxCost / gas) };
}
