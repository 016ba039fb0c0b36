import { vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { describeRound, isSameRound } from "../protocol/round.js";
import type { BlockInfo } from "../rpc/node.js";
import { Journal, isSameChain } from "./journal.js";
import type { JournalEntry } from "./journal.js";
import { observe, requireConfiguredChain } from "./observe.js";
import { outcome } from "./report.js";
import { refusal } from "./stopped.js";
import type { Settlement } from "./types.js";

/** The settlement that the journal has. */
export interface Interrupted {
  readonly journal: Journal;
  readonly entry: JournalEntry;
  /** The newest block. */
  readonly block: BlockInfo;
}

/**
 * Finds the settlement to take up.
 *
 * @throws SettlementStopped if there is none
 * @throws VaultError VAULT_INVALID_JOURNAL, VAULT_WRONG_CHAIN,
 * VAULT_CONTRACT_NOT_CONFIGURED and those of a failed request
 */
export async function findInterrupted(vault: VaultHost): Promise<Interrupted> {
  const { address } = await vault.addressOf("vault", "settleAll");
  const chainId = await vault.chainId();
  requireConfiguredChain(vault, chainId);
  const journal = Journal.open(vault, chainId, address);
  const entry = await journal?.read();
  if (journal === undefined || entry === undefined) {
    throw refusal("VAULT_NOTHING_TO_RESUME", {
      vault: address,
      network: vault.networkName,
      file: journal?.file ?? "in process there is no journal",
    });
  }
  const block = await vault.block("latest");
  const genesisHash = (await vault.genesisHash()) ?? "unknown";
  if (!isSameChain(entry, genesisHash)) {
    throw vaultError("VAULT_INVALID_JOURNAL", {
      file: journal.file,
      problem: `it is of another chain with the same id ${chainId}, whose first block is ${entry.genesisHash} and not ${genesisHash}`,
    });
  }
  return { journal, entry, block };
}

/** A settlement whose outcome was known before, and the round that is current now. */
export async function describeFinished(
  vault: VaultHost,
  { round, status, blockNumber, transaction, vault: target }: JournalEntry,
  block: BlockInfo,
): Promise<Settlement> {
  const observation = await observe(vault, target, block.number);
  const current = await observation.round();
  const end =
    blockNumber === undefined
      ? "without a transaction that was mined"
      : `${status} in block ${blockNumber}`;
  const now = isSameRound(round, current)
    ? "It is the current round still"
    : `The current round is ${describeRound(current)}`;
  return outcome(
    {
      status: "nothing-to-do",
      reason: `The settlement of ${describeRound(round)} is finished: ${end}. ${now}, ${current.settled ? "settled" : "not settled"}.`,
      hash: blockNumber === undefined ? undefined : transaction.hash,
      blockNumber,
    },
    round,
  );
}
