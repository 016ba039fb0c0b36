import { depthOf } from "./sighting.js";
import type { Plan, Sighting } from "./sighting.js";
import type { SettlementEvent } from "./types.js";

/** Returns the events of the latest sighting: what is new since the one before. */
export function newsOf(
  { confirmations }: Pick<Plan, "confirmations">,
  history: readonly Sighting[],
): readonly SettlementEvent[] {
  const [before, now] = [history.at(-2), history.at(-1)];
  if (now === undefined) {
    return [];
  }
  // A look that failed changes nothing.
  const known = history
    .slice(0, -1)
    .findLast(({ transaction: { kind } }) => kind !== "unread");
  const was = known?.transaction;
  const is = now.transaction;
  const events: SettlementEvent[] = [];
  const warn = (message: string): void => {
    events.push({ type: "trouble", message });
  };
  if (is.kind === "unread") {
    if (before?.transaction.kind !== "unread") {
      warn(is.problem);
    }
    return events;
  }
  if (now.round?.kind === "unread" && before?.round?.kind !== "unread") {
    warn(now.round.problem);
  }
  const isReorged =
    was?.kind === "mined" &&
    (is.kind !== "mined" || is.receipt.blockHash !== was.receipt.blockHash);
  if (isReorged) {
    const { blockNumber } = was.receipt;
    warn(`a re-org took the transaction out of block ${blockNumber}`);
  }
  if (
    is.kind === "unknown" &&
    (was?.kind === "pending" || was?.kind === "mined")
  ) {
    warn("the node dropped the transaction");
  }
  if (is.kind !== "mined") {
    return events;
  }
  const { hash, receipt } = is;
  const { blockNumber } = receipt;
  const isKnown = was?.kind === "mined" && !isReorged;
  if (!isKnown) {
    events.push({ type: "mined", hash, blockNumber });
  }
  const countOf = (sighting: Sighting | undefined): number =>
    Math.min(depthOf(blockNumber, sighting?.head), confirmations);
  if (confirmations > 1 && (!isKnown || countOf(now) > countOf(known))) {
    const [count, wanted] = [countOf(now), confirmations];
    events.push({ type: "confirmed", hash, confirmations: count, wanted });
  }
  return events;
}

/** Returns the failure of a send or a replacement. */
export function problemOf({
  sent,
  replacement,
}: Pick<Sighting, "sent" | "replacement">): string | undefined {
  if (replacement !== undefined && replacement.kind !== "made") {
    return replacement.problem;
  }
  return sent === undefined || sent.kind === "accepted"
    ? undefined
    : sent.kind === "error"
      ? `the node answered the transaction with an error (${sent.problem}); looking for it`
      : `the answer to sending was lost (${sent.problem}); looking for the transaction`;
}
