import type { VaultHost } from "../host.js";
import { VaultError, vaultError } from "../errors.js";
import { SettlementContext } from "./context.js";
import type { Progress } from "./context.js";
import { execute, unconfirmed } from "./execute.js";
import { isSameChain, unfinishedEntries } from "./journal.js";
import type { JournalEntry } from "./journal.js";
import { refusal } from "./stopped.js";
import type { SettleAllOptions, Settlement } from "./types.js";

/**
 * Takes up the settlement that the journal has.
 *
 * A node that does not answer is no reason to throw once there is such a
 * settlement: it may be on its way, so what is known of it is the outcome.
 */
export async function resume(
  vault: VaultHost,
  options: SettleAllOptions,
  progress: Progress,
): Promise<Settlement> {
  let context: SettlementContext;
  try {
    context = await SettlementContext.create(vault, options);
  } catch (error) {
    if (!isNodeFailure(error)) {
      throw error;
    }
    const entry = await onlyUnfinished(vault);
    if (entry === undefined) {
      throw error;
    }
    progress.chainId = entry.chainId;
    return notLookedFor(entry, error);
  }
  const { chainId, journal, chain } = context;
  progress.chainId = chainId;
  progress.blockTimes = context.blockTimes;
  const entry = await journal?.read();
  if (journal === undefined || entry === undefined) {
    throw refusal("VAULT_NOTHING_TO_RESUME", {
      vault: context.contract.address,
      network: chain.network,
      file: journal?.file ?? "in process there is no journal",
    });
  }
  let genesisHash: string;
  try {
    progress.header = await chain.header();
    genesisHash = await context.genesisHash();
  } catch (error) {
    if (!isNodeFailure(error)) {
      throw error;
    }
    return notLookedFor(entry, error);
  }
  if (!isSameChain(entry, genesisHash)) {
    throw vaultError("VAULT_INVALID_JOURNAL", {
      file: journal.file,
      problem: `it is of another chain with the same id ${chainId}, whose first block is ${entry.genesisHash} and not ${genesisHash}`,
    });
  }
  progress.round = entry.round;
  context.announce(entry.transaction);
  return await execute(context, entry, "look");
}

/**
 * The settlement that must be meant where the node cannot tell which chain it
 * is, and so which journal: undefined unless there is exactly one.
 */
async function onlyUnfinished(
  vault: VaultHost,
): Promise<JournalEntry | undefined> {
  const { networkConfig } = vault.connection;
  if (networkConfig.type !== "http") {
    return undefined;
  }
  const [entry, ...others] = await unfinishedEntries(
    vault.context.config.paths.root,
    {
      chainId: networkConfig.chainId,
      vault: await configuredAddress(vault),
    },
  );
  return others.length === 0 ? entry : undefined;
}

/** Undefined where it takes the node to find it. */
async function configuredAddress(
  vault: VaultHost,
): Promise<string | undefined> {
  try {
    return (await vault.addressOf("vault")).address;
  } catch (error) {
    if (isNodeFailure(error)) {
      return undefined;
    }
    throw error;
  }
}

function notLookedFor(entry: JournalEntry, error: VaultError): Settlement {
  return unconfirmed(
    entry,
    entry.transaction.hash,
    `It could not be looked for: ${error.message} Then \`vault settle --resume\` takes it up again.`,
  );
}

function isNodeFailure(error: unknown): error is VaultError {
  return VaultError.isVaultError(error) && error.kind === "rpc";
}
