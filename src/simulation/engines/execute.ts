import { isHexString } from "ethers";
import { max } from "@nomicfoundation/hardhat-utils/bigint";
import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import { encodeReadCalls, lensCode, readsIn } from "../../client/lens/lens.js";
import { configuredGasCap } from "../../host.js";
import type { VaultHost } from "../../host.js";
import { assertInvariant, vaultError } from "../../errors.js";
import type { VaultError } from "../../errors.js";
import type { Hex } from "../../protocol/index.js";
import { getBalance } from "../../rpc/accounts.js";
import type { BlockId } from "../../rpc/block-id.js";
import { getBlock, getNextBlock } from "../../rpc/blocks.js";
import { callContract } from "../../rpc/calls.js";
import type { CallResult } from "../../rpc/calls.js";
import { TRANSACTION_GAS_CAP } from "../../rpc/chain.js";
import { isNodeRefusal } from "../../rpc/errors.js";
import type { RpcClient } from "../../rpc/rpc-client.js";
import { decodeRevertReason } from "../../rpc/revert-reason.js";
import { traceTransaction } from "../../rpc/traces.js";
import { getReceipt } from "../../rpc/transactions.js";
import { isCalledOnly, settlementCall } from "../../settlement-call/route.js";
import { nativeTransfersOf, transfersIn } from "../tokens.js";
import { readsOf } from "../watch-list.js";
import { beforeRefunds } from "./engine.js";
import type { Attempt, Run, Watched } from "./engine.js";

/** Nothing that is sent to Hardhat's simulator reaches a live chain. */
export function requireSimulator({ connection, rpc }: VaultHost): RpcClient {
  const { type } = connection.networkConfig;
  const problem = `${rpc.network} is not an in-process network`;
  assertInvariant(type === "edr-simulated", problem);
  return rpc;
}

/**
 * Mines `settleAll` in its own block of an in-process network, as the transaction that
 * would be sent. Automatic mining must be off, and the sender impersonated.
 *
 * The readings before are those of the very block, without the settlement in it: what only
 * the clock moves is no effect of the settlement.
 *
 * @param time Unix seconds; undefined for the chain's own time.
 */
export async function executeSettlement(
  vault: VaultHost,
  { route, gas, isGasGiven, gasPrice = 0n }: Attempt,
  watched: Watched,
  time: number | undefined,
): Promise<Omit<Run, "engine">> {
  const { from: sender } = route;
  const rpc = requireSimulator(vault);
  const { timestamp, baseFeePerGas = 0n } = (await getNextBlock(rpc)).next;
  const blockTime = time ?? timestamp;
  await setNextTime(rpc, blockTime);
  const [balance, isContract] = await Promise.all([
    getBalance(rpc, sender),
    isCalledOnly(rpc, sender),
  ]);
  // The simulator takes no less.
  const price = max(gasPrice, baseFeePerGas);
  const mine = async (limit: bigint): Promise<Omit<Run, "engine">> => {
    const fee = limit * price;
    const lent = isContract || balance < fee ? fee : 0n;
    if (lent > 0n) {
      await setBalance(rpc, sender, balance + lent);
    }
    const before = await readAll(vault, watched, "pending");
    const hash = await rpc.request("eth_sendTransaction", [
      {
        ...settlementCall(route),
        gas: numberToHexString(limit),
        gasPrice: numberToHexString(price),
      },
    ]);
    assertInvariant(isHexString(hash, 32), "a transaction without a hash");
    await rpc.request("evm_mine", []);
    const mined = await readMined(rpc, hash, limit);
    if (mined.block.timestamp !== blockTime) {
      throw minedMeanwhile(rpc);
    }
    return {
      ...mined,
      before,
      after: await readAll(vault, watched, mined.block.number),
      lent,
      feePaid: mined.gasUsed * price,
      isContract,
      gasNeeded: beforeRefunds(mined.gasUsed),
      notes: [],
    };
  };
  // The configured cap, else the cap of the hardforks that have one.
  const cap = configuredGasCap(vault) ?? TRANSACTION_GAS_CAP;
  return await mine(gas).catch(async (error: unknown) => {
    if (isGasGiven || gas <= cap || !isNodeRefusal(error)) {
      throw error;
    }
    return await mine(cap);
  });
}

async function setNextTime(rpc: RpcClient, time: number): Promise<void> {
  await rpc
    .request("evm_setNextBlockTimestamp", [numberToHexString(time)])
    .catch((error: unknown) => {
      // The clock passed that time, or another block was mined.
      throw isNodeRefusal(error) ? minedMeanwhile(rpc, error) : error;
    });
}

function minedMeanwhile({ network }: RpcClient, cause?: unknown): VaultError {
  return vaultError("VAULT_MINED_MEANWHILE", { network }, cause);
}

async function setBalance(
  rpc: RpcClient,
  account: string,
  wei: bigint,
): Promise<void> {
  await rpc.request("hardhat_setBalance", [account, numberToHexString(wei)]);
}

/** Error texts of Hardhat's simulator for a failure without a revert. */
const executionFailure =
  /out of ?gas|opcode|EVM error|stack (?:under|over)flow|jump|instruction/iu;

/**
 * Reads the watch list in one call, and repeats failed reads one by one: a contract may
 * refuse a caller with code, such as the lens, or need more gas than its share.
 */
async function readAll(
  vault: VaultHost,
  watched: Watched,
  block: BlockId,
): Promise<readonly CallResult[]> {
  const { from: reader } = vault.readContext({});
  const reads = readsOf(watched, reader);
  const lens = { [reader]: { code: lensCode } };
  const call = async (to: string, data: string): Promise<CallResult> => {
    const overrides = to === reader ? [lens] : [];
    try {
      const request = { from: reader, to, data };
      return await callContract(vault.rpc, request, block, ...overrides);
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
  const together = readsIn(await call(reader, encodeReadCalls(reads)));
  return await Promise.all(
    reads.map(async ({ target, data }, index) => {
      const answer = together[index];
      return answer !== undefined && "data" in answer
        ? answer
        : await call(target, data);
    }),
  );
}

async function readMined(
  rpc: RpcClient,
  hash: Hex,
  gasGiven: bigint,
): Promise<Pick<Run, "block" | "failed" | "gasUsed" | "logs" | "transfers">> {
  const [receipt, traced] = await Promise.all([
    getReceipt(rpc, hash),
    traceTransaction(rpc, hash, "calls"),
  ]);
  assertInvariant(receipt !== undefined, "a transaction that is not mined");
  const { gasUsed } = receipt;
  const tokenTransfers = transfersIn(receipt.logs);
  assertInvariant(tokenTransfers !== undefined, "a receipt without logs");
  const { number, timestamp } = await getBlock(rpc, receipt.blockNumber);
  // The outermost call has the reason of a failure.
  const { output, error } = traced;
  return {
    block: { number, timestamp },
    gasUsed,
    logs: receipt.logs,
    transfers: [...nativeTransfersOf(traced), ...tokenTransfers],
    failed:
      (receipt.succeeded ?? error === undefined)
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
