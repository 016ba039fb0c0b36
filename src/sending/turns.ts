import pLimit from "p-limit";

import type { RpcClient } from "../rpc/rpc-client.js";

/**
 * Runs what one account sends on a connection one after the other: its nonce is free only
 * once the transaction before is mined.
 */
export async function inTurn<Result>(
  { node }: RpcClient,
  account: string,
  task: () => Promise<Result>,
): Promise<Result> {
  const key = account.toLowerCase();
  const queue = node.senders.get(key) ?? pLimit(1);
  node.senders.set(key, queue);
  return await queue(task);
}
