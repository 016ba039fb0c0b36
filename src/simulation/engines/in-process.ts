import { max } from "@nomicfoundation/hardhat-utils/bigint";
import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";
import { isHexString } from "ethers";

import { NOBODYS_ADDRESS, lensCode, loanFor } from "../../client/lens/lens.js";
import type { ReadCall } from "../../client/lens/lens.js";
import { assertInvariant, hasErrorCode, vaultError } from "../../errors.js";
import { settlementCall } from "../../guard/call.js";
import { beforeRefunds } from "../../guard/refusal.js";
import { configuredGasCap } from "../../host.js";
import type { VaultHost } from "../../host.js";
import { asRecord, listOf } from "../../json.js";
import {
  TRANSACTION_GAS_CAP,
  getBlock,
  getNextBlock,
} from "../../rpc/blocks.js";
import type { BlockId } from "../../rpc/blocks.js";
import { callContract } from "../../rpc/chain.js";
import type { CallResult } from "../../rpc/revert-reason.js";
import { decodeRevertReason } from "../../rpc/revert-reason.js";
import type { RpcClient } from "../../rpc/rpc-client.js";
import { getReceipt, CALL_TRACER, trace } from "../../rpc/transactions.js";
import { nativeTransfersOf, transfersIn } from "../tokens.js";
import { accountIn } from "../watch-list.js";
import type { Attempt, ChainState, Execution, WatchList } from "../types.js";

/** Mines the settlement on an in-process network itself, a fork or not, and undoes it. */
export async function executeInProcess(
  vault: VaultHost,
  attempt: Attempt,
  watched: WatchList,
): Promise<Execution> {
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
): Promise<Execution> {
  const { rpc } = vault;
  const { from: sender } = route;
  const { timestamp, baseFeePerGas = 0n } = await getNextBlock(rpc);
  // Else the network's own clock counts: it moves on while this waits for its turn.
  const time = next.isTimed === true ? next.timestamp : timestamp;
  await rpc.request("evm_setNextBlockTimestamp", [numberToHexString(time)]);
  const before = await readAll(vault, watched, "pending");
  const account = accountIn(before, sender);
  // The simulator takes no less.
  const price = max(gasPrice, baseFeePerGas);
  const send = async (limit: bigint) => {
    const lent = loanFor(account, limit * price);
    // Also without a loan: an earlier try may have lent.
    const wei = numberToHexString(account.balance + lent);
    await rpc.request("hardhat_setBalance", [sender, wei]);
    const transaction = {
      ...settlementCall(route),
      gas: numberToHexString(limit),
      gasPrice: numberToHexString(price),
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
  const after = await readAll(vault, watched, block.number);
  const { balance: left } = accountIn(after, sender);
  return {
    engine: "in-process",
    before,
    after,
    balanceWithoutFee: left - lent + gasUsed * price,
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
