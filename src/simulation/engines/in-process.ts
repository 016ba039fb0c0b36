// Hardhat's simulator executes the settlement: an in-process network itself, or a fork of
// the network, made for one settlement.

import { max } from "@nomicfoundation/hardhat-utils/bigint";
import { dataSlice, isHexString, toQuantity } from "ethers";

import { NOBODYS_ADDRESS, lensCode } from "../../client/lens/lens.js";
import type { ReadCall } from "../../client/lens/lens.js";
import { withArchiveCheck } from "../../client/read-at-block.js";
import {
  assertInvariant,
  fallbackTo,
  hasErrorCode,
  vaultError,
} from "../../errors.js";
import { settlementCall } from "../../guard/call.js";
import { configuredGasCap } from "../../host.js";
import type { VaultHost } from "../../host.js";
import { asRecord, listOf } from "../../json.js";
import {
  TRANSACTION_GAS_CAP,
  getBlock,
  getNextBlock,
  requireSameBranch,
} from "../../rpc/blocks.js";
import type { BlockId } from "../../rpc/blocks.js";
import { callContract, tryCall } from "../../rpc/chain.js";
import type { CallResult } from "../../rpc/revert-reason.js";
import { decodeRevertReason } from "../../rpc/revert-reason.js";
import type { RpcClient } from "../../rpc/rpc-client.js";
import { getReceipt, CALL_TRACER, trace } from "../../rpc/transactions.js";
import { openFork, planFor } from "../fork.js";
import { FORK_REQUESTS } from "../memo.js";
import { nativeTransfersOf, transfersIn } from "../tokens.js";
import { accountIn } from "../watch-list.js";
import { beforeRefunds, loanFor } from "../types.js";
import type { Attempt, ChainState, Engine, Run, WatchList } from "../types.js";

/** Simulates in process on a fork, which fetches state from the node on demand. */
export const simulateOnFork: Engine = async (vault, attempt, watched) => {
  const simulating = forkAndSimulate(vault, attempt, watched);
  try {
    return await vault.rpc.withinDeadline(
      FORK_REQUESTS,
      async () => await simulating,
    );
  } finally {
    // Its server and its folder are gone then, after a deadline, too.
    await simulating.catch(() => undefined);
  }
};

const forkAndSimulate: Engine = async (vault, attempt, watched) => {
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
  const simulate = async (): ReturnType<Engine> => {
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
    const baseFee = toQuantity(next.baseFeePerGas ?? 0n);
    await forked.rpc
      .request("hardhat_setNextBlockBaseFeePerGas", [baseFee])
      // Hardforks before London have none.
      .catch(fallbackTo(undefined, ({ code }) => code === "VAULT_RPC_ERROR"));
    const timed = { ...attempt, next: { ...next, isTimed: true } };
    const run = await simulateInProcess(forked, timed, watched);
    return { ...run, engine: "fork" };
  };
  try {
    const simulating = simulate();
    // That the chain has replaced the block is the reason of a failure, too.
    await simulating.catch(() => undefined);
    await requireSameBranch(vault.rpc, next.base);
    return await simulating;
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

/** Mines the settlement on an in-process network itself, a fork or not, and undoes it. */
export async function simulateInProcess(
  vault: VaultHost,
  attempt: Attempt,
  watched: WatchList,
): Promise<Run> {
  const { connection, rpc } = vault;
  // Nothing that is sent to Hardhat's simulator reaches a live chain.
  assertInvariant(
    connection.networkConfig.type === "edr-simulated",
    `${rpc.network} is not an in-process network`,
  );
  return await rpc.node.changes(
    async () =>
      await undone(
        rpc,
        attempt.route.from,
        async () => await mine(vault, attempt, watched),
      ),
  );
}

/**
 * Runs while the sender can send and no block is mined by itself, and then undoes all. A
 * snapshot does not hold the mining mode and impersonation: they are restored separately.
 *
 * Reverting adds the time since the snapshot to the chain's clock, in whole seconds, and
 * nothing can set the clock back: keep the time in between short.
 */
async function undone<Result>(
  rpc: RpcClient,
  sender: string,
  run: () => Promise<Result>,
): Promise<Result> {
  const isAutomatic = await rpc.request("hardhat_getAutomine");
  // No method reads impersonation; this one returns whether it was on.
  const wasImpersonated = await rpc.request(
    "hardhat_stopImpersonatingAccount",
    [sender],
  );
  try {
    await rpc.request("hardhat_impersonateAccount", [sender]);
    await rpc.request("evm_setAutomine", [false]);
    const snapshot = await rpc.request("evm_snapshot");
    try {
      // Pending transactions would be mined and reported with the settlement.
      const waiting = await rpc.request("eth_pendingTransactions");
      for (const transaction of listOf(waiting)) {
        const { hash } = asRecord(transaction);
        await rpc.request("hardhat_dropTransaction", [hash]);
      }
      return await run();
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

/**
 * Mines the settlement in its own block, as the transaction that would be sent.
 *
 * The readings before are those of the very block, without the settlement in it: what only
 * the clock moves is no effect of the settlement.
 */
async function mine(
  vault: VaultHost,
  { route, gas, isGasGiven, gasPrice, next }: Attempt,
  watched: WatchList,
): Promise<Run> {
  const { rpc } = vault;
  const { from: sender } = route;
  const { timestamp, baseFeePerGas = 0n } = await getNextBlock(rpc);
  // Else the network's own clock counts: it moves on while this waits for its turn.
  const time = next.isTimed === true ? next.timestamp : timestamp;
  await rpc.request("evm_setNextBlockTimestamp", [toQuantity(time)]);
  const before = await readAll(vault, watched, "pending");
  const account = accountIn(before, sender);
  // The simulator takes no less.
  const price = max(gasPrice, baseFeePerGas);
  const send = async (limit: bigint) => {
    const lent = loanFor(account, limit * price);
    // Also without a loan: an earlier try may have lent.
    const wei = toQuantity(account.balance + lent);
    await rpc.request("hardhat_setBalance", [sender, wei]);
    const transaction = {
      ...settlementCall(route),
      gas: toQuantity(limit),
      gasPrice: toQuantity(price),
    };
    const hash = await rpc.request("eth_sendTransaction", [transaction]);
    assertInvariant(isHexString(hash, 32), "a transaction without a hash");
    return { hash, lent, limit };
  };
  // The configured cap, else the cap of the hardforks that have one.
  const cap = configuredGasCap(vault) ?? TRANSACTION_GAS_CAP;
  const { hash, lent, limit } = await send(gas).catch(
    async (error: unknown) => {
      if (isGasGiven || gas <= cap || !hasErrorCode(error, "VAULT_RPC_ERROR")) {
        throw error;
      }
      return await send(cap);
    },
  );
  await rpc.request("evm_mine");
  const [receipt, traced] = await Promise.all([
    getReceipt(rpc, hash),
    trace(rpc, "debug_traceTransaction", hash, CALL_TRACER),
  ]);
  const ofTokens = transfersIn(receipt?.logs);
  assertInvariant(
    receipt !== undefined && ofTokens !== undefined,
    "a transaction that is not mined, or without logs",
  );
  const { gasUsed, logs } = receipt;
  const block = await getBlock(rpc, receipt.blockNumber);
  if (block.timestamp !== time) {
    throw vaultError("VAULT_MINED_MEANWHILE", { network: rpc.network });
  }
  // The outermost call has the reason of a failure.
  const { output, error } = traced;
  const failed = {
    data: isHexString(output, true) ? output : "0x",
    message:
      typeof error === "string" && error !== "execution reverted"
        ? error
        : undefined,
    gasUsed,
    gasGiven: limit,
  };
  return {
    engine: "in-process",
    before,
    after: await readAll(vault, watched, block.number),
    surplus: lent - gasUsed * price,
    gasPrice: price,
    block: { number: block.number, timestamp: time },
    failed: (receipt.succeeded ?? error === undefined) ? undefined : failed,
    gasUsed,
    gasNeeded: beforeRefunds(gasUsed),
    transfers: [...nativeTransfersOf(traced), ...ofTokens],
    logs,
  };
}

/** Error texts of Hardhat's simulator for a failure without a revert. */
const executionFailure =
  /out of ?gas|opcode|EVM error|stack (?:under|over)flow|jump|instruction/iu;

async function readAll(
  vault: VaultHost,
  { reads, decode }: WatchList,
  block: BlockId,
): Promise<ChainState> {
  const { from } = vault.readContext({});
  const lens = { [NOBODYS_ADDRESS]: { code: lensCode } };
  const call = async ({ address: to, data }: ReadCall): Promise<CallResult> => {
    const asked = { from, to, data };
    const overrides = to === NOBODYS_ADDRESS ? [lens] : [];
    try {
      return await callContract(vault.rpc, asked, block, ...overrides);
    } catch (error) {
      if (
        hasErrorCode(error, "VAULT_RPC_ERROR") &&
        executionFailure.test(String(error.details["problem"]))
      ) {
        return { reverted: decodeRevertReason("0x") };
      }
      throw error;
    }
  };
  const state = decode(await Promise.all(reads.map(call)));
  assertInvariant(state !== undefined, "the simulator ran no lens");
  return state;
}
