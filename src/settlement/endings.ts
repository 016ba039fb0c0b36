import { vaultError } from "../errors.js";
import { refusedBy } from "./result.js";
import type { Stopped } from "./result.js";
import { depthOf } from "./sighting.js";
import type { History, NonceUser, Plan, Sighting } from "./sighting.js";
import { newestOf } from "./transaction.js";

/** Reason for a settlement of this process whose round is settled or another one. */
export function notSentAgain({ reason }: Stopped): string {
  return `${reason} The node does not have the transaction that was sent before, and it is not sent again.`;
}

/** The same for the settlement of an earlier process, which is given up. */
export function dropsFor(plan: Plan, obstacle: Stopped): string {
  const { from, nonce } = newestOf(plan);
  return `${notSentAgain(obstacle)} Should another node still have it, the next transaction of ${from}, with the same nonce ${nonce}, takes its place.`;
}

/** Reason for a settlement that the node does not have: its last error, if there was one. */
export function lostReason(
  plan: Plan,
  problem: string | undefined,
): Pick<Stopped, "status" | "code" | "reason"> {
  const { from, nonce } = newestOf(plan);
  return problem === undefined
    ? refusedBy(vaultError("VAULT_SETTLEMENT_LOST", { from, nonce }))
    : {
        status: "refused",
        code: "VAULT_RPC_ERROR",
        reason: `The node does not have the transaction, and answered it with an error: ${problem}`,
      };
}

/** Reason for a settlement whose nonce another transaction used. */
export function nonceUsedReason(plan: Plan, by: NonceUser | "nothing"): string {
  const { from, nonce } = newestOf(plan);
  const user =
    by === "nothing"
      ? `no transaction of ${from} has its nonce ${nonce}, which is used (an EIP-7702 authorization uses one, too)`
      : `transaction ${by.transaction.hash} of ${from} used its nonce ${nonce}`;
  return `It was replaced: ${user}, so it can never be mined.`;
}

/** Reason for a settlement whose time is over: what the last look saw. */
export function timeReason(
  plan: Plan,
  history: History,
  last: Sighting,
  hash: string | undefined,
): string {
  const { from, nonce } = newestOf(plan);
  const what = hash === undefined ? "the transaction" : `transaction ${hash}`;
  const state = [
    describeState(plan, history, last),
    describeReplacement(history, last),
  ]
    .filter((part) => part !== undefined)
    .map((part) => part.replace(/\.$/u, ""))
    .join("; ");
  return `The time is over for ${what} of ${from} with nonce ${nonce}: ${state}.`;
}

function describeState(
  { confirmations }: Plan,
  history: History,
  { transaction, head, round }: Sighting,
): string {
  switch (transaction.kind) {
    case "mined": {
      const { blockNumber } = transaction.receipt;
      return `it is in block ${blockNumber}, with ${depthOf(blockNumber, head)} of ${confirmations} confirmations`;
    }
    case "pending":
      return transaction.hash === undefined
        ? "a transaction with its nonce waits in the node's pool"
        : "it waits in the node's pool";
    case "used":
      return typeof transaction.by === "string"
        ? "its nonce is used, and by which transaction could not be seen"
        : `transaction ${transaction.by.transaction.hash} used its nonce, with ${depthOf(transaction.by.block, head)} of ${confirmations} confirmations`;
    case "unread":
      return transaction.problem;
    case "unknown": {
      const sent = history.findLast((one) => one.sent !== undefined)?.sent;
      const problem =
        round?.kind === "unread"
          ? `, and it could not be sent again: ${round.problem}`
          : round?.kind === "closed"
            ? round.obstacle.isEarly === true
              ? `, and it is not sent again: ${round.obstacle.reason}`
              : ", though it may be what settled the round"
            : sent === undefined || sent.kind === "accepted"
              ? ""
              : `, and sending it failed: ${sent.problem}`;
      return `the node does not have it${problem}`;
    }
  }
}

/** Returns the reason that it was not replaced, if it was to be. */
function describeReplacement(
  history: History,
  { round, transaction }: Sighting,
): string | undefined {
  const { replacement } =
    history.findLast((one) => one.replacement !== undefined) ?? {};
  if (replacement !== undefined && replacement.kind !== "made") {
    return replacement.problem;
  }
  return transaction.kind === "pending" && round?.kind === "closed"
    ? notBumped(round.obstacle.reason)
    : undefined;
}

export function notBumped(reason: string): string {
  return `the transaction is not replaced at a higher fee: ${reason}`;
}
