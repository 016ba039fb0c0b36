import { Transaction, isHexString, toQuantity } from "ethers";
import { z } from "zod";

import { VaultError, fallbackTo, hasErrorCode } from "../errors.js";
import {
  recordedAddress,
  recordedCount,
  recordedHash,
  recordedHex,
  recordedInteger,
} from "../files/recorded-values.js";
import type { Schema } from "../files/recorded-values.js";
import { asRecord } from "../json.js";
import type { Hex } from "../protocol/index.js";
import type { RpcClient } from "../rpc/rpc-client.js";
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
  let raw: string | undefined;
  if (signer.sign !== undefined) {
    raw = await signer.sign(toEthers(unsigned));
  } else if (signer.kind === "remote") {
    raw = await signByNode(rpc, unsigned);
  }
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
  // A node that refuses this may still sign when it sends.
  const answer = await rpc
    .request("eth_signTransaction", [toRpcTransaction(unsigned)])
    .catch(fallbackTo(undefined, ({ code }) => code === "VAULT_RPC_ERROR"));
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
  const request: Record<string, string> = { from, data, value: "0x0" };
  if (to !== undefined) {
    request["to"] = to;
  }
  for (const [name, value] of Object.entries({
    chainId,
    nonce,
    gas,
    ...fees,
  })) {
    request[name] = toQuantity(value);
  }
  return request;
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
   * - `refused`: the node answered with an error. A gateway may have forwarded it all the same.
   * - `unanswered`: nobody knows.
   */
  | { readonly kind: "refused" | "unanswered"; readonly problem: string }
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
      return { kind: "refused", problem: answer.reverted.text };
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
        : { kind: "refused", problem: words };
    }
    return hasErrorCode(error, "VAULT_HARDHAT_ERROR")
      ? { kind: "failed", problem, error }
      : { kind: "unanswered", problem };
  }
}

export function describeProblem(error: unknown): string {
  return VaultError.isVaultError(error) ? error.shortMessage : String(error);
}
