import { fallbackTo, vaultError } from "../errors.js";
import { getNonce } from "../rpc/accounts.js";
import { isNodeRefusal } from "../rpc/errors.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import type { Journal } from "./journal.js";
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
    return await getNonce(rpc, address, "pending");
  }
  const [counted, pending] = await Promise.all([
    // A node that lags does not have that block, so it returns no outdated count. The
    // state may be pruned before a person has confirmed.
    getNonce(rpc, address, observed).catch(fallbackTo(0, isNodeRefusal)),
    getNonce(rpc, address, "pending"),
  ]);
  // Some may have been mined since.
  const mined =
    pending > counted
      ? Math.max(counted, await getNonce(rpc, address, "latest"))
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

/**
 * Refuses another account while an earlier settlement may still arrive: it would settle
 * the next round.
 *
 * @throws VaultError VAULT_ACCOUNT_MUST_WAIT, VAULT_INVALID_JOURNAL
 */
export async function refuseBeforeOther(
  rpc: RpcClient,
  journal: Journal,
  { address }: Signer,
): Promise<void> {
  const last = await journal.readFinished();
  const { from, nonce, hash } = last?.transactions.at(-1) ?? {};
  if (
    last?.mayStillArrive !== true ||
    from === undefined ||
    nonce === undefined ||
    from.toLowerCase() === address.toLowerCase() ||
    (await getNonce(rpc, from, "latest")) > nonce
  ) {
    return;
  }
  const transaction = hash ?? `with nonce ${nonce}, its hash not known`;
  throw vaultError("VAULT_ACCOUNT_MUST_WAIT", { from, nonce, transaction });
}
