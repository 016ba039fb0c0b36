import type { VaultHost } from "../host.js";
import { listProjectFiles } from "../files/project-file.js";
import type { Hex } from "../protocol/index.js";
import { describeTime } from "../protocol/index.js";
import { Journal } from "../sending/journal.js";
import { newestOf } from "../sending/transaction.js";

/** A settlement of this project whose outcome is not known yet. */
export interface UnfinishedSettlement {
  /** Null if the node or the wallet signs, and has not returned it. */
  readonly hash: Hex | null;
  readonly nonce: number;
  /** Time at which it was written down, Unix seconds; null in older journals. */
  readonly since: number | null;
}

/**
 * Reads the journal of the vault.
 *
 * @returns Null if no settlement is under way.
 * @throws VaultError VAULT_CONTRACT_NOT_CONFIGURED, VAULT_INVALID_JOURNAL
 */
export async function findUnfinished(
  vault: VaultHost,
): Promise<UnfinishedSettlement | null> {
  const { address } = await vault.addressOf("vault", "settleAll");
  if (!(await hasJournal(vault, address))) {
    return null;
  }
  const journal = await Journal.of(vault, await vault.chainId(), address);
  const entry = await journal.read();
  if (entry === undefined) {
    return null;
  }
  const { hash = null, nonce } = newestOf(entry);
  const { since = null } = entry;
  return { hash, nonce, since };
}

/** Without a journal of any chain, the node need not be asked which chain it is on. */
async function hasJournal(vault: VaultHost, address: string): Promise<boolean> {
  const end = `-${address.toLowerCase()}.json`;
  const names = await listProjectFiles(vault.context.config.paths.root);
  return names.some(
    (name) => name.startsWith("settlement-") && name.endsWith(end),
  );
}

/** Hash and age. @param now Unix seconds of this machine's clock. */
export function describeUnfinished(
  { hash, nonce, since }: UnfinishedSettlement,
  now = Math.floor(Date.now() / 1_000),
): string {
  const what = hash ?? `nonce ${nonce}, its hash not known`;
  const age =
    since === null
      ? "its age is not known"
      : `${Math.max(0, now - since)} s old, since ${describeTime(BigInt(since))}`;
  return `${what}, ${age}`;
}
