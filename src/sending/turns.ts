import pLimit from "p-limit";

import type { RpcClient } from "../rpc/rpc-client.js";

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
  const key = account.toLowerCase();
  const queue = node.senders.get(key) ?? pLimit(1);
  node.senders.set(key, queue);
  const hasWaited = queue.activeCount + queue.pendingCount > 0;
  return await queue(async () => await task(hasWaited));
}
