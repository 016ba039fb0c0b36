import { Transaction, toQuantity } from "ethers";

import type { CallRequest, Chain } from "../rpc/node.js";
import { asRecord } from "../json.js";
import { otherwise } from "../errors.js";
import { isNodeRefusal } from "../rpc/errors.js";
import type { Fees } from "../rehearsal/fees.js";
import type { Signer } from "./signer.js";

/** The settlement's transaction, complete but for the signature. */
export interface UnsignedTransaction extends CallRequest {
  readonly chainId: number;
  readonly nonce: number;
  readonly gas: bigint;
  /** Undefined in process, where Hardhat fills them in. */
  readonly fees?: Fees | undefined;
}

/** A transaction that can be sent again and again and be mined once. */
export interface PreparedTransaction extends UnsignedTransaction {
  /**
   * The signed bytes. Undefined where only the node can sign: then the nonce
   * is what makes it the same transaction each time.
   */
  readonly raw?: string | undefined;
  /** Known before anything leaves if there are signed bytes. */
  readonly hash?: string | undefined;
}

/** Signs as far as that is possible without sending. */
export async function sign(
  chain: Chain,
  signer: Signer,
  unsigned: UnsignedTransaction,
): Promise<PreparedTransaction> {
  const raw =
    signer.sign === undefined
      ? signer.kind === "remote"
        ? await signByNode(chain, unsigned)
        : undefined
      : await signer.sign(toEthers(unsigned));
  return raw === undefined
    ? unsigned
    : { ...unsigned, raw, hash: Transaction.from(raw).hash ?? undefined };
}

/** The transaction as `eth_sendTransaction` takes it. */
export function toRpcTransaction({
  from,
  to,
  data,
  chainId,
  nonce,
  gas,
  fees,
}: UnsignedTransaction): Readonly<Record<string, string>> {
  const quantities: Readonly<Record<string, bigint | number>> = {
    chainId,
    nonce,
    gas,
    ...fees,
  };
  return {
    from,
    to,
    data,
    value: "0x0",
    ...Object.fromEntries(
      Object.entries(quantities).map(([name, value]) => [
        name,
        toQuantity(value),
      ]),
    ),
  };
}

function toEthers({
  to,
  data,
  chainId,
  nonce,
  gas,
  fees,
}: UnsignedTransaction): Transaction {
  return Transaction.from({
    type: fees === undefined || "gasPrice" in fees ? 0 : 2,
    to,
    data,
    value: 0n,
    chainId,
    nonce,
    gasLimit: gas,
    ...fees,
  });
}

/** @returns Undefined if the node cannot sign without sending. */
async function signByNode(
  chain: Chain,
  unsigned: UnsignedTransaction,
): Promise<string | undefined> {
  // Signing sends nothing, so whatever the node has against it, there is still
  // the other way. A node that cannot be reached is another matter.
  const answer = await chain
    .request("eth_signTransaction", [toRpcTransaction(unsigned)])
    .catch(otherwise(undefined, isNodeRefusal));
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
