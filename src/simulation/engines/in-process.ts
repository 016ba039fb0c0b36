import { asRecord, listOf } from "../../json.js";
import { oneChangeAtATime } from "../../rpc/development-node.js";
import type { VaultHost } from "../../host.js";
import type { Attempt, Run, Watched } from "./engine.js";
import { executeSettlement, requireSimulator } from "./execute.js";

/**
 * Simulates on the in-process network itself, and undoes it with a snapshot. A snapshot
 * does not hold the mining mode and impersonation: they are restored separately.
 *
 * Reverting adds the time since the snapshot to the chain's clock, in whole seconds, and
 * nothing can set the clock back: keep the time in between short.
 */
export async function simulateInProcess(
  vault: VaultHost,
  attempt: Attempt,
  watched: Watched,
): Promise<Run> {
  const rpc = requireSimulator(vault);
  return await oneChangeAtATime(
    rpc,
    async () => await runAndUndo(vault, attempt, watched),
  );
}

async function runAndUndo(
  vault: VaultHost,
  attempt: Attempt,
  watched: Watched,
): Promise<Run> {
  const { rpc } = vault;
  const { next, route } = attempt;
  const { from: sender } = route;
  const isAutomatic = await rpc.request("hardhat_getAutomine", []);
  // No method reads impersonation; this one returns whether it was on.
  const wasImpersonated = await rpc.request(
    "hardhat_stopImpersonatingAccount",
    [sender],
  );
  try {
    await rpc.request("hardhat_impersonateAccount", [sender]);
    await rpc.request("evm_setAutomine", [false]);
    const snapshot = await rpc.request("evm_snapshot", []);
    try {
      // Pending transactions would be mined and reported with the settlement.
      const waiting = await rpc.request("eth_pendingTransactions", []);
      for (const transaction of listOf(waiting)) {
        const { hash } = asRecord(transaction);
        await rpc.request("hardhat_dropTransaction", [hash]);
      }
      // Else the network's own clock counts: it moves on while this waits for its turn.
      const blockTime = next.isTimed === true ? next.timestamp : undefined;
      const run = await executeSettlement(vault, attempt, watched, blockTime);
      return { engine: "in-process", ...run };
    } finally {
      await rpc.request("evm_revert", [snapshot]);
    }
  } finally {
    try {
      await rpc.request("evm_setAutomine", [isAutomatic]);
    } finally {
      const method =
        wasImpersonated === true
          ? "hardhat_impersonateAccount"
          : "hardhat_stopImpersonatingAccount";
      await rpc.request(method, [sender]);
    }
  }
}
