import { isHexString } from "ethers";
import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import {
  encodeRead,
  parseRead,
  simulationLensCode,
} from "../../client/lens/simulation-lens.js";
import type { VaultHost } from "../../host.js";
import { assertInvariant, vaultError } from "../../errors.js";
import type { VaultError } from "../../errors.js";
import { asRecord, listOf } from "../../json.js";
import { isNodeRefusal } from "../../rpc/errors.js";
import { TRANSACTION_GAS_CAP } from "../../rpc/gas.js";
import type { BlockId, CallResult, RpcClient } from "../../rpc/rpc-client.js";
import { decodeRevertReason } from "../../rpc/revert-reason.js";
import { beforeRefunds, settlementCall } from "../engine.js";
import type { EngineResult, SimulationParameters } from "../engine.js";
import { nativeTransfersOf, transfersIn } from "../tokens.js";
import { readsOf } from "../watch-list.js";

/**
 * Simulates on an in-process network itself, and undoes it: state, nonces,
 * balances, blocks, waiting transactions, prices and the clock come back with a
 * snapshot, mining mode and impersonation, which no snapshot holds, by hand.
 *
 * It has to be short: the simulator adds the time between a snapshot and its
 * revert to the chain's clock, in whole seconds, and has no way to set it back.
 */
export async function runInProcess(
  parameters: SimulationParameters,
): Promise<EngineResult> {
  const rpc = simulatorOf(parameters.vault);
  return await rpc.inOrder(async () => await runAndUndo(rpc, parameters));
}

async function runAndUndo(
  rpc: RpcClient,
  parameters: SimulationParameters,
): Promise<EngineResult> {
  const { sender, next } = parameters;
  const isAutomatic = await rpc.request("hardhat_getAutomine", []);
  // The only way to find out: it answers whether there was anything to stop.
  const wasImpersonated = await rpc.request(
    "hardhat_stopImpersonatingAccount",
    [sender],
  );
  // Each step undoes itself, whatever fails after it.
  try {
    await rpc.request("hardhat_impersonateAccount", [sender]);
    await rpc.request("evm_setAutomine", [false]);
    const snapshot = await rpc.request("evm_snapshot", []);
    try {
      // What waits would be mined along, and be reported as the settlement's.
      const waiting = await rpc.request("eth_pendingTransactions", []);
      for (const transaction of listOf(waiting)) {
        const { hash } = asRecord(transaction);
        await rpc.request("hardhat_dropTransaction", [hash]);
      }
      const blockTime = next.isTimed === true ? next.timestamp : undefined;
      return await executeSettlement(parameters, blockTime);
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

/** Hardhat's simulator. Nothing that is sent to it ever reaches a live chain. */
export function simulatorOf({ connection, rpc }: VaultHost): RpcClient {
  const { type } = connection.networkConfig;
  const problem = `${rpc.network} is not an in-process network`;
  assertInvariant(type === "edr-simulated", problem);
  return rpc;
}

/**
 * Calls `settleAll` in a transaction of its own block, on an in-process network,
 * which is left as the settlement leaves it. The network mines nothing by itself
 * meanwhile, and impersonates the sender.
 *
 * @param blockTime Date of the block, Unix seconds; undefined for the chain's
 * own time.
 */
export async function executeSettlement(
  parameters: SimulationParameters,
  blockTime: number | undefined,
  ...notes: readonly string[]
): Promise<EngineResult> {
  const { vault, sender, target, gas, next } = parameters;
  const rpc = simulatorOf(vault);
  const [before, gasPrice, balance] = await Promise.all([
    readAll(parameters, "latest"),
    rpc.quantity("eth_gasPrice"),
    rpc.balance(sender),
  ]);
  const send = async (gasGiven: bigint) => {
    // The network takes that off before any code runs: the contract sees the
    // sender as rich as it is.
    const prepaid = gasGiven * gasPrice;
    const funds = numberToHexString(balance + prepaid);
    await rpc.request("hardhat_setBalance", [sender, funds]);
    const hash = await rpc.request("eth_sendTransaction", [
      {
        ...settlementCall(sender, target.address),
        gas: numberToHexString(gasGiven),
        gasPrice: numberToHexString(gasPrice),
      },
    ]);
    assertInvariant(typeof hash === "string", "a transaction without a hash");
    return { hash, gasGiven, prepaid };
  };
  // Of networks that have one: by their hardfork, unless it is configured.
  const { networkConfig } = vault.connection;
  const cap =
    "transactionGasCap" in networkConfig &&
    typeof networkConfig.transactionGasCap === "bigint"
      ? networkConfig.transactionGasCap
      : TRANSACTION_GAS_CAP;
  const { hash, gasGiven, prepaid } = await send(gas ?? next.gasLimit).catch(
    async (error: unknown) => {
      if (gas !== undefined || next.gasLimit <= cap || !isNodeRefusal(error)) {
        throw error;
      }
      return await send(cap);
    },
  );
  const minedMeanwhile = (cause?: unknown): VaultError =>
    vaultError("VAULT_MINED_MEANWHILE", { network: vault.networkName }, cause);
  const time = blockTime === undefined ? [] : [numberToHexString(blockTime)];
  await rpc.request("evm_mine", time).catch((error: unknown) => {
    // The clock went past that time, or what waited is mined.
    throw isNodeRefusal(error) ? minedMeanwhile(error) : error;
  });
  const executed = await outcomeOf(rpc, hash, gasGiven);
  const { block, gasUsed } = executed;
  if (blockTime !== undefined && block.timestamp !== blockTime) {
    throw minedMeanwhile();
  }
  return {
    ...executed,
    before,
    after: await readAll(parameters, block.number),
    gasNeeded: beforeRefunds(gasUsed),
    feePaid: gasUsed * gasPrice - prepaid,
    notes,
  };
}

/** The words of Hardhat's simulator for a failure without a revert. */
const executionFailure =
  /out of ?gas|opcode|EVM error|stack (?:under|over)flow|jump|instruction/iu;

/**
 * Reads all that is watched in one call, and again by itself what fails there:
 * a contract may refuse a caller that has code, as the lens has, or need more
 * gas than its share. Each call makes a fork fetch whatever it touches.
 */
async function readAll(
  { vault, watched }: SimulationParameters,
  block: BlockId,
): Promise<readonly CallResult[]> {
  const { from: reader } = vault.readContext({});
  const reads = readsOf(watched, reader);
  const lens = { [reader]: { code: simulationLensCode } };
  const call = async (to: string, data: string): Promise<CallResult> => {
    const overrides = to === reader ? [lens] : [];
    try {
      const request = { from: reader, to, data };
      return await vault.rpc.call(request, block, ...overrides);
    } catch (error) {
      if (
        isNodeRefusal(error) &&
        executionFailure.test(String(error.details["problem"]))
      ) {
        return { reverted: decodeRevertReason("0x") };
      }
      throw error;
    }
  };
  const together = parseRead(await call(reader, encodeRead(reads)));
  return await Promise.all(
    reads.map(async ({ target, data }, index) => {
      const answer = together[index];
      return answer !== undefined && "data" in answer
        ? answer
        : await call(target, data);
    }),
  );
}

const TRACE = "debug_traceTransaction";

/** @param hash Of a transaction that was mined. */
async function outcomeOf(
  rpc: RpcClient,
  hash: string,
  gasGiven: bigint,
): Promise<Pick<EngineResult, "block" | "failed" | "gasUsed" | "transfers">> {
  const [receipt, traced] = await Promise.all([
    rpc.receipt(hash),
    rpc.request(TRACE, [hash, { tracer: "callTracer" }]),
  ]);
  assertInvariant(receipt !== undefined, "a transaction that is not mined");
  const { gasUsed } = receipt;
  const { number, timestamp } = await rpc.getBlock(receipt.blockNumber);
  // The outermost call tells why a transaction failed.
  const { output, error } = rpc.parser(TRACE).record(traced);
  return {
    block: { number, timestamp },
    gasUsed,
    transfers: [
      ...nativeTransfersOf(traced),
      ...(transfersIn(receipt.logs) ?? []),
    ],
    failed: receipt.succeeded
      ? undefined
      : {
          data: isHexString(output, true) ? output : "0x",
          message:
            typeof error === "string" && error !== "execution reverted"
              ? error
              : undefined,
          gasUsed,
          gasGiven,
        },
  };
}
