import type { Chain, Receipt, SeenTransaction } from "./chain.js";
import type { PreparedTransaction } from "./transaction.js";

/** What the chain shows of a transaction. */
export type Sight =
  | { readonly kind: "mined"; readonly hash: string; readonly receipt: Receipt }
  /** In the node's pool. */
  | { readonly kind: "waiting"; readonly hash: string | undefined }
  /** Its nonce went to another transaction: it can never be mined. */
  | { readonly kind: "replaced"; readonly by: string | undefined }
  /** The node does not have it, and its nonce is free. */
  | { readonly kind: "unknown" };

export interface Sought extends PreparedTransaction {
  /** A block that cannot hold it, because it was not sent yet. */
  readonly sentAfterBlock: number;
}

/**
 * Looks for a transaction: by its hash where that is known, else by account
 * and nonce, which only one mined transaction can have.
 */
export async function look(chain: Chain, sought: Sought): Promise<Sight> {
  const { hash, from, nonce } = sought;
  const byHash = hash === undefined ? undefined : await lookByHash(chain, hash);
  if (byHash !== undefined) {
    return byHash;
  }
  if ((await chain.nonce(from, "latest")) <= nonce) {
    return hash === undefined
      ? await lookInPool(chain, sought)
      : { kind: "unknown" };
  }
  const winner = await findMined(chain, sought);
  // Raised fees in a wallet make another hash of the same settlement; and
  // a transaction mined since the first look is found here.
  if (winner !== undefined && isSameSettlement(winner, sought)) {
    const receipt = await chain.receipt(winner.hash);
    return receipt === undefined
      ? { kind: "waiting", hash: winner.hash }
      : { kind: "mined", hash: winner.hash, receipt };
  }
  return { kind: "replaced", by: winner?.hash };
}

async function lookByHash(
  chain: Chain,
  hash: string,
): Promise<Sight | undefined> {
  const receipt = await chain.receipt(hash);
  if (receipt !== undefined) {
    return { kind: "mined", hash, receipt };
  }
  return (await chain.transaction(hash)) === undefined
    ? undefined
    : { kind: "waiting", hash };
}

async function lookInPool(chain: Chain, sought: Sought): Promise<Sight> {
  if ((await chain.nonce(sought.from, "pending")) <= sought.nonce) {
    return { kind: "unknown" };
  }
  const found = (await chain.transactionsOf("pending")).find((transaction) =>
    isSameSettlement(transaction, sought),
  );
  return { kind: "waiting", hash: found?.hash };
}

/**
 * Finds the mined transaction that used the nonce, by halving the range of
 * blocks: an account's count only ever rises.
 */
async function findMined(
  chain: Chain,
  sought: Sought,
): Promise<SeenTransaction | undefined> {
  let before = sought.sentAfterBlock;
  let after = Number(await chain.quantity("eth_blockNumber"));
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if ((await chain.nonce(sought.from, middle)) > sought.nonce) {
      after = middle;
    } else {
      before = middle;
    }
  }
  return (await chain.transactionsOf(after)).find(
    (transaction) =>
      transaction.nonce === sought.nonce &&
      transaction.from === sought.from.toLowerCase(),
  );
}

function isSameSettlement(seen: SeenTransaction, sought: Sought): boolean {
  return (
    seen.from === sought.from.toLowerCase() &&
    seen.nonce === sought.nonce &&
    seen.to === sought.to.toLowerCase() &&
    seen.data === sought.data.toLowerCase()
  );
}
