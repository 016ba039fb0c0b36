import { fallbackTo, hasErrorCode, vaultError } from "../errors.js";
import { toBlockId } from "../rpc/block-id.js";
import type { BlockId } from "../rpc/block-id.js";
import { getBlock } from "../rpc/blocks.js";
import { isRefusal } from "../rpc/errors.js";
import type { RpcClient } from "../rpc/rpc-client.js";

/**
 * Makes a request at a block. If the node refuses it, finds out if the block's state is
 * missing: a node without an archive has the block, answers the same request at the
 * newest block, but has no older state. Nodes have no common words for this.
 *
 * @throws VaultError VAULT_ARCHIVE_NODE_NEEDED, VAULT_BLOCK_NOT_FOUND, else the error of
 * the request
 */
export async function requestAtBlock<Answer>(
  rpc: RpcClient,
  block: BlockId,
  request: (block: BlockId) => Promise<Answer>,
): Promise<Answer> {
  const isFixed =
    block === "earliest" || !Number.isNaN(Number(toBlockId(block)));
  return await request(block).catch(async (refusal: unknown) => {
    // VAULT_BLOCK_NOT_FOUND is no refusal: it is thrown.
    const orRefused = fallbackTo(undefined, isRefusal);
    const header =
      isFixed && hasErrorCode(refusal, "VAULT_RPC_ERROR")
        ? await getBlock(rpc, block).catch(orRefused)
        : undefined;
    if (
      header === undefined ||
      (await request("latest").then(() => true, orRefused)) !== true
    ) {
      throw refusal;
    }
    // The first refusal may have had another cause, which has passed.
    return await request(block).catch((again: unknown) => {
      if (!hasErrorCode(again, "VAULT_RPC_ERROR")) {
        throw again;
      }
      const { network } = rpc;
      const problem = String(again.details["problem"]);
      const details = { network, block: header.number, problem };
      throw vaultError("VAULT_ARCHIVE_NODE_NEEDED", details, again);
    });
  });
}
