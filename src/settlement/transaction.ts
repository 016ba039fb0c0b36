import { Transaction, isHexString, toQuantity } from "ethers";
import { z } from "zod";

import type { RpcClient } from "../rpc/rpc-client.js";
import { asRecord } from "../json.js";
import { fallbackTo } from "../errors.js";
import { isNodeRefusal } from "../rpc/errors.js";
import {
  recordedAddress,
  recordedCount,
  recordedHex,
  recordedInteger,
} from "../recorded-values.js";
import type { Signer } from "./signer.js";

/** As the journal has it. */
export const transactionSchema = z
  .object({
    from: recordedAddress,
    to: recordedAddress,
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
    /** Known before anything leaves if there are signed bytes. */
    hash: z
      .string()
      .refine((value): boolean => isHexString(value, 32))
      .optional(),
    /**
     * The signed bytes. Absent where only the node can sign: then the nonce is
     * what makes it the same transaction each time.
     */
    raw: recordedHex.optional(),
  })
  .strict();

/** A transaction that can be sent again and again and be mined once. */
export type PreparedTransaction = Readonly<z.infer<typeof transactionSchema>>;

/** The settlement's transaction, complete but for the signature. */
type UnsignedTransaction = Omit<PreparedTransaction, "hash" | "raw">;

/** Signs as far as that is possible without sending. */
export async function sign(
  rpc: RpcClient,
  signer: Signer,
  unsigned: UnsignedTransaction,
): Promise<PreparedTransaction> {
  const raw =
    signer.sign === undefined
      ? signer.kind === "remote"
        ? await signByNode(rpc, unsigned)
        : undefined
      : await signer.sign(toEthers(unsigned));
  return raw === undefined
    ? unsigned
    : { ...unsigned, raw, hash: Transaction.from(raw).hash ?? undefined };
}

/** The transaction as `eth_sendTransaction` takes it. */
export function toRpcTransaction(
  unsigned: UnsignedTransaction,
): Readonly<Record<string, string>> {
  const { from, to, data, chainId, nonce, gas, fees } = unsigned;
  const numbers = Object.entries({ chainId, nonce, gas, ...fees }).map(
    ([name, value]) => [name, toQuantity(value)] as const,
  );
  return { from, to, data, value: "0x0", ...Object.fromEntries(numbers) };
}

function toEthers(unsigned: UnsignedTransaction): Transaction {
  const { to, data, chainId, nonce, gas: gasLimit, fees } = unsigned;
  const type = fees === undefined || "gasPrice" in fees ? 0 : 2;
  const values = { type, to, data, value: 0n, chainId, nonce, gasLimit };
  return Transaction.from({ ...values, ...fees });
}

/** @returns Undefined if the node cannot sign without sending. */
async function signByNode(
  rpc: RpcClient,
  unsigned: UnsignedTransaction,
): Promise<string | undefined> {
  // Signing sends nothing, so whatever the node has against it, there is still
  // the other way. A node that cannot be reached is another matter.
  const answer = await rpc
    .request("eth_signTransaction", [toRpcTransaction(unsigned)])
    .catch(fallbackTo(undefined, isNodeRefusal));
  const { raw = answer } = asRecord(answer);
  return typeof raw === "string" && isSignedAs(raw, unsigned) ? raw : undefined;
}

/** True if the bytes are this transaction, signed by its sender. */
export function isSignedAs(
  raw: string,
  unsigned: PreparedTransaction,
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
