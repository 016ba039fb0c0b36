import { hasErrorCode } from "../errors.js";
import type { VaultError } from "../errors.js";
import { toBlockId } from "./block-id.js";
import type { BlockId, PinnedBlock } from "./block-id.js";
import { getBlock } from "./blocks.js";
import { isRefusal } from "./errors.js";
import { usualRetries } from "./retry.js";
import type { RpcClient } from "./rpc-client.js";

/**
 * Sends a request at a block. A pinned block is named by its hash if the node takes one, else
 * by its number: then {@link readOnBranch} shows that all answers are of one branch.
 *
 * @param send Gets the block as JSON-RPC names it.
 * @throws VaultError VAULT_REORGED if the node has another block with that number
 */
export async function requestAt<Answer>(
  rpc: RpcClient,
  block: BlockId,
  send: (block: unknown) => Promise<Answer>,
): Promise<Answer> {
  const { node } = rpc;
  if (
    typeof block !== "object" ||
    block.hash === undefined ||
    node.takesHashes === false ||
    node.readByNumber === block.hash
  ) {
    return await send(toBlockId(block));
  }
  const isKnown = node.takesHashes === true;
  try {
    const answer = await send({
      blockHash: block.hash,
      requireCanonical: true,
    });
    // Not for a node that has refused one: its answers by number have to be compared.
    node.takesHashes ??= true;
    return answer;
  } catch (error) {
    if (!isRefusal(error)) {
      throw error;
    }
    await requireSameBranch(rpc, block);
    if (isKnown) {
      throw error;
    }
    const answer = await send(toBlockId(block));
    // One that lacks this block may take the hash of another.
    if (error.details["kind"] === "behind" || node.takesHashes === true) {
      node.readByNumber = block.hash;
    } else {
      node.takesHashes = false;
    }
    return answer;
  }
}

/**
 * Makes reads at a pinned block. Each answer to its hash is of its branch. Of a node that
 * takes only its number, the hash is compared once, after the last answer.
 *
 * @throws VaultError VAULT_REORGED if the chain has replaced the block
 */
export async function readOnBranch<Answer>(
  rpc: RpcClient,
  pin: PinnedBlock,
  reads: () => Promise<Answer>,
): Promise<Answer> {
  const answer = await reads();
  const { takesHashes, readByNumber } = rpc.node;
  if (takesHashes !== true || readByNumber === pin.hash) {
    await requireSameBranch(rpc, pin);
  }
  return answer;
}

/** @throws VaultError VAULT_REORGED if the chain has replaced the block */
export async function requireSameBranch(
  rpc: RpcClient,
  pin: PinnedBlock,
): Promise<void> {
  if (pin.hash !== undefined) {
    // However few retries the reads have: another node behind the URL may have the block.
    await getBlock(rpc.withRetries(usualRetries), pin);
  }
}

export function isReorganised(
  error: unknown,
): error is VaultError & { readonly code: "VAULT_REORGED" } {
  return hasErrorCode(error, "VAULT_REORGED");
}
