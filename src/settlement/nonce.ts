import { fallbackTo, vaultError } from "../errors.js";
import { isNodeRefusal } from "../rpc/errors.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import type { Signer } from "./signer.js";

/**
 * Returns the account's next nonce. Refuses pending transactions: the settlement would
 * wait behind them, and one of them may be a settlement.
 */
export async function findFreeNonce(
  rpc: RpcClient,
  { address, kind }: Signer,
  observed: number,
): Promise<number> {
  if (kind === "in-process") {
    return await rpc.nonce(address, "pending");
  }
  const [counted, pending] = await Promise.all([
    // A node that lags does not have that block, so it returns no outdated count. The
    // state may be pruned before a person has confirmed.
    rpc.nonce(address, observed).catch(fallbackTo(0, isNodeRefusal)),
    rpc.nonce(address, "pending"),
  ]);
  // Some may have been mined since.
  const mined =
    pending > counted
      ? Math.max(counted, await rpc.nonce(address, "latest"))
      : counted;
  if (pending > mined) {
    throw vaultError("VAULT_PENDING_TRANSACTIONS", {
      from: address,
      network: rpc.network,
      count: pending - mined,
      nonce: mined,
    });
  }
  return mined;
}
