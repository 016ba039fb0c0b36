import type { Stopped } from "../settlement-call/outcome.js";
import { refusedBy } from "../settlement-call/outcome.js";
import { vaultError } from "../errors.js";
import { depthOf } from "./sighting.js";
import type { NonceUser, RoundSighting } from "./sighting.js";
import type { Plan, State } from "./state.js";
import { newestOf } from "./transaction.js";

/** Reason for a settlement of this process whose round is settled or another one. */
export function notSentAgain({ reason }: Stopped): string {
  return `${reason} The node does not have the transaction that was sent before, and it is not sent again.`;
}

/** The same for the settlement of an earlier process, which is given up. */
export function dropsFor(state: State, obstacle: Stopped): string {
  const { from, nonce } = newestOf(state);
  return `${notSentAgain(obstacle)} Should another node still have it, the next transaction of ${from}, with the same nonce ${nonce}, takes its place.`;
}

/** Reason for a settlement that the node does not have: its last error, if there was one. */
export function lostReason(
  state: State,
  problem: string | undefined,
): Pick<Stopped, "status" | "code" | "reason"> {
  const { from, nonce } = newestOf(state);
  return problem === undefined
    ? refusedBy(vaultError("VAULT_SETTLEMENT_LOST", { from, nonce }))
    : {
        status: "refused",
        code: "VAULT_RPC_ERROR",
        reason: `The node does not have the transaction, and answered it with an error: ${problem}`,
      };
}

/** Reason for a settlement whose nonce another transaction used. */
export function nonceUsedReason(
  state: State,
  by: NonceUser | "nothing",
): string {
  const { from, nonce } = newestOf(state);
  const user =
    by === "nothing"
      ? `no transaction of ${from} has its nonce ${nonce}, which is used (an EIP-7702 authorization uses one, too)`
      : `transaction ${by.transaction.hash} of ${from} used its nonce ${nonce}`;
  return `It was replaced: ${user}, so it can never be mined.`;
}

/** The time was over before the round could be read. */
export function neverSent(
  network: string,
  round: RoundSighting | undefined,
): Stopped {
  const { code, shortMessage } =
    round?.kind === "unread" && round.error !== undefined
      ? round.error
      : vaultError("VAULT_RPC_TIMEOUT", { network, method: "eth_call" });
  const reason = `The round could not be read in time, so nothing was sent: ${shortMessage}`;
  return { kind: "stopped", status: "refused", code, reason };
}

/** Reason for a settlement whose time is over: what the last look saw. */
export function timeReason(
  plan: Plan,
  state: State,
  hash: string | undefined,
): string {
  const { from, nonce } = newestOf(state);
  const what = hash === undefined ? "the transaction" : `transaction ${hash}`;
  const { tried } = state.replacement ?? {};
  const parts = [
    describeState(plan, state),
    ...(tried === undefined || tried.kind === "made" ? [] : [tried.problem]),
  ].map((part) => part.replace(/\.$/u, ""));
  return `The time is over for ${what} of ${from} with nonce ${nonce}: ${parts.join("; ")}.`;
}

function describeState(
  { confirmations }: Plan,
  { transaction, head, round, answer }: State,
): string {
  switch (transaction?.kind) {
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
    default: {
      const problem =
        round?.kind === "unread"
          ? `, and it could not be sent again: ${round.problem}`
          : round?.kind === "closed"
            ? round.obstacle.isEarly === true
              ? `, and it is not sent again: ${round.obstacle.reason}`
              : ", though it may be what settled the round"
            : answer === undefined || answer.kind === "accepted"
              ? ""
              : `, and sending it failed: ${answer.problem}`;
      return `the node does not have it${problem}`;
    }
  }
}

export function notBumped(reason: string): string {
  return `the transaction is not replaced at a higher fee: ${reason}`;
}
