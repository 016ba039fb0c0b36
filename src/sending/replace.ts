import { max, min } from "@nomicfoundation/hardhat-utils/bigint";

import { VaultError, fallbackTo, vaultError } from "../errors.js";
import { checksumAddress } from "../client/inputs.js";
import type { VaultHost } from "../host.js";
import type { Address, Hex } from "../protocol/index.js";
import { getBlock } from "../rpc/blocks.js";
import type { Block } from "../rpc/blocks.js";

import type { RpcClient } from "../rpc/rpc-client.js";
import {
  estimateGas,
  offerAtMost,
  requireFeeLimit,
  resolveFees,
} from "./fees.js";
import type { FeeLimit, FeeLimits, Fees, GasPrice } from "./fees.js";
import { resolveSigner } from "./signer.js";
import { sign } from "./transaction.js";
import type { SentTransaction, SignedTransaction } from "./transaction.js";

export type RequestedReplacement = "bump" | "cancel";

/** Replacement to confirm: the same call at a higher fee. Costs are in wei. */
export interface ReplacementPreflight {
  readonly chainId: number;
  readonly from: Address;
  readonly nonce: number;
  /** Of the transaction that is replaced; null if it is not known. */
  readonly hash: Hex | null;
  /** Highest possible cost of the transaction that is replaced. */
  readonly earlierMaxCost: bigint;
  /** Cost of the replacement at the current price. */
  readonly cost: bigint;
  /** Highest possible cost of the replacement. */
  readonly maxCost: bigint;
}

type ConfirmReplacement = (
  replacement: ReplacementPreflight,
) => Promise<true | string | VaultError>;

/** Gas of a transfer to an account without code. */
const TRANSFER_GAS = 21_000n;

/**
 * Returns fees that nodes accept in place of the old ones: each an eighth more, rounded
 * up, and at least what the node asks for now. A fee of 0 becomes 1: both must rise.
 */
export function raiseFees(old: Fees, asked: Fees): Fees {
  if ("gasPrice" in old) {
    const price = "gasPrice" in asked ? asked.gasPrice : asked.maxFeePerGas;
    return { gasPrice: max(raise(old.gasPrice), price) };
  }
  const { maxFeePerGas, maxPriorityFeePerGas } =
    "gasPrice" in asked
      ? { maxFeePerGas: asked.gasPrice, maxPriorityFeePerGas: 0n }
      : asked;
  const tip = max(raise(old.maxPriorityFeePerGas), maxPriorityFeePerGas);
  return {
    maxFeePerGas: max(max(raise(old.maxFeePerGas), maxFeePerGas), tip),
    maxPriorityFeePerGas: tip,
  };
}

function raise(price: bigint): bigint {
  return price === 0n ? 1n : (price * 9n + 7n) / 8n;
}

/** @returns The limit that forbids these fees, as a text. */
function forbiddenBy(
  fees: Fees,
  { maxFeePerGas: fee, maxPriorityFeePerGas: tip }: FeeLimits,
): string | undefined {
  const parts: ReadonlyArray<readonly [string, bigint, FeeLimit | undefined]> =
    "gasPrice" in fees
      ? [["gasPrice", fees.gasPrice, fee]]
      : [
          ["maxFeePerGas", fees.maxFeePerGas, fee],
          ["maxPriorityFeePerGas", fees.maxPriorityFeePerGas, tip],
        ];
  for (const [name, price, limit] of parts) {
    if (limit !== undefined && price > limit.wei) {
      return `it would need a ${name} of ${price} wei, and ${limit.setting} allows ${limit.wei} wei`;
    }
  }
  return undefined;
}

/**
 * Refuses at once what cannot be replaced.
 *
 * @throws VaultError VAULT_CANNOT_REPLACE, VAULT_UNKNOWN_SIGNER, VAULT_NO_SIGNER
 */
export async function requireReplaceable(
  { rpc, connection }: VaultHost,
  { raw, from, nonce }: SentTransaction,
): Promise<void> {
  if (raw === undefined) {
    throw cannotReplace(from, nonce);
  }
  await resolveSigner(rpc, connection.networkConfig, from);
}

function cannotReplace(from: string, nonce: number) {
  return vaultError("VAULT_CANNOT_REPLACE", {
    from,
    nonce,
    problem: "the node or the wallet of that account signs and sends by itself",
    remedy: `Replace it there, by a transaction with nonce ${nonce} and a higher fee; then run it again with the option resume alone.`,
  });
}

export type SignedReplacement =
  | { readonly kind: "signed"; readonly transaction: SignedTransaction }
  /** A limit forbids it. */
  | { readonly kind: "forbidden"; readonly problem: string }
  /** A person was asked and did not agree, or nobody could be asked. */
  | { readonly kind: "declined"; readonly problem: string };

/**
 * Signs a transaction with the same nonce and higher fees. Unless a person agrees to the
 * price, a limit has to bound it.
 *
 * @param confirm Asks a person. Default: nobody is asked.
 * @throws VaultError if it cannot be signed, or the node's prices cannot be read
 */
export async function signReplacement(
  vault: VaultHost,
  limits: FeeLimits,
  newest: SentTransaction,
  kind: RequestedReplacement,
  confirm?: ConfirmReplacement,
): Promise<SignedReplacement> {
  const { rpc, connection } = vault;
  const { from, nonce, chainId, fees: old } = newest;
  if (old === undefined || newest.raw === undefined) {
    throw cannotReplace(from, nonce);
  }
  const block = await getBlock(rpc);
  const fees = raiseFees(old, await askedFees(rpc, old, block, limits));
  const price = priceOf(fees, block);
  const problem =
    forbiddenBy(fees, limits) ??
    (confirm === undefined
      ? await unboundedPrice(vault, price, limits)
      : undefined);
  if (problem !== undefined) {
    return { kind: "forbidden", problem };
  }
  const call =
    kind === "bump"
      ? { to: newest.to, data: newest.data, gas: newest.gas }
      : { to: from, data: "0x", gas: await transferGas(rpc, from) };
  const declined = await confirm?.({
    chainId,
    from: checksumAddress(from),
    nonce,
    hash: newest.hash ?? null,
    earlierMaxCost: newest.gas * priceOf(old, block).highest,
    cost: call.gas * price.current,
    maxCost: call.gas * price.highest,
  });
  if (declined !== undefined && declined !== true) {
    const why = VaultError.isVaultError(declined)
      ? declined.shortMessage
      : declined;
    return { kind: "declined", problem: why };
  }
  const signer = await resolveSigner(rpc, connection.networkConfig, from);
  const signed = await sign(rpc, signer, {
    ...call,
    from,
    chainId,
    nonce,
    fees,
  });
  const { raw, hash } = signed;
  if (raw === undefined || hash === undefined) {
    throw cannotReplace(from, nonce);
  }
  const transaction = {
    ...signed,
    raw,
    hash,
    kind: kind === "bump" ? newest.kind : "cancellation",
    preparedAt: Date.now(),
  };
  return { kind: "signed", transaction };
}

/** @returns Why the price needs a limit; undefined if it has one, or needs none. */
async function unboundedPrice(
  vault: VaultHost,
  price: GasPrice,
  limits: FeeLimits,
): Promise<string | undefined> {
  return await requireFeeLimit(vault, price, limits).then(
    () => undefined,
    (error: unknown) => {
      if (
        VaultError.isVaultError(error) &&
        error.code === "VAULT_FEE_LIMIT_NEEDED"
      ) {
        return error.message;
      }
      throw error;
    },
  );
}

function priceOf(fees: Fees, { baseFeePerGas = 0n }: Block): GasPrice {
  if ("gasPrice" in fees) {
    return { fees, current: fees.gasPrice, highest: fees.gasPrice };
  }
  const { maxFeePerGas: highest, maxPriorityFeePerGas: tip } = fees;
  return { fees, current: min(highest, baseFeePerGas + tip), highest };
}

/**
 * Returns the fees that the node asks for now, not the configured ones. The reserve for later
 * base fees is lowered to the limit, as in the first transaction.
 */
async function askedFees(
  rpc: RpcClient,
  old: Fees,
  { baseFeePerGas }: Block,
  { maxFeePerGas: limit }: FeeLimits,
): Promise<Fees> {
  const latest =
    "gasPrice" in old ? { baseFeePerGas: undefined } : { baseFeePerGas };
  const asked = await resolveFees(rpc, { gasPrice: "auto" }, latest);
  return (limit === undefined ? asked : offerAtMost(asked, limit.wei)).fees;
}

async function transferGas(rpc: RpcClient, from: string): Promise<bigint> {
  const call = { from, to: from, data: "0x" };
  // Some rollups need more than the transfer itself.
  const estimate = await estimateGas(rpc, call).catch(
    fallbackTo(undefined, ({ code }) => code === "VAULT_RPC_ERROR"),
  );
  return estimate !== undefined && "gas" in estimate
    ? max(estimate.gas, TRANSFER_GAS)
    : TRANSFER_GAS;
}
