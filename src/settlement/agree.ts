// Step 6 of a settlement: show it, ask, and look again after a long question.

import { VaultError, vaultError } from "../errors.js";
import { refusedBy } from "../guard/outcome.js";
import type { VaultHost } from "../host.js";
import { offerAtMost, requireFeeLimit } from "../sending/fees.js";
import { chooseNextBlock } from "../simulation/next-block.js";
import type { ParsedOptions } from "./options.js";
import { propose } from "./propose.js";
import type { Proposal, Terms } from "./propose.js";
import { Stop } from "./result.js";
import { findObstacle, readCurrent, wouldNotSettle } from "./state.js";
import type { SettlementPreflight } from "./types.js";

const OLD_PROPOSAL_MS = 15_000;
/** It is simulated in the next block, so one more block makes no difference. */
const MOST_BLOCKS = 1;

/** The terms that were agreed to, and the preflight that showed them. */
export interface Agreement extends Terms {
  readonly preflight: SettlementPreflight;
}

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
      return { ...terms, preflight };
    }
    const change = changeSince(preflight, newer.preflight);
    if (change === undefined) {
      return { ...termsWithin(termsOf(newer), preflight), preflight };
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
    if (preflight.preview?.status === "not-settled" && !partial) {
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
  const obstacle = await findObstacle(
    vault,
    newer,
    options.ifExpired,
    now.round,
  );
  if (obstacle !== undefined) {
    throw new Stop(obstacle);
  }
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
