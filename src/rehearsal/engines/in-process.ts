import type { VaultRound } from "../../protocol/index.js";
import type { Header } from "../../rpc/node.js";
import { asRecord, listOf } from "../../json.js";
import { roundOf } from "../compare-readings.js";
import { executeSettlement, requireTarget } from "../execute-on-chain.js";
import { notExecuted } from "../question.js";
import type { Answer, Subject } from "../question.js";
import { SimulatedChain } from "../simulated-chain.js";
import { readState } from "../watch-list.js";

/**
 * Rehearses on an in-process network itself, and undoes it.
 *
 * @param timeOf The date of the block, Unix seconds, once it is known after
 * which block it comes; undefined for the chain's own clock.
 * @returns With the block that it started from.
 * @throws VaultError VAULT_NO_CODE, VAULT_INVALID_ARGUMENT
 */
export async function rehearseInProcess(
  subject: Subject,
  timeOf: (header: Header, round: VaultRound | undefined) => number | undefined,
): Promise<{ readonly answer: Answer; readonly header: Header }> {
  const { vault } = subject;
  const chain = new SimulatedChain(vault);
  const header = await chain.header();
  await requireTarget(subject, header.number);
  const before = await readState(vault, subject.watched, header.number);
  const round = roundOf(before);
  const blockTime = timeOf(header, round);
  const answer =
    round?.settled === true
      ? notExecuted(before, null)
      : await inSandbox(
          chain,
          subject.sender,
          async () => await executeSettlement(subject, before, blockTime),
        );
  return { header, answer };
}

/**
 * Runs work on an in-process network and undoes what it did: state, nonces,
 * balances, blocks, waiting transactions, prices and the clock come back with a
 * snapshot, mining mode and impersonation, which no snapshot holds, by hand.
 *
 * Keep the work short: the simulator adds the time between a snapshot and its
 * revert to the chain's clock, in whole seconds, and has no way to set it back.
 *
 * @param account Impersonated during the work.
 */
async function inSandbox<T>(
  chain: SimulatedChain,
  account: string,
  work: () => Promise<T>,
): Promise<T> {
  const isAutomatic = await chain.command("hardhat_getAutomine");
  // The only way to find out: it answers whether there was anything to stop.
  const wasImpersonated = await chain.command(
    "hardhat_stopImpersonatingAccount",
    account,
  );
  // Each step undoes itself, whatever fails after it.
  try {
    await chain.command("hardhat_impersonateAccount", account);
    await chain.command("evm_setAutomine", false);
    const snapshot = await chain.command("evm_snapshot");
    try {
      await dropWaitingTransactions(chain);
      return await work();
    } finally {
      await chain.command("evm_revert", snapshot);
    }
  } finally {
    try {
      await chain.command("evm_setAutomine", isAutomatic);
    } finally {
      await chain.command(
        wasImpersonated === true
          ? "hardhat_impersonateAccount"
          : "hardhat_stopImpersonatingAccount",
        account,
      );
    }
  }
}

/** They would be mined along, and their effects reported as the settlement's. */
async function dropWaitingTransactions(chain: SimulatedChain): Promise<void> {
  const waiting = await chain.command("eth_pendingTransactions");
  for (const transaction of listOf(waiting)) {
    const { hash } = asRecord(transaction);
    await chain.command("hardhat_dropTransaction", hash);
  }
}
