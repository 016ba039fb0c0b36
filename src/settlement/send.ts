import { RevertedCall, isHexData } from "../client/rpc.js";
import { VaultError } from "../errors.js";
import type { Chain } from "./chain.js";
import { toRpcTransaction } from "./transaction.js";
import type { PreparedTransaction } from "./transaction.js";

/** What came back when a transaction was handed to a node. */
export type SendAnswer =
  /** The node has it. */
  | { readonly kind: "accepted"; readonly hash: string | undefined }
  /** Its nonce is taken, perhaps by itself. */
  | { readonly kind: "nonce-taken" }
  /** The node said no. */
  | { readonly kind: "refused"; readonly problem: string }
  /** Nobody knows whether it arrived. */
  | { readonly kind: "lost"; readonly problem: string };

// The words of geth, erigon, nethermind, besu, reth, anvil and Hardhat: the
// JSON-RPC standard has no codes for these.
const alreadyKnown =
  /already ?(?:known|imported|exists)|known transaction|already in (?:the )?(?:mem)?pool/iu;
const nonceTaken =
  /nonce (?:is )?(?:too low|has already been used|already used)|nonce_?too_?low|oldnonce|replacement/iu;

/**
 * Hands the transaction to the node, once. Every failure is an answer here: the
 * transaction may have left.
 */
export async function send(
  chain: Chain,
  transaction: PreparedTransaction,
): Promise<SendAnswer> {
  try {
    const answer =
      transaction.raw === undefined
        ? await chain.request("eth_sendTransaction", [
            toRpcTransaction(transaction),
          ])
        : await chain.request("eth_sendRawTransaction", [transaction.raw]);
    if (answer instanceof RevertedCall) {
      // Hardhat's node mines a failing transaction and then answers this.
      return { kind: "refused", problem: answer.reason.text };
    }
    return isHexData(answer) && answer.length === 66
      ? // What was signed here is believed before what the node says.
        { kind: "accepted", hash: transaction.hash ?? answer }
      : {
          kind: "lost",
          problem: "the node answered something else than a hash",
        };
  } catch (error) {
    return classify(error, transaction);
  }
}

function classify(error: unknown, { hash }: PreparedTransaction): SendAnswer {
  if (!VaultError.isVaultError(error)) {
    return { kind: "lost", problem: String(error) };
  }
  if (error.code !== "VAULT_RPC_ERROR") {
    return { kind: "lost", problem: error.shortMessage };
  }
  const problem = error.details["problem"];
  const text = typeof problem === "string" ? problem : error.shortMessage;
  if (alreadyKnown.test(text)) {
    return { kind: "accepted", hash };
  }
  return nonceTaken.test(text)
    ? { kind: "nonce-taken" }
    : { kind: "refused", problem: text };
}
