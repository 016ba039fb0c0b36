import { fallbackTo, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { getBlock } from "../rpc/blocks.js";
import { isRefusedAnyhow } from "../rpc/errors.js";
import type { RpcClient } from "../rpc/rpc-client.js";

/**
 * Explains a refusal at a block by what a node without an archive does: it has the
 * block, answers the same request at the newest block, but has no older state. Nodes
 * have no common words for this.
 *
 * @param atLatest Makes the refused request at the newest block.
 * @returns VAULT_ARCHIVE_NODE_NEEDED, else the refusal itself.
 */
export async function explainMissingState(
  rpc: RpcClient,
  refusal: VaultError,
  block: number,
  atLatest: () => Promise<unknown>,
): Promise<VaultError> {
  const succeeds = async (request: Promise<unknown>): Promise<boolean> =>
    await request.then(
      () => true,
      fallbackTo(
        false,
        (error) =>
          error.code === "VAULT_BLOCK_NOT_FOUND" || isRefusedAnyhow(error),
      ),
    );
  if (
    !(await succeeds(getBlock(rpc, block))) ||
    !(await succeeds(atLatest()))
  ) {
    return refusal;
  }
  const { network } = rpc;
  const problem = String(refusal.details["problem"]);
  const details = { network, block, problem, hint: "", cliHint: "" };
  return vaultError("VAULT_ARCHIVE_NODE_NEEDED", details, refusal);
}
