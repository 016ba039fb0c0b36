import { vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { follow } from "./follow.js";
import { Journal } from "./journal.js";
import { observe } from "./observe.js";
import { replacerOf, requireReplaceable } from "./replace.js";
import type { RequestedReplacement } from "./replace.js";
import { describeFinished, refusalOf, stopped, withGuard } from "./result.js";
import type { SettlementResult } from "./result.js";
import type { Waiting } from "./waiting.js";

/** Follows the transaction of an earlier process, or replaces it. */
export async function resume(
  vault: VaultHost,
  waiting: Waiting,
  request?: RequestedReplacement,
): Promise<SettlementResult> {
  let sent: string | undefined;
  try {
    const { chainId, contract, block, round } = await observe(vault, "latest");
    const journal = await Journal.open(vault, chainId, contract.address);
    // The connection may have been made to another node.
    await journal.requireSameKind(vault);
    const open = await journal.read();
    // A finished one that may still arrive is replaced, too.
    const entry =
      open ?? (request === undefined ? undefined : await journal.toReopen());
    if (entry !== undefined) {
      const { hash, nonce } =
        entry.transactions.at(-1) ?? entry.transactions[0];
      sent = hash;
      const replacer = replacerOf(vault, entry, waiting.limits);
      if (request !== undefined) {
        await requireReplaceable(entry, replacer);
      }
      if (open === undefined) {
        await journal.begin(entry);
      }
      waiting.emit({ type: "resuming", hash: hash ?? null, nonce });
      const followed = { journal, entry, replacer, request, previewed: null };
      const end = await follow(vault, { ...followed, start: "find" }, waiting);
      return { block, ...end };
    }
    const last = await journal.readFinished();
    if (last === undefined) {
      throw vaultError("VAULT_NOTHING_TO_RESUME", {
        vault: contract.address,
        network: vault.networkName,
        file: journal.isKept ? journal.file : "in process there is no journal",
      });
    }
    const settlement = describeFinished(last, round);
    const ended = { settlement, isFinal: true, chainId, block };
    return withGuard(ended, last.guard ?? null);
  } catch (error) {
    const refusal = refusalOf(error);
    const hash = refusal.hash ?? sent;
    return await stopped({ ...refusal, hash }, vault, undefined, null);
  }
}
