import { min } from "@nomicfoundation/hardhat-utils/bigint";

import { VaultError, otherwise, vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { BlockInfo } from "../rpc/node.js";
import { capFees, resolveFees, resolveGas } from "../rehearsal/fees.js";
import { explainRefusal } from "../rehearsal/refusal.js";
import { RevertedCall } from "../rpc/request.js";
import type { SentTransaction } from "./find-transaction.js";
import { Journal, isSameChain, unfinishedEntries } from "./journal.js";
import type { JournalEntry } from "./journal.js";
import { requireConfiguredChain } from "./observe.js";
import { resolveSigner } from "./signer.js";
import { SettlementStopped, asStopped, refusal } from "./stopped.js";
import { settlementCall } from "../rehearsal/question.js";

/** The settlement that the journal has. */
export interface Interrupted {
  readonly journal: Journal | undefined;
  readonly entry: JournalEntry;
  /** The newest block. */
  readonly block: BlockInfo | undefined;
  /** Why it cannot be looked for now, if it cannot. */
  readonly problem: string | undefined;
}

/**
 * Finds the settlement to take up.
 *
 * A node that does not answer is no reason to throw once there is such a
 * settlement: it may be on its way, so what is known of it is the outcome.
 *
 * @throws SettlementStopped if there is none
 * @throws VaultError VAULT_INVALID_JOURNAL, VAULT_WRONG_CHAIN,
 * VAULT_CONTRACT_NOT_CONFIGURED and those of a failed request
 */
export async function findInterrupted(vault: VaultHost): Promise<Interrupted> {
  let entry: JournalEntry | undefined;
  let block: BlockInfo | undefined;
  try {
    const { address } = await vault.addressOf("vault", "settleAll");
    const chainId = await vault.chainId();
    requireConfiguredChain(vault, chainId);
    const journal = Journal.open(vault, chainId, address);
    entry = await journal?.read();
    if (journal === undefined || entry === undefined) {
      throw refusal("VAULT_NOTHING_TO_RESUME", {
        vault: address,
        network: vault.networkName,
        file: journal?.file ?? "in process there is no journal",
      });
    }
    block = await vault.block("latest");
    const genesisHash = (await vault.genesisHash()) ?? "unknown";
    if (!isSameChain(entry, genesisHash)) {
      throw vaultError("VAULT_INVALID_JOURNAL", {
        file: journal.file,
        problem: `it is of another chain with the same id ${chainId}, whose first block is ${entry.genesisHash} and not ${genesisHash}`,
      });
    }
    return { journal, entry, block, problem: undefined };
  } catch (error) {
    if (!VaultError.isVaultError(error) || error.kind !== "rpc") {
      throw error;
    }
    entry ??= await onlyUnfinished(vault);
    if (entry === undefined) {
      throw error;
    }
    return { journal: undefined, entry, block, problem: error.message };
  }
}

/**
 * What to send again of a settlement without signed bytes, which the node or a
 * wallet signs anew. A journal is evidence of what was done and never an order:
 * whoever can write the file has no say in what is signed. So it is built as a
 * new settlement would be, with the journal's nonce, and costs no more.
 *
 * @returns Why nothing, or the transaction.
 * @throws VaultError those of a failed request
 */
export async function rebuild(
  vault: VaultHost,
  sent: SentTransaction,
  file: string,
): Promise<SettlementStopped | SentTransaction> {
  const { networkConfig } = vault.connection;
  const { from, to, nonce } = sent;
  const { chain } = vault.during({});
  try {
    const { kind } = await resolveSigner(chain, networkConfig, from);
    if (kind === "local") {
      return refusal("VAULT_NOT_SIGNED_AGAIN", {
        file,
        problem: `${from} signs with a configured key, and that is done before anything is written there`,
      });
    }
    const next = await chain.nonce(from, "latest");
    if (next !== nonce) {
      return refusal("VAULT_NOT_SIGNED_AGAIN", {
        file,
        problem: `its nonce is ${nonce}, and the next one of ${from} is ${next}`,
      });
    }
    const header = await chain.header();
    const call = settlementCall(from, to);
    const gas = await resolveGas(chain, networkConfig, call, header);
    if (gas instanceof RevertedCall) {
      const { code, reason } = await explainRefusal(vault, gas.reason);
      return new SettlementStopped("reverted", reason, code);
    }
    return {
      ...sent,
      ...call,
      gas: min(sent.gas, gas),
      fees: capFees(sent.fees, await resolveFees(chain, networkConfig, header)),
    };
  } catch (error) {
    return asStopped(error);
  }
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
  // It may take the node to find it.
  const configured = await vault
    .addressOf("vault")
    .catch(otherwise(undefined, ({ kind }) => kind === "rpc"));
  const [entry, ...others] = await unfinishedEntries(
    vault.context.config.paths.root,
    {
      chainId: networkConfig.chainId,
      vault: configured?.address,
    },
  );
  return others.length === 0 ? entry : undefined;
}
