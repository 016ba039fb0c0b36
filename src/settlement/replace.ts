import { max } from "@nomicfoundation/hardhat-utils/bigint";

import { fallbackTo, vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { getBlock } from "../rpc/blocks.js";
import { isNodeRefusal } from "../rpc/errors.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import {
  estimateGas,
  offerAtMost,
  resolveFees,
} from "../settlement-call/fees.js";
import type { FeeLimit, FeeLimits, Fees } from "../settlement-call/fees.js";
import type { RequestedReplacement } from "./options.js";
import { resolveSigner } from "./signer.js";
import { sign } from "./transaction.js";
import type { SentTransaction, SignedTransaction } from "./transaction.js";

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
export function forbiddenBy(
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
  | { readonly kind: "forbidden"; readonly problem: string };

/**
 * Signs a transaction with the same nonce and higher fees.
 *
 * @throws VaultError if it cannot be signed, or the node's prices cannot be read
 */
export async function signReplacement(
  { rpc, connection }: VaultHost,
  limits: FeeLimits,
  newest: SentTransaction,
  kind: RequestedReplacement,
): Promise<SignedReplacement> {
  const { from, nonce, chainId, fees: old } = newest;
  if (old === undefined || newest.raw === undefined) {
    throw cannotReplace(from, nonce);
  }
  const fees = raiseFees(old, await askedFees(rpc, old, limits));
  const problem = forbiddenBy(fees, limits);
  if (problem !== undefined) {
    return { kind: "forbidden", problem };
  }
  const call =
    kind === "bump"
      ? { to: newest.to, data: newest.data, gas: newest.gas }
      : { to: from, data: "0x", gas: await transferGas(rpc, from) };
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
    ...{ raw, hash },
    kind: kind === "bump" ? newest.kind : "cancellation",
    preparedAt: Date.now(),
  };
  return { kind: "signed", transaction };
}

/**
 * Returns the fees that the node asks for now, not the configured ones. The reserve for later
 * base fees is lowered to the limit, as in the first transaction.
 */
async function askedFees(
  rpc: RpcClient,
  old: Fees,
  { maxFeePerGas: limit }: FeeLimits,
): Promise<Fees> {
  const { baseFeePerGas } = await getBlock(rpc);
  const latest =
    "gasPrice" in old ? { baseFeePerGas: undefined } : { baseFeePerGas };
  const asked = await resolveFees(rpc, { gasPrice: "auto" }, latest);
  return (limit === undefined ? asked : offerAtMost(asked, limit.wei)).fees;
}

async function transferGas(rpc: RpcClient, from: string): Promise<bigint> {
  const call = { from, to: from, data: "0x" };
  // Some rollups need more than the transfer itself.
  const estimate = await estimateGas(rpc, call).catch(
    fallbackTo(undefined, isNodeRefusal),
  );
  return estimate !== undefined && "gas" in estimate
    ? max(estimate.gas, TRANSFER_GAS)
    : TRANSFER_GAS;
}
