import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";
import { dataSlice } from "ethers";

import { withArchiveCheck } from "../../client/read-at-block.js";
import { fallbackTo } from "../../errors.js";
import { settlementCall } from "../../guard/call.js";
import type { VaultHost } from "../../host.js";
import { requireSameBranch } from "../../rpc/blocks.js";
import { tryCall } from "../../rpc/chain.js";
import { openFork, planFor } from "../fork.js";
import { FORK_REQUESTS } from "../fork-proxy.js";
import type { Attempt, Execute } from "../types.js";
import { executeInProcess } from "./in-process.js";

/** Executes it in process on a fork, made for this, which fetches state from the node on demand. */
export const executeOnFork: Execute = async (vault, attempt, watched) => {
  const executing = forkAndExecute(vault, attempt, watched);
  try {
    return await vault.rpc.withinDeadline(
      FORK_REQUESTS,
      async () => await executing,
    );
  } finally {
    // Its server and its folder are gone then, after a deadline, too.
    await executing.catch(() => undefined);
  }
};

const forkAndExecute: Execute = async (vault, attempt, watched) => {
  const { route, next, hardfork } = attempt;
  const onNode = await verdictOf(vault, attempt);
  if (onNode === CRASHES) {
    return { unavailable: `Hardhat's simulator ${onNode}` };
  }
  const connection = await openFork(vault, {
    block: next.base,
    hardfork,
    plan: () => planFor(vault, watched, route),
    settings: {
      // Hardhat's accounts would overwrite balances of the forked chain.
      accounts: [],
      // The chain's cap is not known, so the hardfork's is lifted.
      ...(hardfork === undefined && { transactionGasCap: next.gasLimit }),
    },
  });
  const execute = async (): ReturnType<Execute> => {
    const { vault: forked } = connection;
    const onFork =
      hardfork === undefined ? await verdictOf(forked, attempt) : onNode;
    const areKnown = onNode !== undefined && onFork !== undefined;
    if (areKnown && (onNode === ACCEPTED) !== (onFork === ACCEPTED)) {
      // The chain has precompiles or rules of its own.
      const unavailable = `in block ${next.base.number} the node ${onNode}, and Hardhat's simulator ${onFork}`;
      return { unavailable };
    }
    // The price of the transaction may be below the base fee that the simulator expects.
    const baseFee = numberToHexString(next.baseFeePerGas ?? 0n);
    await forked.rpc
      .request("hardhat_setNextBlockBaseFeePerGas", [baseFee])
      // Hardforks before London have none.
      .catch(fallbackTo(undefined, ({ code }) => code === "VAULT_RPC_ERROR"));
    const timed = { ...attempt, next: { ...next, isTimed: true } };
    const execution = await executeInProcess(forked, timed, watched);
    return { ...execution, engine: "fork" };
  };
  try {
    const executing = execute();
    // That the chain has replaced the block is the reason of a failure, too.
    await executing.catch(() => undefined);
    await requireSameBranch(vault.rpc, next.base);
    return await executing;
  } finally {
    await connection.close();
  }
};

const ACCEPTED = "accepts the call";
const CRASHES = "ends the process at a panic code above 2^64";

/**
 * Calls the settlement in the block before the attempt's.
 *
 * @returns Undefined if the node refuses the call as such, for example because it takes too
 * long: that proves nothing.
 * @throws VaultError VAULT_ARCHIVE_NODE_NEEDED
 */
async function verdictOf(
  { rpc }: VaultHost,
  { route, next, gas }: Attempt,
): Promise<string | undefined> {
  const call = settlementCall(route);
  return await withArchiveCheck(rpc, next.base.number, async (block) => {
    const reverted = await tryCall(rpc, call, block, gas);
    if (reverted === undefined) {
      return ACCEPTED;
    }
    const isCrash =
      reverted.kind === "panic" &&
      BigInt(dataSlice(reverted.data, 4)) >= 2n ** 64n;
    return isCrash ? CRASHES : `refuses it (${reverted.text})`;
  }).catch(
    fallbackTo<string | undefined>(
      undefined,
      ({ code }) => code !== "VAULT_ARCHIVE_NODE_NEEDED",
    ),
  );
}
