import { listProjectFiles } from "../files/project-file.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import { Journal } from "../sending/journal.js";
import type { JournalEntry } from "../sending/journal.js";

/**
 * Reads the finished journal of the vault, which is the memory of paid reverts.
 *
 * @returns The last settlement if it was of this round, was mined, and reverted: an
 * unattended run then refuses with VAULT_REVERTED_BEFORE.
 */
export async function findRevertedBefore(
  vault: VaultHost,
  round: VaultRound,
): Promise<JournalEntry["mined"]> {
  const { address } = await vault.addressOf("vault", "settleAll");
  const end = `-${address.toLowerCase()}.finished.json`;
  const names = await listProjectFiles(vault.context.config.paths.root);
  // Without one of any chain, the node need not be asked which chain it is on.
  if (!names.some((name) => name.endsWith(end))) {
    return undefined;
  }
  const journal = await Journal.of(vault, await vault.chainId(), address);
  return await journal.findReverted(round);
}
