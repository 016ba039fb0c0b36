import { dataSlice, toQuantity } from "ethers";

import { requestAtBlock } from "../../client/missing-state.js";
import { fallbackTo, hasErrorCode } from "../../errors.js";
import type { VaultHost } from "../../host.js";
import { getCode } from "../../rpc/accounts.js";
import { toBlockId } from "../../rpc/block-id.js";
import { tryCall } from "../../rpc/calls.js";

import { fewRetries } from "../../rpc/retry.js";
import type { RevertReason } from "../../rpc/revert-reason.js";
import { settlementCall } from "../../guard/call.js";
import type { Attempt, Run, Unavailable, Watched } from "./engine.js";
import { openFork, planFor } from "../fork.js";
import { FORK_REQUESTS } from "../memo.js";
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
      await explainMissing(vault, attempt, error);
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
    block: next.latest,
    hardfork,
    signal,
    warmed: Promise.resolve(planFor(vault, watched, route)),
    settings: {
      // Hardhat's accounts would overwrite balances of the forked chain.
      accounts: [],
      // The chain's cap is not known, so the hardfork's is lifted.
      ...(hardfork === undefined && { transactionGasCap: next.gasLimit }),
    },
  });
  try {
    const plain = await called;
    const reverted = plain?.reverted;
    if (
      reverted?.kind === "panic" &&
      BigInt(dataSlice(reverted.data, 4)) > LARGEST_PANIC
    ) {
      return {
        unavailable: `Hardhat's simulator ends the process at ${reverted.text}`,
      };
    }
    const problem =
      hardfork === undefined
        ? await otherVerdict(connection.vault, attempt, plain)
        : undefined;
    const outcome =
      problem === undefined
        ? await simulateNext(connection.vault, attempt, watched)
        : { unavailable: problem };
    await memo.requireSameBranch();
    return outcome;
  } finally {
    await connection.close();
  }
}

/** Simulates in the very block that the attempt is for. */
async function simulateNext(
  forked: VaultHost,
  attempt: Attempt,
  watched: Watched,
): Promise<Run> {
  const { next } = attempt;
  // The price of the transaction may be below the base fee that the simulator expects.
  const baseFee = toQuantity(next.baseFeePerGas ?? 0n);
  await forked.rpc
    .request("hardhat_setNextBlockBaseFeePerGas", [baseFee])
    // Hardforks before London have none.
    .catch(fallbackTo(undefined, ({ code }) => code === "VAULT_RPC_ERROR"));
  const timed = { ...attempt, next: { ...next, isTimed: true } };
  const run = await simulateInProcess(forked, timed, watched);
  return { ...run, engine: "fork" };
}

/**
 * Asks the node for state of a block that the caller chose, if the node refused something
 * there: code and storage, which some nodes keep in different databases.
 *
 * @throws VaultError VAULT_ARCHIVE_NODE_NEEDED
 */
async function explainMissing(
  vault: VaultHost,
  { route, next }: Attempt,
  refusal: unknown,
): Promise<void> {
  if (next.isBlockGiven !== true || !hasErrorCode(refusal, "VAULT_RPC_ERROR")) {
    return;
  }
  const rpc = vault.rpc.withRetries(fewRetries);
  await requestAtBlock(
    rpc,
    next.latest,
    async (block) =>
      await Promise.all([
        getCode(rpc, route.vault, block),
        rpc.request("eth_getStorageAt", [route.vault, "0x0", toBlockId(block)]),
      ]),
  );
}

/**
 * Verdict of one `eth_call` of the settlement. Undefined if the node refuses the call as
 * such, for example because it takes too long: that proves nothing.
 */
type PlainCall = { readonly reverted: RevertReason | undefined } | undefined;

async function callPlainly(
  vault: VaultHost,
  attempt: Attempt,
): Promise<PlainCall> {
  const { route, next, gas } = attempt;
  const { number } = next.latest;
  return await tryCall(vault.rpc, settlementCall(route), number, gas).then(
    (reverted) => ({ reverted }),
    async (error: unknown) => {
      await explainMissing(vault, attempt, error);
      return fallbackTo<PlainCall>(undefined)(error);
    },
  );
}

/**
 * Makes the same call in the same block on the fork as on the node. If only one of them
 * reverts, the chain has precompiles or rules of its own, and the fork proves nothing.
 *
 * @returns Undefined if both agree.
 */
async function otherVerdict(
  forked: VaultHost,
  attempt: Attempt,
  onNode: PlainCall,
): Promise<string | undefined> {
  const onFork = await callPlainly(forked, attempt);
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
    : `in block ${attempt.next.latest.number} the node ${there}, and Hardhat's simulator ${here}`;
}
