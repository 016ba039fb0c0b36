import { max, min } from "@nomicfoundation/hardhat-utils/bigint";
import type { NetworkConfig } from "hardhat/types/config";

import { asRecord, listOf } from "../json.js";
import { otherwise } from "../errors.js";
import { isNodeRefusal } from "../rpc/errors.js";
import { RevertedCall } from "../rpc/request.js";
import { TRANSACTION_GAS_CAP } from "../rpc/gas.js";
import { toBlockId } from "../rpc/node.js";
import type { BlockId, CallRequest, Chain, Header } from "../rpc/node.js";

/** What a transaction offers to pay for gas, in wei. */
export type Fees =
  | { readonly gasPrice: bigint }
  | { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint };

// The figures below are those of Hardhat's own handlers, which a transaction
// that is signed here does not pass: the same configuration has to give the
// same transaction, whoever signs it.

/** The base fee may rise by an eighth per block; this many blocks are paid. */
const RISES_PAID = 2n;
const REWARD_PERCENTILE = 50;
/** A gas limit keeps below the block's, which changes from block to block. */
const BLOCK_SHARE = { numerator: 95n, denominator: 100n };
/** What is settled changes from block to block. */
export const HEADROOM = { numerator: 5n, denominator: 4n };

/** The fees by the network's configuration, else by the chain's market. */
export async function resolveFees(
  chain: Chain,
  { gasPrice }: Pick<NetworkConfig, "gasPrice">,
  { baseFeePerGas }: Pick<Header, "baseFeePerGas">,
): Promise<Fees> {
  if (gasPrice !== "auto") {
    return { gasPrice };
  }
  const suggested =
    baseFeePerGas === undefined ? undefined : await suggestFees(chain);
  return suggested ?? { gasPrice: await chain.quantity("eth_gasPrice") };
}

/**
 * The gas limit, or the revert that an estimate runs into. A configured limit
 * or multiplier has it as Hardhat would; else it is what a rehearsal with ample
 * gas needed, or the node's estimate, and a quarter more: the round may have
 * grown by then, and the least gas that "succeeds" is not enough for a contract
 * that goes on when its own calls run out.
 *
 * @param rehearsed Undefined without a rehearsal.
 */
export async function resolveGas(
  chain: Chain,
  { gas, gasMultiplier }: Pick<NetworkConfig, "gas" | "gasMultiplier">,
  call: CallRequest,
  { gasLimit: blockGasLimit }: Pick<Header, "gasLimit">,
  rehearsed?: RehearsedGas,
): Promise<bigint | RevertedCall> {
  if (gas !== "auto") {
    return gas;
  }
  const limit =
    (blockGasLimit * BLOCK_SHARE.numerator) / BLOCK_SHARE.denominator;
  let ample = rehearsed;
  if (ample === undefined || gasMultiplier !== 1) {
    const estimate = await estimateGas(chain, call);
    if (estimate instanceof RevertedCall) {
      return estimate;
    }
    if (gasMultiplier !== 1) {
      const multiplied = BigInt(Math.floor(Number(estimate) * gasMultiplier));
      return multiplied > limit ? limit - 1n : multiplied;
    }
    ample = { used: estimate, needed: estimate };
  }
  const { used, needed } = ample;
  // Whether the chain has the rule is not known; what fits in keeps it.
  const rules =
    used <= TRANSACTION_GAS_CAP
      ? min(blockGasLimit, TRANSACTION_GAS_CAP)
      : blockGasLimit;
  const generous = (needed * HEADROOM.numerator) / HEADROOM.denominator;
  return min(rules, generous > limit ? max(needed, limit) : generous);
}

/** What a rehearsal used of ample gas. */
export interface RehearsedGas {
  readonly used: bigint;
  /** The same before refunds, or as much as that may have been. */
  readonly needed: bigint;
}

/**
 * What the node thinks that the call needs, or the revert it runs into.
 *
 * @param block After which it is made; else the node's choice, which may know
 * of transactions that wait.
 */
export async function estimateGas(
  chain: Chain,
  call: CallRequest,
  block?: BlockId,
): Promise<bigint | RevertedCall> {
  const method = "eth_estimateGas";
  const answer = await chain.request(method, [
    call,
    ...(block === undefined ? [] : [toBlockId(block)]),
  ]);
  return answer instanceof RevertedCall
    ? answer
    : chain.reader(method).quantity(answer);
}

/** The most that a unit of gas can cost, in wei. */
export function maxPricePerGas(fees: Fees): bigint {
  return "gasPrice" in fees ? fees.gasPrice : fees.maxFeePerGas;
}

/** What a unit of gas costs at the current base fee, in wei. */
export function currentPricePerGas(
  fees: Fees,
  { baseFeePerGas }: Pick<Header, "baseFeePerGas">,
): bigint {
  if ("gasPrice" in fees || baseFeePerGas === undefined) {
    return maxPricePerGas(fees);
  }
  return min(baseFeePerGas + fees.maxPriorityFeePerGas, fees.maxFeePerGas);
}

/** @returns Undefined where the node has no fee history. */
async function suggestFees(chain: Chain): Promise<Fees | undefined> {
  const method = "eth_feeHistory";
  const history = await chain
    .request(method, ["0x1", "latest", [REWARD_PERCENTILE]])
    .catch(otherwise(undefined, isNodeRefusal));
  const { baseFeePerGas, reward } = asRecord(history);
  const nextBaseFee = listOf(baseFeePerGas).at(-1);
  const [firstReward] = listOf(listOf(reward)[0]);
  if (nextBaseFee === undefined || firstReward === undefined) {
    return undefined;
  }
  const read = chain.reader(method);
  const paidReward = read.quantity(firstReward);
  const maxPriorityFeePerGas =
    paidReward === 0n ? await suggestPriorityFee(chain) : paidReward;
  const maxFeePerGas =
    (read.quantity(nextBaseFee) * 9n ** RISES_PAID) / 8n ** RISES_PAID;
  return {
    maxFeePerGas:
      maxFeePerGas < maxPriorityFeePerGas
        ? maxFeePerGas + maxPriorityFeePerGas
        : maxFeePerGas,
    maxPriorityFeePerGas,
  };
}

/** At least 1 wei, also where the node has no such method. */
async function suggestPriorityFee(chain: Chain): Promise<bigint> {
  const fee = await chain
    .quantity("eth_maxPriorityFeePerGas")
    .catch(otherwise(1n, isNodeRefusal));
  return fee === 0n ? 1n : fee;
}
