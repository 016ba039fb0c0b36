import { max } from "@nomicfoundation/hardhat-utils/bigint";

import { checksumAddress } from "../client/inputs.js";
import { fallbackTo, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { Address, Hex } from "../protocol/index.js";
import { getBlock } from "../rpc/blocks.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import {
  estimateGas,
  offerAtMost,
  priceOf,
  requireFeeLimit,
  requireWithin,
  resolveFees,
} from "./fees.js";
import type { FeeLimits, Fees } from "./fees.js";
import { resolveSigner } from "./signer.js";
import type { Signer } from "./signer.js";
import { sign } from "./transaction.js";
import type { SentTransaction } from "./transaction.js";

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

export type SignedReplacement = SentTransaction & { readonly hash: Hex };

/** Gas of a transfer to an account without code. */
const TRANSFER_GAS = 21_000n;

/**
 * Refuses at once what cannot be replaced.
 *
 * @throws VaultError VAULT_CANNOT_REPLACE, VAULT_UNKNOWN_SIGNER, VAULT_NO_SIGNER
 */
export async function requireReplaceable(
  { rpc, connection }: VaultHost,
  transaction: SentTransaction,
): Promise<Signer> {
  if (transaction.raw === undefined) {
    throw cannotReplace(transaction);
  }
  const { from } = transaction;
  return await resolveSigner(rpc, connection.networkConfig, from);
}

function cannotReplace({ from, nonce }: SentTransaction): VaultError {
  return vaultError("VAULT_CANNOT_REPLACE", {
    from,
    nonce,
    problem: "the node or the wallet of that account signs and sends by itself",
    remedy: `Replace it there, by a transaction with nonce ${nonce} and a higher fee; then run it again with the option resume alone.`,
  });
}

/**
 * Signs a transaction with the same nonce and higher fees. Unless a person agrees to the
 * price, a limit has to bound it.
 *
 * @throws Error of a person who does not agree; VaultError if a limit forbids it, if it cannot
 * be signed, or if the node's prices cannot be read
 */
export async function signReplacement(
  vault: VaultHost,
  newest: SentTransaction,
  kind: RequestedReplacement,
  {
    limits,
    confirmReplacement: confirm,
  }: {
    readonly limits: FeeLimits;
    /** Asks a person. Default: nobody is asked. */
    readonly confirmReplacement?:
      | ((
          replacement: ReplacementPreflight,
        ) => Promise<true | string | VaultError>)
      | undefined;
  },
): Promise<SignedReplacement> {
  const { rpc } = vault;
  const signer = await requireReplaceable(vault, newest);
  // Only in process, where nothing is signed, are there no fees.
  const { from, nonce, chainId, fees: old = { gasPrice: 0n } } = newest;
  const { baseFeePerGas } = await getBlock(rpc);
  // What the node asks for now, not what is configured.
  const asked = await resolveFees(
    rpc,
    { gasPrice: "auto" },
    { baseFeePerGas: "gasPrice" in old ? undefined : baseFeePerGas },
  );
  const { maxFeePerGas: limit } = limits;
  const offered = limit === undefined ? asked : offerAtMost(asked, limit.wei);
  const fees = raiseFees(old, offered.fees);
  const price = priceOf(fees, baseFeePerGas);
  requireWithin(rpc.network, price.highest, fees, limits);
  if (confirm === undefined) {
    await requireFeeLimit(vault, price, limits);
  }
  const call =
    kind === "bump"
      ? { to: newest.to, data: newest.data, gas: newest.gas }
      : { to: from, data: "0x", gas: await transferGas(rpc, from) };
  const answer = await confirm?.({
    chainId,
    from: checksumAddress(from),
    nonce,
    hash: newest.hash ?? null,
    earlierMaxCost: newest.gas * priceOf(old).highest,
    cost: call.gas * price.current,
    maxCost: call.gas * price.highest,
  });
  if (answer !== undefined && answer !== true) {
    throw typeof answer === "string" ? new Error(answer) : answer;
  }
  const unsigned = { ...call, from, chainId, nonce, fees };
  const { raw, hash } = await sign(rpc, signer, unsigned);
  if (hash === undefined) {
    throw cannotReplace(newest);
  }
  return {
    ...unsigned,
    raw,
    hash,
    kind: kind === "bump" ? newest.kind : "cancellation",
    preparedAt: Date.now(),
  };
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

async function transferGas(rpc: RpcClient, from: string): Promise<bigint> {
  // Some rollups need more than the transfer itself.
  const estimate = await estimateGas(rpc, { from, to: from, data: "0x" }).catch(
    fallbackTo(undefined, ({ code }) => code === "VAULT_RPC_ERROR"),
  );
  return estimate !== undefined && "gas" in estimate
    ? max(estimate.gas, TRANSFER_GAS)
    : TRANSFER_GAS;
}
