import { asRecord, listOf } from "../../json.js";
import type { EngineResult, SimulationParameters } from "../engine.js";
import type { RpcClient } from "../../rpc/rpc-client.js";
import { executeSettlement, simulatorOf } from "../execute-on-chain.js";

/** Simulates on an in-process network itself, and undoes it. */
export async function runInProcess(
  parameters: SimulationParameters,
): Promise<EngineResult> {
  const { vault, sender, next } = parameters;
  const blockTime = next.isTimed === true ? next.timestamp : undefined;
  const execute = async (): Promise<EngineResult> =>
    await executeSettlement(parameters, blockTime);
  const rpc = simulatorOf(vault);
  return await rpc.inOrder(async () => await inSandbox(rpc, sender, execute));
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
  rpc: RpcClient,
  account: string,
  work: () => Promise<T>,
): Promise<T> {
  const isAutomatic = await rpc.request("hardhat_getAutomine", []);
  // The only way to find out: it answers whether there was anything to stop.
  const wasImpersonated = await rpc.request(
    "hardhat_stopImpersonatingAccount",
    [account],
  );
  // Each step undoes itself, whatever fails after it.
  try {
    await rpc.request("hardhat_impersonateAccount", [account]);
    await rpc.request("evm_setAutomine", [false]);
    const snapshot = await rpc.request("evm_snapshot", []);
    try {
      await dropWaitingTransactions(rpc);
      return await work();
    } finally {
      await rpc.request("evm_revert", [snapshot]);
    }
  } finally {
    try {
      await rpc.request("evm_setAutomine", [isAutomatic]);
    } finally {
      await rpc.request(
        wasImpersonated === true
          ? "hardhat_impersonateAccount"
          : "hardhat_stopImpersonatingAccount",
        [account],
      );
    }
  }
}

/** They would be mined along, and their effects reported as the settlement's. */
async function dropWaitingTransactions(rpc: RpcClient): Promise<void> {
  const waiting = await rpc.request("eth_pendingTransactions", []);
  for (const transaction of listOf(waiting)) {
    const { hash } = asRecord(transaction);
    await rpc.request("hardhat_dropTransaction", [hash]);
  }
}
