import { isHexString } from "ethers";

import { RevertedCall } from "../rpc/request.js";
import { VaultError } from "../errors.js";
import { isNodeRefusal } from "../rpc/errors.js";
import type { Chain } from "../rpc/node.js";
import { toRpcTransaction } from "./transaction.js";
import type { PreparedTransaction } from "./transaction.js";

/** What came back when a transaction was handed to a node. */
export type SendAnswer =
  /** The node has it. */
  | { readonly kind: "accepted"; readonly hash: string | undefined }
  /** Its nonce is taken, perhaps by itself. */
  | { readonly kind: "nonce-taken" }
  /** The node said no, for a reason that leaves no doubt. */
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
 * Only these mean that the node did not take it. What a gateway says of its own
 * troubles, a time-out or a limit, can come after it has passed the bytes on.
 */
const refusals = [
  /insufficient ?funds|enough funds|exceeds (?:account )?balance/iu,
  /underpriced|fee ?too ?low|(?:gas price|fee).*\b(?:below|minimum)\b|minimum needed/iu,
  /max ?fee ?per ?gas.*(?:less than|too low|lower than)|fee cap.*(?:less than|too low|exceed)/iu,
  /tx fee .*exceeds the configured cap|priority ?fee ?per ?gas.*higher than/iu,
  /intrinsic gas|floor data gas|gas required exceeds|requires at least \d+ gas|out of gas/iu,
  /exceeds (?:the )?block(?:'s)? gas limit|gas ?limit ?exceeded|gas limit too high/iu,
  /nonce ?too ?(?:high|distant)|noncegap|nonce has max value/iu,
  /(?:invalid|wrong|incorrect) ?(?:tx ?)?(?:sender|signature|chain ?id)|invalidtxsignature/iu,
  /replay-?protected|incompatible EIP-155|type not supported|not an eoa|SenderIsContract/iu,
  /unknown account|no known accounts|authentication needed|account is locked/iu,
  /(?:rejected|denied|declined|cancell?ed) (?:by|the|transaction)\b/iu,
  /method not (?:found|supported)|the method \S+ (?:does not exist|is not available)/iu,
];

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
    return isHexString(answer, 32)
      ? {
          kind: "accepted",
          // What was signed is believed before what the node says.
          hash:
            transaction.raw === undefined
              ? answer
              : (transaction.hash ?? answer),
        }
      : {
          kind: "lost",
          problem: "the node answered something else than a hash",
        };
  } catch (error) {
    return classify(error, transaction);
  }
}

/** What went wrong, in short. */
export function describeProblem(error: unknown): string {
  return VaultError.isVaultError(error) ? error.shortMessage : String(error);
}

function classify(error: unknown, { hash }: PreparedTransaction): SendAnswer {
  if (!isNodeRefusal(error)) {
    return { kind: "lost", problem: describeProblem(error) };
  }
  const problem = String(error.details["problem"]);
  if (alreadyKnown.test(problem)) {
    return { kind: "accepted", hash };
  }
  if (nonceTaken.test(problem)) {
    return { kind: "nonce-taken" };
  }
  return {
    kind: refusals.some((words) => words.test(problem)) ? "refused" : "lost",
    problem,
  };
}
