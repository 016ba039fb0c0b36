import { max } from "@nomicfoundation/hardhat-utils/bigint";
import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";
import { Transaction, isHexString } from "ethers";
import { z } from "zod";

import { checksumAddress } from "../client/inputs.js";
import { VaultError, fallbackTo, hasErrorCode, vaultError } from "../errors.js";
import {
  recordedAddress,
  recordedCount,
  recordedHash,
  recordedHex,
  recordedInteger,
} from "../files/project-file.js";
import type { Schema } from "../files/project-file.js";
import type { VaultHost } from "../host.js";
import { asRecord } from "../json.js";
import type { Address, Hex } from "../protocol/index.js";
import { getBlock } from "../rpc/blocks.js";
import { isNodeError, ownerOf } from "../rpc/errors.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import {
  estimateGas,
  offerAtMost,
  priceOf,
  raiseFees,
  requireFeeLimit,
  requireWithin,
  resolveFees,
} from "./fees.js";
import type { FeeLimits } from "./fees.js";
import { resolveSigner } from "./signer.js";
import type { Signer } from "./signer.js";

/** A transaction is made of a call, which names its accounts by any string. */
const recordedAccount: Schema<string> = recordedAddress;

/** Form of a transaction in the journal. */
export const sentSchema = z
  .object({
    from: recordedAccount,
    /** Absent only if it deploys its data. */
    to: recordedAccount.optional(),
    data: recordedHex,
    chainId: recordedCount,
    nonce: recordedCount,
    gas: recordedInteger,
    /** Absent in process, where Hardhat fills them in. */
    fees: z
      .union([
        z.object({ gasPrice: recordedInteger }).strict(),
        z
          .object({
            maxFeePerGas: recordedInteger,
            maxPriorityFeePerGas: recordedInteger,
          })
          .strict(),
      ])
      .optional(),
    /** Known before sending if there are signed bytes. */
    hash: recordedHash.optional(),
    /** Absent if only the node can sign: the nonce then identifies the transaction. */
    raw: recordedHex.optional(),
    /** `cancellation`: a transfer of 0 to oneself that uses the nonce. */
    kind: z.enum(["settlement", "cancellation"]),
    /** Unix milliseconds by this machine's clock. */
    preparedAt: recordedCount,
  })
  .strict();

/** One that can be sent repeatedly, but mined only once: all have the same nonce. */
export type SentTransaction = Readonly<z.infer<typeof sentSchema>>;

/** Oldest first; all have the same account and nonce. */
export type SentTransactions = readonly [SentTransaction, ...SentTransaction[]];

/** Added by signing, if that is possible without sending. */
type Signature = Pick<SentTransaction, "hash" | "raw">;

type Unsigned = Omit<SentTransaction, "kind" | "preparedAt" | keyof Signature>;

/** The one that is to be mined. */
export function newestOf({
  transactions,
}: {
  readonly transactions: SentTransactions;
}): SentTransaction {
  return transactions.at(-1) ?? transactions[0];
}

/** Signs if that is possible without sending. */
export async function sign<Given extends Unsigned>(
  rpc: RpcClient,
  signer: Signer,
  unsigned: Given,
): Promise<Given & Signature> {
  const raw = await (signer.kind === "remote"
    ? signByNode(rpc, unsigned)
    : signer.sign?.(toEthers(unsigned)));
  if (raw === undefined) {
    return unsigned;
  }
  const { hash } = Transaction.from(raw);
  return { ...unsigned, raw, hash: recordedHash.parse(hash) };
}

/** @returns Undefined if the node cannot sign without sending. */
async function signByNode(
  rpc: RpcClient,
  unsigned: Unsigned,
): Promise<string | undefined> {
  if (unsigned.fees === undefined) {
    // The node sets the price, so it would sign another transaction.
    return undefined;
  }
  // A node that refuses this may still sign when it sends.
  const answer = await rpc
    .request("eth_signTransaction", [toRpcTransaction(unsigned)])
    .catch(fallbackTo(undefined, isNodeError));
  const { raw = answer } = asRecord(answer);
  return typeof raw === "string" && isSignedAs(raw, unsigned) ? raw : undefined;
}

/** Checks that the bytes are this transaction, signed by its sender. */
export function isSignedAs(
  raw: string,
  transaction: Signature & Unsigned,
): boolean {
  try {
    const signed = Transaction.from(raw);
    return (
      signed.unsignedSerialized === toEthers(transaction).unsignedSerialized &&
      signed.from === transaction.from &&
      (transaction.hash === undefined || signed.hash === transaction.hash)
    );
  } catch {
    return false;
  }
}

export function toRpcTransaction(
  unsigned: Unsigned,
): Readonly<Record<string, string>> {
  const { from, to, data, chainId, nonce, gas, fees } = unsigned;
  const numbers = { value: 0n, chainId, nonce, gas, ...fees };
  const quantities = Object.entries(numbers).map(
    ([name, value]) => [name, numberToHexString(value)] as const,
  );
  const call = to === undefined ? { from, data } : { from, to, data };
  return { ...call, ...Object.fromEntries(quantities) };
}

function toEthers(unsigned: Unsigned): Transaction {
  const { to = null, data, chainId, nonce, gas: gasLimit, fees } = unsigned;
  const type = fees === undefined || "gasPrice" in fees ? 0 : 2;
  const values = { type, to, data, value: 0n, chainId, nonce, gasLimit };
  return Transaction.from({ ...values, ...fees });
}

export type SendAnswer =
  | { readonly kind: "accepted"; readonly hash: Hex | undefined }
  /**
   * - `rejected`: the node answered with an error. A gateway may have forwarded it all the same.
   * - `unanswered`: nobody knows.
   */
  | { readonly kind: "rejected" | "unanswered"; readonly problem: string }
  /** Thrown by this process, such as by a plugin for a wallet: no answer of a node. */
  | {
      readonly kind: "failed";
      readonly problem: string;
      readonly error: VaultError;
    };

/** Error texts of geth, erigon, nethermind, besu, reth, anvil and Hardhat. */
const ALREADY_KNOWN =
  /already ?(?:known|imported|exists)|known transaction|already in (?:the )?(?:mem)?pool/iu;

/** Sends once. Never throws: after a failure, the transaction may have left. */
export async function send(
  rpc: RpcClient,
  transaction: Signature & Unsigned,
): Promise<SendAnswer> {
  const { raw, hash } = transaction;
  try {
    const answer = await (raw === undefined
      ? rpc.requestOrRevert("eth_sendTransaction", [
          toRpcTransaction(transaction),
        ])
      : rpc.requestOrRevert("eth_sendRawTransaction", [raw]));
    if ("reverted" in answer) {
      return { kind: "rejected", problem: answer.reverted.text };
    }
    const { result } = answer;
    if (!isHexString(result, 32)) {
      const problem = "the node answered something else than a hash";
      return { kind: "unanswered", problem };
    }
    // The hash of the signed bytes takes precedence over the node's.
    return { kind: "accepted", hash: hash ?? result };
  } catch (error) {
    const problem = describeProblem(error);
    if (hasErrorCode(error, "VAULT_RPC_ERROR")) {
      const words = String(error.details["problem"]);
      return ALREADY_KNOWN.test(words)
        ? { kind: "accepted", hash }
        : { kind: "rejected", problem: words };
    }
    // Only one that Hardhat or a plugin marks as its own shows that signed bytes did not leave.
    return hasErrorCode(error, "VAULT_HARDHAT_ERROR") &&
      (raw === undefined || ownerOf(error.cause) !== undefined)
      ? { kind: "failed", problem, error }
      : { kind: "unanswered", problem };
  }
}

export function describeProblem(error: unknown): string {
  return VaultError.isVaultError(error) ? error.shortMessage : String(error);
}

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

interface ReplacementTerms {
  /** Of the account that sent the first one. */
  readonly signer: Signer;
  readonly limits: FeeLimits;
  /** Asks a person. Default: nobody is asked. */
  readonly confirmReplacement?:
    | ((
        replacement: ReplacementPreflight,
      ) => Promise<true | string | VaultError>)
    | undefined;
}

/** Gas of a transfer to an account without code. */
const TRANSFER_GAS = 21_000n;

/**
 * Finds the key that can sign in the place of a transaction.
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
  const { networkConfig } = connection;
  return await resolveSigner(rpc, networkConfig, transaction.from);
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
  { signer, limits, confirmReplacement: confirm }: ReplacementTerms,
): Promise<SignedReplacement> {
  const { rpc } = vault;
  // Only in process, where nothing is signed, are there no fees.
  const { from, nonce, chainId, fees: old = { gasPrice: 0n } } = newest;
  const { baseFeePerGas } = await getBlock(rpc);
  // What the node asks for now, not what is configured.
  const asked = await resolveFees(
    rpc,
    { gasPrice: "auto" },
    { baseFeePerGas: "gasPrice" in old ? undefined : baseFeePerGas },
  );
  const offered = offerAtMost(asked, limits.maxFeePerGas?.wei);
  const fees = raiseFees(old, offered.fees);
  const price = priceOf(fees, baseFeePerGas);
  requireWithin(rpc.network, price.highest, fees, limits);
  const isUnattended = confirm === undefined;
  if (isUnattended) {
    await requireFeeLimit(vault, price, limits);
  }
  const call =
    kind === "bump"
      ? { to: newest.to, data: newest.data, gas: newest.gas }
      : { to: from, data: "0x", gas: await transferGas(rpc, from) };
  const replacement = {
    chainId,
    from: checksumAddress(from),
    nonce,
    hash: newest.hash ?? null,
    earlierMaxCost: newest.gas * priceOf(old).highest,
    cost: call.gas * price.current,
    maxCost: call.gas * price.highest,
  };
  // JavaScript may return another type: only true confirms.
  const answer: unknown = isUnattended || (await confirm(replacement));
  if (answer !== true) {
    const problem = typeof answer === "string" ? new Error(answer) : answer;
    throw problem instanceof Error
      ? problem
      : vaultError("VAULT_NOT_CONFIRMED", {});
  }
  const unsigned = { ...call, from, chainId, nonce, fees };
  const { hash, ...signed } = await sign(rpc, signer, unsigned);
  if (hash === undefined) {
    throw cannotReplace(newest);
  }
  const made = kind === "bump" ? newest.kind : "cancellation";
  return { ...signed, hash, kind: made, preparedAt: Date.now() };
}

async function transferGas(rpc: RpcClient, from: string): Promise<bigint> {
  // Some rollups need more than the transfer itself.
  const estimate = await estimateGas(rpc, { from, to: from, data: "0x" }).catch(
    fallbackTo(undefined, isNodeError),
  );
  return estimate !== undefined && "gas" in estimate
    ? max(estimate.gas, TRANSFER_GAS)
    : TRANSFER_GAS;
}
