import { getNonce } from "../rpc/accounts.js";
import { getBlockNumber } from "../rpc/blocks.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import { findTransaction } from "./find-transaction.js";
import type { Scan, SentWithNonce } from "./find-transaction.js";
import type { CheckRound } from "./last-look.js";
import { describeProblem } from "./send.js";
import type { RoundSighting, Sighting } from "./sighting.js";

/** Result of one look. */
export type Seen = Pick<Sighting, "transaction" | "head" | "round" | "scan">;

/** Looks at the chain once. Never throws: what fails is part of what is seen. */
export async function look(
  rpc: RpcClient,
  sent: SentWithNonce,
  scan: Scan | undefined,
  checkRound: CheckRound,
  readRound: boolean,
): Promise<Seen> {
  try {
    const head = sent.confirmations > 1 ? await getBlockNumber(rpc) : undefined;
    let found = await findTransaction(rpc, sent, scan);
    const isUnknown = found.transaction.kind === "unknown";
    const { kind } = sent.transactions.at(-1) ?? sent.transactions[0];
    if (!readRound && (!isUnknown || kind === "cancellation")) {
      return { ...found, head };
    }
    const round = await lookAtRound(rpc, sent, checkRound);
    if (round.kind === "closed" && isUnknown) {
      // Searched after the round was read: a transaction that is not there did not
      // settle it.
      found = await findTransaction(rpc, sent, found.scan);
    }
    return { ...found, head, round };
  } catch (error) {
    const problem = describeProblem(error);
    return { transaction: { kind: "unread", problem } };
  }
}

async function lookAtRound(
  rpc: RpcClient,
  { transactions: [{ from, nonce }] }: SentWithNonce,
  checkRound: CheckRound,
): Promise<RoundSighting> {
  const askedAt = Date.now();
  try {
    const { obstacle, answeredAt } = await checkRound();
    if (obstacle === undefined) {
      return { kind: "open", askedAt, answeredAt };
    }
    const head = await getBlockNumber(rpc);
    // If its nonce is used at that block, this transaction may have settled the round:
    // the node may not find it by its hash yet.
    const isNonceFree =
      (await checkRound(head)).obstacle !== undefined &&
      (await getNonce(rpc, from, head)) <= nonce;
    return { kind: "closed", obstacle, isNonceFree };
  } catch (error) {
    return { kind: "unread", problem: describeProblem(error) };
  }
}
