import type { VaultHost } from "../host.js";
import { describeRound, isSameRound } from "../protocol/round.js";
import { Journal } from "./journal.js";
import type { JournalEntry } from "./journal.js";
import { observe } from "./observe.js";
import type { Observation } from "./observe.js";
import { outcome } from "./report.js";
import { refusal } from "./stopped.js";
import type { Settlement } from "./types.js";

/** The settlement that the journal has. */
export interface Interrupted extends Observation {
  readonly journal: Journal;
  readonly entry: JournalEntry;
}

/**
 * Finds the settlement to take up.
 *
 * @throws SettlementStopped if there is none
 * @throws VaultError VAULT_INVALID_JOURNAL, VAULT_WRONG_CHAIN,
 * VAULT_CONTRACT_NOT_CONFIGURED and those of a failed request
 */
export async function findInterrupted(vault: VaultHost): Promise<Interrupted> {
  const seen = await observe(vault, "latest");
  const { address } = seen.contract;
  const journal = await Journal.open(vault, seen.chainId, address);
  const entry = await journal?.read();
  if (journal === undefined || entry === undefined) {
    throw refusal("VAULT_NOTHING_TO_RESUME", {
      vault: address,
      network: vault.networkName,
      file: journal?.file ?? "in process there is no journal",
    });
  }
  return { ...seen, journal, entry };
}

/** A settlement whose outcome was known before, and the round that is current now. */
export function describeFinished({
  entry: { round, status, blockNumber, transaction },
  round: current,
}: Interrupted): Settlement {
  const end =
    blockNumber === undefined
      ? "without a transaction that was mined"
      : `${status} in block ${blockNumber}`;
  const now = isSameRound(round, current)
    ? "It is the current round still"
    : `The current round is ${describeRound(current)}`;
  const settled = current.settled ? "settled" : "not settled";
  return outcome(
    {
      status: "nothing-to-do",
      reason: `The settlement of ${describeRound(round)} is finished: ${end}. ${now}, ${settled}.`,
      hash: blockNumber === undefined ? undefined : transaction.hash,
      blockNumber,
    },
    round,
    null,
  );
}
