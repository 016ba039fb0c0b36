import { isHexString } from "ethers";

import { VaultError, hasErrorCode, vaultError } from "../errors.js";
import type { Hex } from "../protocol/index.js";

import { noRetries } from "../rpc/retry.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import { toRpcTransaction } from "./transaction.js";
import type { SendableTransaction } from "./transaction.js";

export type SendAnswer =
  | { readonly kind: "accepted"; readonly hash: Hex | undefined }
  /** The node's error. A gateway may have forwarded the transaction all the same. */
  | {
      readonly kind: "refused";
      readonly problem: string;
      /** True if the same transaction may be accepted later, such as by a full pool. */
      readonly isTransient: boolean;
    }
  | { readonly kind: "unanswered"; readonly problem: string }
  /** Thrown by this process, such as by a plugin for a wallet: no answer of a node. */
  | {
      readonly kind: "failed";
      readonly problem: string;
      readonly error: VaultError;
    };

/** Error texts of geth, erigon, nethermind, besu, reth, anvil and Hardhat. */
const alreadyKnown =
  /already ?(?:known|imported|exists)|known transaction|already in (?:the )?(?:mem)?pool/iu;

const transient =
  /try again|try later|temporar|(?:pool|queue)\b.{0,20}\bfull|rate.?limit|too many requests|over(?:loaded|capacity)|time(?:d )?-?out|unavailable/iu;

/** A limit of EIP-1474, or a gateway's: no backend, cannot fulfil, too many requests. */
const transientCodes: ReadonlySet<unknown> = new Set([
  -32_005, -32_011, -32_046, -32_429, 429,
]);

/**
 * Sends once; signed bytes as often as the client retries. Never throws: after a failure,
 * the transaction may have left.
 */
export async function send(
  rpc: RpcClient,
  transaction: SendableTransaction,
): Promise<SendAnswer> {
  const { raw, hash } = transaction;
  try {
    const answer = await (raw === undefined
      ? rpc
          .withRetries(noRetries)
          .requestOrRevert("eth_sendTransaction", [
            writtenOnce(toRpcTransaction(transaction), rpc.network),
          ])
      : rpc.requestOrRevert("eth_sendRawTransaction", [raw]));
    if ("reverted" in answer) {
      return refusal(answer.reverted.text);
    }
    const { result } = answer;
    // The hash of the signed bytes takes precedence over the node's.
    return isHexString(result, 32)
      ? {
          kind: "accepted",
          hash: raw === undefined ? result : (hash ?? result),
        }
      : {
          kind: "unanswered",
          problem: "the node answered something else than a hash",
        };
  } catch (error) {
    const problem = describeProblem(error);
    if (!hasErrorCode(error, "VAULT_RPC_ERROR")) {
      return isOfThisProcess(error)
        ? { kind: "failed", problem, error }
        : { kind: "unanswered", problem };
    }
    const words = String(error.details["problem"]);
    return alreadyKnown.test(words)
      ? { kind: "accepted", hash }
      : refusal(words, error.details["rpcCode"]);
  }
}

/**
 * Returns a transaction that is written as JSON once. Hardhat repeats each request that is
 * answered with HTTP status 429, also one that a gateway has forwarded all the same; a node
 * that chooses the nonce itself would then make two transactions of one.
 */
function writtenOnce(
  transaction: Readonly<Record<string, string>>,
  network: string,
): object {
  let isWritten = false;
  return Object.defineProperty({ ...transaction }, "toJSON", {
    value(this: object): object {
      if (isWritten) {
        const problem = "the node answered HTTP status 429";
        const remedy = "The transaction is not sent again.";
        const details = { network, problem, remedy };
        throw vaultError("VAULT_NETWORK_UNREACHABLE", details);
      }
      isWritten = true;
      return { ...this };
    },
  });
}

function refusal(problem: string, code?: unknown): SendAnswer {
  const isTransient = transientCodes.has(code) || transient.test(problem);
  return { kind: "refused", problem, isTransient };
}

/** True for an error of Hardhat or a plugin, which no node answered. */
function isOfThisProcess(error: unknown): error is VaultError {
  return VaultError.isVaultError(error) && error.code === "VAULT_HARDHAT_ERROR";
}

export function describeProblem(error: unknown): string {
  return VaultError.isVaultError(error) ? error.shortMessage : String(error);
}
