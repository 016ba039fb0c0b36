import pLimit from "p-limit";
import type { LimitFunction } from "p-limit";

import type { KnownNode, RpcClient } from "../rpc/rpc-client.js";

const queues = new WeakMap<KnownNode, Map<string, LimitFunction>>();

/**
 * Runs what one account sends on a connection one after the other: its nonce is free only
 * once the transaction before is mined.
 *
 * @param task Gets true if it had to wait: what was read before is old by now.
 */
export async function inTurn<Result>(
  { node }: RpcClient,
  account: string,
  task: (hasWaited: boolean) => Promise<Result>,
): Promise<Result> {
  const ofNode = queues.get(node) ?? new Map<string, LimitFunction>();
  queues.set(node, ofNode);
  const key = account.toLowerCase();
  const queue = ofNode.get(key) ?? pLimit(1);
  ofNode.set(key, queue);
  const hasWaited = queue.activeCount + queue.pendingCount > 0;
  return await queue(async () => await task(hasWaited));
}
