import { VaultError, vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { Journal, JournalEntry } from "./journal.js";
import { checkRound, refusedBy } from "./observe.js";
import type { Preview, Terms } from "./preview.js";
import type { SettleAllOptions, Stop } from "./types.js";
import type { Waiting } from "./waiting.js";

/** Emits the preflight, and asks for confirmation if the settlement can succeed. */
export async function agree(
  { networkName: network }: VaultHost,
  { shown, terms }: Preview,
  { emit }: Waiting,
  { confirm }: SettleAllOptions,
): Promise<Terms | Stop> {
  emit({ type: "preflight", preflight: shown });
  if ("status" in terms) {
    return terms;
  }
  const { from, balance, maxCost: cost } = shown;
  if (cost !== null && balance < cost) {
    const args = { from, network, balance, cost };
    throw vaultError("VAULT_INSUFFICIENT_FUNDS", args);
  }
  // JavaScript may return another type: only true confirms.
  const answer: unknown = confirm === undefined ? true : await confirm(shown);
  if (answer === true) {
    return terms;
  }
  const refusal = refusedBy(
    VaultError.isVaultError(answer)
      ? answer
      : vaultError("VAULT_NOT_CONFIRMED", {}),
  );
  return typeof answer === "string" && answer !== ""
    ? { ...refusal, reason: answer }
    : refusal;
}

export async function recheckRound(
  vault: VaultHost,
  journal: Journal,
  entry: JournalEntry,
  { ifExpired }: Waiting,
): Promise<Stop | undefined> {
  let isClear = false;
  try {
    const obstacle = await checkRound(vault, entry.round, ifExpired);
    isClear = obstacle === undefined;
    return obstacle;
  } finally {
    if (!isClear) {
      // Nothing has left, so there is nothing to resume.
      await journal.update(entry, true);
    }
  }
}
