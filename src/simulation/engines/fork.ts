// A fork of the network, made for one settlement, executes it.

import { dataSlice, toQuantity } from "ethers";

import { requestAtBlock } from "../../client/reader.js";
import { fallbackTo, hasErrorCode } from "../../errors.js";
import { settlementCall } from "../../guard/call.js";
import type { VaultHost } from "../../host.js";
import { getCode } from "../../rpc/accounts.js";
import { toBlockId } from "../../rpc/blocks.js";
import { tryCall } from "../../rpc/calls.js";
import { fewRetries } from "../../rpc/rpc-client.js";
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
  const over = new AbortController();
  const simulating = execute(vault, attempt, watched, over.signal).catch(
    async (error: unknown) => {
      await throwIfStateIsMissing(vault, attempt, error);
      throw error;
    },
  );
  try {
    return await vault.rpc.withinDeadline(FORK_REQUESTS, simulating);
  } finally {
    // After the deadline, the fork still waits for its node, with a server and a folder.
    over.abort();
    await simulating.catch(() => undefined);
  }
}

/** @param signal Ends the requests of the fork. */
async function execute(
  vault: VaultHost,
  attempt: Attempt,
  watched: Watched,
  signal: AbortSignal,
): Promise<Run | Unavailable> {
  const { route, next, hardfork } = attempt;
  const called = callPlainly(vault, attempt);
  // Its failure comes when the fork is made.
  called.catch(() => undefined);
  const { connection, memo } = await openFork(vault, {
    block: next.base,
    hardfork,
    signal,
    plan: () => planFor(vault, watched, route),
    settings: {
      // Hardhat's accounts would overwrite balances of the forked chain.
      accounts: [],
      // The chain's cap is not known, so the hardfork's is lifted.
      ...(hardfork === undefined && { transactionGasCap: next.gasLimit }),
    },
  });
  try {
    const onNode = await called;
    if (
      onNode?.reverted?.kind === "panic" &&
      BigInt(dataSlice(onNode.reverted.data, 4)) > LARGEST_PANIC
    ) {
      return {
        unavailable: `Hardhat's simulator ends the process at ${onNode.reverted.text}`,
      };
    }
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
 */
async function callPlainly(
  { rpc }: VaultHost,
  { route, next, gas }: Attempt,
): Promise<PlainCall | undefined> {
  return await tryCall(rpc, settlementCall(route), next.base.number, gas)
    .then((reverted) => ({ reverted }))
    .catch(fallbackTo<PlainCall | undefined>(undefined));
}

/** @returns Undefined unless one of them reverts: the chain has precompiles or rules of its own. */
function differenceOf(
  onNode: PlainCall | undefined,
  onFork: PlainCall | undefined,
): string | undefined {
  return onNode === undefined ||
    onFork === undefined ||
    (onNode.reverted === undefined) === (onFork.reverted === undefined)
    ? undefined
    : `the node ${verdict(onNode)}, and Hardhat's simulator ${verdict(onFork)}`;
}

function verdict({ reverted }: PlainCall): string {
  return reverted === undefined
    ? "accepts the call"
    : `refuses it (${reverted.text})`;
}

/**
 * Asks the node for state of a block that the caller chose, if it refused something there:
 * code and storage, which some nodes keep in different databases.
 *
 * @throws VaultError VAULT_ARCHIVE_NODE_NEEDED
 */
async function throwIfStateIsMissing(
  vault: VaultHost,
  { route, next }: Attempt,
  refusal: unknown,
): Promise<void> {
  if (next.isBlockGiven === true && hasErrorCode(refusal, "VAULT_RPC_ERROR")) {
    const rpc = vault.rpc.withRetries(fewRetries);
    await requestAtBlock(rpc, next.base, async (block) => {
      await getCode(rpc, route.vault, block);
      const slot = [route.vault, "0x0", toBlockId(block)];
      await rpc.request("eth_getStorageAt", slot);
    });
  }
}
