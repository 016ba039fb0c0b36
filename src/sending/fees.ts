import { max, min } from "@nomicfoundation/hardhat-utils/bigint";
import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";
import type { NetworkConfig } from "hardhat/types/config";

import { parseUint } from "../client/inputs.js";
import { fallbackTo, vaultError } from "../errors.js";
import type { GivenValue } from "../errors.js";
import { settingsPath } from "../host.js";
import type { VaultHost } from "../host.js";
import { formatGasPrice } from "../protocol/round.js";
import { TRANSACTION_GAS_CAP } from "../rpc/blocks.js";
import type { Header } from "../rpc/blocks.js";
import { isDevelopmentNode } from "../rpc/chain.js";
import type { Call } from "../rpc/chain.js";
import { isNodeError } from "../rpc/errors.js";
import type { Reverted } from "../rpc/revert-reason.js";
import type { RpcClient } from "../rpc/rpc-client.js";

/** Gas prices that a transaction offers, in wei. */
export type Fees =
  | { readonly gasPrice: bigint }
  | { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint };

/** Price of a unit of gas, in wei. */
export interface GasPrice {
  readonly fees: Fees;
  /** At the current base fee. */
  readonly current: bigint;
  readonly highest: bigint;
}

/** Most that a transaction may offer, in wei per gas, and the setting of each limit. */
export interface FeeLimits {
  /** On legacy chains the limit of the gas price. */
  readonly maxFeePerGas?: FeeLimit | undefined;
  readonly maxPriorityFeePerGas?: FeeLimit | undefined;
}

interface FeeLimit {
  readonly wei: bigint;
  readonly setting: string;
}

/** Tip in wei if the node suggests none, as in ethers' `getFeeData`. */
const USUAL_TIP = 1_000_000_000n;
/** A limit that leaves room for dearer days, and none for an absurd price. */
const LIMIT_TIMES = 10n;

/** @param maxFeePerGas The option, in wei; it may only lower the limit of the settings. */
export function parseFeeLimits(
  { settings, networkName, instanceName }: VaultHost,
  maxFeePerGas?: bigint,
): FeeLimits {
  const limitOf = (name: "maxFeePerGasLimit" | "maxPriorityFeePerGasLimit") => {
    const wei = settings[name];
    const setting = `${settingsPath(networkName, instanceName)}.${name}`;
    return wei === undefined ? undefined : { wei, setting };
  };
  const configured = limitOf("maxFeePerGasLimit");
  const setting = "maxFeePerGas";
  const asked =
    maxFeePerGas === undefined
      ? undefined
      : { wei: parseUint(maxFeePerGas, setting), setting };
  const isLower =
    asked !== undefined && asked.wei < (configured?.wei ?? Infinity);
  return {
    maxFeePerGas: isLower ? asked : configured,
    maxPriorityFeePerGas: limitOf("maxPriorityFeePerGasLimit"),
  };
}

/**
 * Returns the configured gas price, else the fees of ethers' `getFeeData`: twice the
 * base fee plus the tip that the node suggests.
 */
export async function resolveFees(
  rpc: RpcClient,
  { gasPrice }: Pick<NetworkConfig, "gasPrice">,
  next: Pick<Header, "baseFeePerGas"> | Promise<Pick<Header, "baseFeePerGas">>,
): Promise<GasPrice> {
  if (gasPrice !== "auto") {
    return priceOf({ gasPrice });
  }
  const [{ baseFeePerGas }, maxPriorityFeePerGas] = await Promise.all([
    next,
    rpc
      .requestQuantity("eth_maxPriorityFeePerGas")
      .catch(fallbackTo(USUAL_TIP, isNodeError)),
  ]);
  if (baseFeePerGas === undefined) {
    return priceOf({ gasPrice: await rpc.requestQuantity("eth_gasPrice") });
  }
  const maxFeePerGas = 2n * baseFeePerGas + maxPriorityFeePerGas;
  return priceOf({ maxFeePerGas, maxPriorityFeePerGas }, baseFeePerGas);
}

export function priceOf(fees: Fees, baseFeePerGas = 0n): GasPrice {
  if ("gasPrice" in fees) {
    return { fees, current: fees.gasPrice, highest: fees.gasPrice };
  }
  const { maxFeePerGas: highest, maxPriorityFeePerGas: tip } = fees;
  return { fees, current: min(highest, baseFeePerGas + tip), highest };
}

/**
 * Lowers the highest price, never below the current one: twice the base fee is a reserve for
 * the blocks until the transaction is mined.
 */
export function offerAtMost(
  price: GasPrice,
  most: bigint | undefined,
): GasPrice {
  const { fees, current } = price;
  if ("gasPrice" in fees || most === undefined || most >= price.highest) {
    return price;
  }
  const highest = max(most, current);
  return { fees: { ...fees, maxFeePerGas: highest }, current, highest };
}

/** @throws VaultError VAULT_FEE_ABOVE_LIMIT */
export function requireWithin(
  network: string,
  price: bigint,
  fees: Fees,
  limits: FeeLimits,
): void {
  const tip = "gasPrice" in fees ? 0n : fees.maxPriorityFeePerGas;
  for (const [what, wei, limit] of [
    ["a priority fee", tip, limits.maxPriorityFeePerGas],
    ["a price", price, limits.maxFeePerGas],
  ] as const) {
    if (limit !== undefined && wei > limit.wei) {
      throw vaultError("VAULT_FEE_ABOVE_LIMIT", {
        network,
        what,
        price: givenPrice(wei),
        limit: givenPrice(limit.wei),
        setting: limit.setting,
      });
    }
  }
}

function givenPrice(wei: bigint): GivenValue {
  return { shown: formatGasPrice(wei), value: String(wei) };
}

/**
 * Refuses to sign on a live chain what no person agreed to, unless a limit bounds the fee:
 * a node may ask for any price. All that is sent passes this.
 *
 * @throws VaultError VAULT_FEE_LIMIT_NEEDED with the line to write
 */
export async function requireFeeLimit(
  { rpc, networkName: network, connection }: VaultHost,
  { current }: GasPrice,
  { maxFeePerGas }: FeeLimits,
): Promise<void> {
  const isBounded =
    maxFeePerGas !== undefined ||
    connection.networkConfig.type !== "http" ||
    (await isDevelopmentNode(rpc));
  if (!isBounded) {
    const limit = max(current, 1n) * LIMIT_TIMES;
    const details = { network, price: givenPrice(current), limit };
    throw vaultError("VAULT_FEE_LIMIT_NEEDED", details);
  }
}

/**
 * Returns fees that nodes accept in place of the old ones: each an eighth more, rounded
 * up, and at least what the node asks for now. A fee of 0 becomes 1: both must rise.
 */
export function raiseFees(old: Fees, asked: Fees): Fees {
  const price = "gasPrice" in asked ? asked.gasPrice : asked.maxFeePerGas;
  if ("gasPrice" in old) {
    return { gasPrice: max(raise(old.gasPrice), price) };
  }
  const askedTip = "gasPrice" in asked ? 0n : asked.maxPriorityFeePerGas;
  const tip = max(raise(old.maxPriorityFeePerGas), askedTip);
  return {
    maxFeePerGas: max(max(raise(old.maxFeePerGas), price), tip),
    maxPriorityFeePerGas: tip,
  };
}

function raise(price: bigint): bigint {
  return price === 0n ? 1n : (price * 9n + 7n) / 8n;
}

export interface Gas {
  readonly gas: bigint;
}

export interface SimulatedGas {
  readonly used: bigint;
  /** Gas used before refunds, or an upper bound of it. */
  readonly needed: bigint;
}

/**
 * Returns the gas limit, or the revert of an estimate. A configured limit or multiplier
 * applies as in Hardhat. Otherwise a quarter is added to the simulated or estimated gas:
 * the round may grow until then, and a contract may go on after its calls run out of gas.
 *
 * @param call With the price that it will be sent at: a contract may do something else if
 * somebody pays for gas.
 */
export async function resolveGas(
  rpc: RpcClient,
  {
    gas = "auto",
    gasMultiplier = 1,
  }: Partial<Pick<NetworkConfig, "gas" | "gasMultiplier">>,
  call: Call & { readonly from: string; readonly gasPrice?: bigint },
  { gasLimit: blockGasLimit }: Pick<Header, "gasLimit">,
  simulated?: SimulatedGas,
): Promise<Gas | Reverted> {
  if (gas !== "auto") {
    return { gas };
  }
  let found = simulated;
  if (found === undefined) {
    const { gasPrice, ...free } = call;
    const priced =
      gasPrice === undefined
        ? undefined
        : await estimateGas(rpc, {
            ...free,
            gasPrice: numberToHexString(gasPrice),
          })
            // The account may be too poor to pay.
            .catch(fallbackTo(undefined, isNodeError));
    const estimate = priced ?? (await estimateGas(rpc, free));
    if ("reverted" in estimate) {
      return estimate;
    }
    found = { used: estimate.gas, needed: estimate.gas };
  }
  const { used, needed } = found;
  const wanted =
    gasMultiplier === 1
      ? (needed * 5n) / 4n
      : BigInt(Math.floor(Number(needed) * gasMultiplier));
  // The gas limit of later blocks may be lower.
  const most = (blockGasLimit * 95n) / 100n;
  // The chain may cap the gas of a transaction: stay below the cap if the gas used fits.
  const highest =
    used <= TRANSACTION_GAS_CAP
      ? min(blockGasLimit, TRANSACTION_GAS_CAP)
      : blockGasLimit;
  return { gas: min(highest, wanted > most ? max(needed, most) : wanted) };
}

export async function estimateGas(
  rpc: RpcClient,
  call: Call & { readonly from: string; readonly gasPrice?: string },
): Promise<Gas | Reverted> {
  const method = "eth_estimateGas";
  const answer = await rpc.requestOrRevert(method, [call]);
  return "reverted" in answer
    ? answer
    : { gas: rpc.parser(method).quantity(answer.result) };
}
