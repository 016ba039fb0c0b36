import type { VaultHost } from "../host.js";
import type { SettlementRoute } from "../settlement-call/route.js";
import { offerAtMost } from "../settlement-call/fees.js";
import { findBlock } from "../settlement-call/next-block.js";
import type { TargetBlock } from "../settlement-call/next-block.js";
import { findObstacle, observe } from "./observe.js";
import type { Observation } from "./observe.js";
import { preview } from "./preview.js";
import type { Preview, Terms } from "./preview.js";
import type { Signer } from "./signer.js";
import type { Stopped } from "./outcome.js";
import type { Waiting } from "./waiting.js";

/** A preview, and the state that it was made on. */
export interface DatedPreview {
  readonly seen: Observation;
  readonly next: TargetBlock;
  readonly route: SettlementRoute;
  readonly found: Preview;
  /** Milliseconds by the wall clock before it was made. */
  readonly since: number;
}

const OLD_MS = 15_000;
/** The preview is of the next block, so one more block makes no difference. */
const MOST_BLOCKS = 1;

export async function makePreview(
  vault: VaultHost,
  signer: Signer,
  next: TargetBlock,
  seen: Observation,
  route: SettlementRoute,
  waiting: Waiting,
): Promise<DatedPreview | Stopped> {
  const since = Date.now();
  const found = await preview(vault, seen, signer, next, route, waiting);
  return "status" in found ? found : { seen, next, route, found, since };
}

/**
 * Simulates again if the preview is old by now.
 *
 * @returns Undefined if it is not; a stop if the round is another one, or settled.
 */
export async function renewPreview(
  vault: VaultHost,
  signer: Signer,
  { seen: { round }, next: before, route, since }: DatedPreview,
  waiting: Waiting,
): Promise<DatedPreview | Stopped | undefined> {
  const isOld = Math.abs(Date.now() - since) > OLD_MS;
  // If nobody was asked, no time has passed, and a request more would make it pass.
  if (waiting.isUnattended && !isOld) {
    return undefined;
  }
  const next = await findBlock(vault);
  if (!isOld && next.number - before.number <= MOST_BLOCKS) {
    return undefined;
  }
  const seen = await observe(vault, next.number - 1);
  const { ifExpired } = waiting;
  return (
    findObstacle(seen.round, round, ifExpired, next.timestamp) ??
    (await makePreview(vault, signer, next, seen, route, waiting))
  );
}

/** @returns The difference that a person has to agree to again, as a clause. */
export function changeSince(
  { shown: before }: Preview,
  { shown: after }: Preview,
): string | undefined {
  const [earlier, later] = [before, after].map(
    ({ outcome, reason, preview: simulation }) =>
      [outcome, reason, simulation?.status, simulation?.code].join(),
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
export function termsWithin(
  terms: Terms,
  { maxCost }: Preview["shown"],
): Terms {
  const { gas, price } = terms;
  return maxCost === null
    ? terms
    : { gas, price: offerAtMost(price, maxCost / gas) };
}
