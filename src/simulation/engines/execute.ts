import { isHexString } from "ethers";
import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import { encodeReadCalls, lensCode, readsIn } from "../../client/lens/lens.js";
import type { VaultHost } from "../../host.js";
import { assertInvariant, fallbackTo, vaultError } from "../../errors.js";
import type { VaultError } from "../../errors.js";
import type { Hex } from "../../protocol/index.js";
import { getBalance } from "../../rpc/accounts.js";
import type { BlockId } from "../../rpc/block-id.js";
import { getBlock, getNextBlock } from "../../rpc/blocks.js";
import { callContract } from "../../rpc/calls.js";
import type { CallResult } from "../../rpc/calls.js";
import { getGasPrice, TRANSACTION_GAS_CAP } from "../../rpc/chain.js";
import { isNodeRefusal } from "../../rpc/errors.js";
import type { RpcClient } from "../../rpc/rpc-client.js";
import { decodeRevertReason } from "../../rpc/revert-reason.js";
import { traceTransaction } from "../../rpc/traces.js";
import { getReceipt } from "../../rpc/transactions.js";
import { isCalledOnly, settlementCall } from "../../settlement-call/route.js";
import { nativeTransfersOf, transfersIn } from "../tokens.js";
import { readsOf } from "../watch-list.js";
import { beforeRefunds, offerFor } from "./engine.js";
import type { EngineResult, Offer, SimulationParameters } from "./engine.js";

/** Nothing that is sent to Hardhat's simulator reaches a live chain. */
export function requireSimulator({ connection, rpc }: VaultHost): RpcClient {
  const { type } = connection.networkConfig;
  const problem = `${rpc.network} is not an in-process network`;
  assertInvariant(type === "edr-simulated", problem);
  return rpc;
}

/**
 * Mines `settleAll` in its own block of an in-process network: first with a sender who need
 * not pay, which shows the gas, and then as the transaction that would be sent, unless the
 * sender cannot pay for that. Automatic mining must be off, and the sender impersonated.
 *
 * The readings before are those of the very block, without the settlement in it: what only
 * the clock moves is no effect of the settlement.
 *
 * @param time Unix seconds; undefined for the chain's own time.
 * @param repeatsFailures False for the first attempt alone if it fails: the mocks of a
 * network count the requests that meet a failure.
 */
export async function executeSettlement(
  parameters: SimulationParameters,
  time: number | undefined,
  repeatsFailures: boolean,
): Promise<EngineResult> {
  const { vault, route, gas, next } = parameters;
  const { from: sender } = route;
  const rpc = requireSimulator(vault);
  const blockTime = time ?? (await getNextBlock(rpc)).next.timestamp;
  const snapshot = await rpc.request("evm_snapshot", []);
  await setNextTime(rpc, blockTime);
  const [answersBefore, gasPrice, balance, isCalled, price] = await Promise.all(
    [
      readAll(parameters, "pending"),
      getGasPrice(rpc),
      getBalance(rpc, sender),
      isCalledOnly(rpc, sender),
      parameters.price,
    ],
  );
  const mine = async (
    offer: Offer,
    paysNothing: boolean,
  ): Promise<EngineResult> => {
    // Subtracted before any code runs, so the contract sees the sender's own balance.
    const prepaid = paysNothing ? offer.gas * offer.gasPrice : 0n;
    if (paysNothing) {
      await setBalance(rpc, sender, balance + prepaid);
    }
    const hash = await rpc.request("eth_sendTransaction", [
      {
        ...settlementCall(route),
        gas: numberToHexString(offer.gas),
        gasPrice: numberToHexString(offer.gasPrice),
      },
    ]);
    assertInvariant(isHexString(hash, 32), "a transaction without a hash");
    await rpc.request("evm_mine", []);
    const mined = await readMined(rpc, hash, offer.gas);
    const { block, gasUsed } = mined;
    if (block.timestamp !== blockTime) {
      throw minedMeanwhile(rpc);
    }
    // As if it had not paid for gas.
    const left = await getBalance(rpc, sender);
    const fee = gasUsed * offer.gasPrice;
    await setBalance(rpc, sender, left + fee - prepaid);
    return {
      ...mined,
      answersBefore,
      answersAfter: await readAll(parameters, block.number),
      feePaid: 0n,
      gasNeeded: beforeRefunds(gasUsed),
      hasAllTransfers: true,
      notes: [],
    };
  };
  // The configured cap, else the cap of the hardforks that have one.
  const cap = configuredGasCap(vault) ?? TRANSACTION_GAS_CAP;
  const most = gas ?? next.gasLimit;
  // An attempt that is final if it fails is paid for, as what would be sent; but not by a
  // sender with code, for whom another account pays.
  const paysNothing = repeatsFailures || isCalled || balance < most * gasPrice;
  const first = await mine({ gas: most, gasPrice }, paysNothing).catch(
    async (error: unknown) => {
      if (gas !== undefined || most <= cap || !isNodeRefusal(error)) {
        throw error;
      }
      return await mine({ gas: cap, gasPrice }, paysNothing);
    },
  );
  const isFinal = isCalled || (first.failed !== undefined && !repeatsFailures);
  const offer = isFinal
    ? undefined
    : offerFor(parameters, first, price, balance);
  if (offer === undefined) {
    return { ...first, notes: isCalled || !paysNothing ? [] : [SAW_ALL] };
  }
  await rpc.request("evm_revert", [snapshot]);
  await setNextTime(rpc, blockTime);
  // The simulator's block may have a higher base fee than the chain's.
  return await mine(offer, false).catch(
    fallbackTo({ ...first, notes: [SAW_ALL] }, isNodeRefusal),
  );
}

const SAW_ALL =
  "The contract saw the sender's balance before it pays for gas: one that reads the balance can do something else when it is mined.";

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

/** @returns Undefined if the configuration sets none. */
export function configuredGasCap({
  connection: { networkConfig },
}: VaultHost): bigint | undefined {
  const cap =
    networkConfig.type === "edr-simulated" && networkConfig.transactionGasCap;
  return typeof cap === "bigint" ? cap : undefined;
}

/** Error texts of Hardhat's simulator for a failure without a revert. */
const executionFailure =
  /out of ?gas|opcode|EVM error|stack (?:under|over)flow|jump|instruction/iu;

/**
 * Reads the watch list in one call, and repeats failed reads one by one: a contract may
 * refuse a caller with code, such as the lens, or need more gas than its share.
 */
async function readAll(
  { vault, watched }: SimulationParameters,
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
): Promise<
  Pick<EngineResult, "block" | "failed" | "gasUsed" | "logs" | "transfers">
> {
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
