import { Transaction, isHexString, toQuantity } from "ethers";
import { z } from "zod";

import { fallbackTo } from "../errors.js";
import { asRecord } from "../json.js";
import type { Hex } from "../protocol/index.js";

import type { RpcClient } from "../rpc/rpc-client.js";
import {
  recordedAddress,
  recordedCount,
  recordedHash,
  recordedHex,
  recordedInteger,
} from "../files/recorded-values.js";
import type { Schema } from "../files/recorded-values.js";
import type { Signer } from "./signer.js";

/** A transaction is made of a call, which names its accounts by any string. */
const recordedAccount: Schema<string> = recordedAddress;

const transactionSchema = z
  .object({
    from: recordedAccount,
    to: recordedAccount,
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
  })
  .strict();

/** Transaction that can be sent repeatedly, but mined only once. */
type PreparedTransaction = Readonly<z.infer<typeof transactionSchema>>;

/** Form of a transaction in the journal. */
export const sentSchema = transactionSchema.extend({
  /** `cancellation`: a transfer of 0 to oneself that uses the nonce. */
  kind: z.enum(["settlement", "cancellation"]),
  /** Unix milliseconds by this machine's clock. */
  preparedAt: recordedCount,
});

/** One of the transactions of a settlement; all have the same nonce. */
export type SentTransaction = Readonly<z.infer<typeof sentSchema>>;

/** One that was signed without sending it: its bytes can be sent as often as needed. */
export type SignedTransaction = SentTransaction & {
  readonly raw: string;
  readonly hash: Hex;
};

/** Without an account to send to, it deploys its data. */
type UnsignedTransaction = Omit<PreparedTransaction, "hash" | "raw" | "to"> & {
  readonly to?: string;
};

/** Added by signing, if that is possible without sending. */
type Signature = Pick<PreparedTransaction, "hash" | "raw">;

export type SendableTransaction = Signature & UnsignedTransaction;

/** Signs if that is possible without sending. */
export async function sign<Unsigned extends UnsignedTransaction>(
  rpc: RpcClient,
  signer: Signer,
  unsigned: Unsigned,
): Promise<Signature & Unsigned> {
  const raw =
    signer.sign === undefined
      ? signer.kind === "remote"
        ? await signByNode(rpc, unsigned)
        : undefined
      : await signer.sign(toEthers(unsigned));
  return raw === undefined
    ? unsigned
    : { ...unsigned, raw, hash: hashOfSigned(raw) };
}

function hashOfSigned(raw: string): Hex | undefined {
  const { hash } = Transaction.from(raw);
  return isHexString(hash, 32) ? hash : undefined;
}

export function toRpcTransaction(
  unsigned: UnsignedTransaction,
): Readonly<Record<string, string>> {
  const { from, to, data, chainId, nonce, gas, fees } = unsigned;
  const numbers = Object.entries({ chainId, nonce, gas, ...fees }).map(
    ([name, value]) => [name, toQuantity(value)] as const,
  );
  return {
    from,
    ...(to !== undefined && { to }),
    data,
    value: "0x0",
    ...Object.fromEntries(numbers),
  };
}

function toEthers(unsigned: UnsignedTransaction): Transaction {
  const { to, data, chainId, nonce, gas: gasLimit, fees } = unsigned;
  const type = fees === undefined || "gasPrice" in fees ? 0 : 2;
  const values = { type, data, value: 0n, chainId, nonce, gasLimit };
  return Transaction.from({ to: to ?? null, ...values, ...fees });
}

/** @returns Undefined if the node cannot sign without sending. */
async function signByNode(
  rpc: RpcClient,
  unsigned: UnsignedTransaction,
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
  unsigned: SendableTransaction,
): boolean {
  try {
    const signed = Transaction.from(raw);
    return (
      signed.unsignedSerialized === toEthers(unsigned).unsignedSerialized &&
      signed.from === unsigned.from &&
      (unsigned.hash === undefined || signed.hash === unsigned.hash)
    );
  } catch {
    return false;
  }
}

/** Oldest first; all have the same account and nonce. */
export type SentTransactions = readonly [SentTransaction, ...SentTransaction[]];

/** The one that is to be mined. */
export function newestOf({
  transactions,
}: {
  readonly transactions: SentTransactions;
}): SentTransaction {
  return transactions.at(-1) ?? transactions[0];
}
