// A fork of the network, made for one settlement, executes it.

import { dataSlice, toQuantity } from "ethers";

import { requestAtBlock } from "../../client/reader.js";
import { fallbackTo } from "../../errors.js";
import { settlementCall } from "../../guard/call.js";
import type { VaultHost } from "../../host.js";
import { tryCall } from "../../rpc/calls.js";
import type { RevertReason } from "../../rpc/revert-reason.js";
import { openFork, planFor } from "../fork.js";
import { FORK_REQUESTS } from "../memo.js";
import type { Attempt, Run, Unavailable, Watched } from "./engine.js";
import { simulateInProcess } from "./in-process.js";

/** Hardhat's simulator crashes the process at a larger panic code. */
const LARGEST_PANIC = 2n ** 64n - 1n;

/** Simulates in process on a fork, which fetches state from the node on demand. */
export async function simulateOnFork(
  vault: VaultHost,
  attempt: Attempt,
  watched: Watched,
): Promise<Run | Unavailable> {
  const simulating = execute(vault, attempt, watched);
  try {
    return await vault.rpc.withinDeadline(FORK_REQUESTS, simulating);
  } finally {
    // Its server and its folder are gone then, after a deadline, too.
    await simulating.catch(() => undefined);
  }
}

async function execute(
  vault: VaultHost,
  attempt: Attempt,
  watched: Watched,
): Promise<Run | Unavailable> {
  const { route, next, hardfork } = attempt;
  const onNode = await callPlainly(vault, attempt);
  if (
    onNode?.reverted?.kind === "panic" &&
    BigInt(dataSlice(onNode.reverted.data, 4)) > LARGEST_PANIC
  ) {
    return {
      unavailable: `Hardhat's simulator ends the process at ${onNode.reverted.text}`,
    };
  }
  const { connection, memo } = await openFork(vault, {
    block: next.base,
    hardfork,
    signals: vault.rpc.ends,
    plan: () => planFor(vault, watched, route),
    settings: {
      // Hardhat's accounts would overwrite balances of the forked chain.
      accounts: [],
      // The chain's cap is not known, so the hardfork's is lifted.
      ...(hardfork === undefined && { transactionGasCap: next.gasLimit }),
    },
  });
  try {
    const forked = connection.vault;
    const onFork =
      hardfork === undefined ? await callPlainly(forked, attempt) : undefined;
    const difference = differenceOf(onNode, onFork);
    if (difference !== undefined) {
      await memo.requireSameBranch();
      return { unavailable: `in block ${next.base.number} ${difference}` };
    }
    // The price of the transaction may be below the base fee that the simulator expects.
    const baseFee = toQuantity(next.baseFeePerGas ?? 0n);
    await forked.rpc
      .request("hardhat_setNextBlockBaseFeePerGas", [baseFee])
      // Hardforks before London have none.
      .catch(fallbackTo(undefined, ({ code }) => code === "VAULT_RPC_ERROR"));
    const timed = { ...attempt, next: { ...next, isTimed: true } };
    const run = await simulateInProcess(forked, timed, watched);
    await memo.requireSameBranch();
    return { ...run, engine: "fork" };
  } finally {
    await connection.close();
  }
}

interface PlainCall {
  readonly reverted: RevertReason | undefined;
}

/**
 * Calls the settlement in the block before the attempt's.
 *
 * @returns Undefined if the node refuses the call as such, for example because it takes too
 * long: that proves nothing.
 * @throws VaultError VAULT_ARCHIVE_NODE_NEEDED if the caller chose the block, whose state is gone
 */
async function callPlainly(
  { rpc }: VaultHost,
  { route, next, gas }: Attempt,
): Promise<PlainCall | undefined> {
  const call = settlementCall(route);
  return await requestAtBlock(rpc, next.base.number, async (block) => ({
    reverted: await tryCall(rpc, call, block, gas),
  })).catch(
    fallbackTo<PlainCall | undefined>(
      undefined,
      ({ code }) =>
        code !== "VAULT_ARCHIVE_NODE_NEEDED" || next.isBlockGiven !== true,
    ),
  );
}

/** @returns Undefined unless one of them reverts: the chain has precompiles or rules of its own. */
function differenceOf(
  onNode: PlainCall | undefined,
  onFork: PlainCall | undefined,
): string | undefined {
  if (onNode === undefined || onFork === undefined) {
    return undefined;
  }
  const [there, here] = [onNode, onFork].map(({ reverted }) =>
    reverted === undefined
      ? "accepts the call"
      : `refuses it (${reverted.text})`,
  );
  return (onNode.reverted === undefined) === (onFork.reverted === undefined)
    ? undefined
    : `the node ${there}, and Hardhat's simulator ${here}`;
}
