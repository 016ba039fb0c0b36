import { vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { follow } from "./follow.js";
import { Journal } from "./journal.js";
import { observe } from "./observe.js";
import { describeFinished, withGuard } from "./report.js";
import type { Ended } from "./report.js";
import { refusalOf, stopped } from "./stopped.js";
import type { Waiting } from "./waiting.js";

/** Follows the transaction of an earlier process. */
export async function resume(
  vault: VaultHost,
  waiting: Waiting,
): Promise<Ended> {
  try {
    const { chainId, contract, block, round } = await observe(vault, "latest");
    const journal = await Journal.open(vault, chainId, contract.address);
    const entry = await journal.read();
    if (entry !== undefined) {
      const { hash = null, nonce } = entry.transaction;
      waiting.emit({ type: "resuming", hash, nonce });
      const end = await follow(vault, journal, entry, "find", waiting, null);
      return withGuard({ block, ...end }, entry.guard ?? null);
    }
    const last = await journal.read("finished");
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
    return await stopped(refusalOf(error), vault, undefined, null);
  }
}
