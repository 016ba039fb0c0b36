import { AsyncMutex } from "@nomicfoundation/hardhat-utils/synchronization";

import type { Eip1193Provider } from "../../rpc/eip1193.js";
import type { SimulatedChain } from "../simulated-chain.js";

const oneAtATime = new WeakMap<Eip1193Provider, AsyncMutex>();

/**
 * Lets two simulations on one network wait for each other: each would see what
 * the other did, and reverting the snapshot of the first would throw away that
 * of the second.
 */
export async function exclusively<T>(
  provider: Eip1193Provider,
  work: () => Promise<T>,
): Promise<T> {
  const mutex = oneAtATime.get(provider) ?? new AsyncMutex();
  oneAtATime.set(provider, mutex);
  return await mutex.exclusiveRun(work);
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
export async function inSandbox<T>(
  chain: SimulatedChain,
  account: string,
  work: () => Promise<T>,
): Promise<T> {
  const isAutomatic = await chain.request("hardhat_getAutomine");
  // The only way to find out: it answers whether there was anything to stop.
  const wasImpersonated = await chain.request(
    "hardhat_stopImpersonatingAccount",
    account,
  );
  // Each step undoes itself, whatever fails after it.
  try {
    await chain.request("hardhat_impersonateAccount", account);
    await chain.request("evm_setAutomine", false);
    const snapshot = await chain.request("evm_snapshot");
    try {
      await dropWaitingTransactions(chain);
      return await work();
    } finally {
      await chain.request("evm_revert", snapshot);
    }
  } finally {
    try {
      await chain.request("evm_setAutomine", isAutomatic);
    } finally {
      await chain.request(
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
  const waiting = await chain.request("eth_pendingTransactions");
  const transactions: readonly unknown[] = Array.isArray(waiting)
    ? waiting
    : [];
  for (const transaction of transactions) {
    const { hash }: Readonly<Record<string, unknown>> =
      typeof transaction === "object" ? { ...transaction } : {};
    await chain.request("hardhat_dropTransaction", hash);
  }
}
