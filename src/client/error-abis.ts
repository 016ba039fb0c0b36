import { ErrorFragment, Fragment } from "ethers";
import type { InterfaceAbi } from "ethers";

import { invalidArgument } from "../errors.js";
import type { CallResult } from "../rpc/chain.js";
import { messageOf } from "../rpc/errors.js";
import { decodeRevertReason } from "../rpc/revert-reason.js";
import type { RevertReason } from "../rpc/revert-reason.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import { quoteForeignText } from "../foreign-text.js";
import { WORD } from "./codec.js";

/** Bytes of the selector of a custom error. */
const SELECTOR = 4;

/** Finds the ABIs of the custom errors that have a selector. */
export type ErrorAbisOf = (
  selector: string,
) => Promise<readonly ErrorFragment[]> | readonly ErrorFragment[];

/** @throws VaultError VAULT_INVALID_ARGUMENT for an ABI that cannot be parsed */
export function errorAbisIn(abis: readonly InterfaceAbi[]): ErrorAbisOf {
  const errors = abis.flatMap((abi, index) => {
    try {
      const entries: unknown = typeof abi === "string" ? JSON.parse(abi) : abi;
      if (!Array.isArray(entries)) {
        throw new TypeError("an ABI is a list");
      }
      return entries
        .map((entry) => Fragment.from(entry))
        .filter((fragment) => fragment instanceof ErrorFragment);
    } catch (error) {
      throw invalidArgument(
        `abis[${index}]`,
        quoteForeignText(messageOf(error)),
      );
    }
  });
  return indexErrors(errors);
}

/** Indexes errors by selector, so that each is hashed once. */
export function indexErrors(
  errors: readonly ErrorFragment[],
): (selector: string) => readonly ErrorFragment[] {
  const found = Map.groupBy(errors, ({ selector }) => selector);
  return (selector) => found.get(selector) ?? [];
}

/** What a reason is decoded with: custom errors, and the secrets to hide in its words. */
interface Decoder {
  readonly errorAbisOf: ErrorAbisOf;
  readonly rpc: Pick<RpcClient, "hide">;
}

/** Decodes an unknown reason as a custom error, if one is found. */
export async function explainReason(
  given: RevertReason,
  { errorAbisOf, rpc: { hide } }: Decoder,
): Promise<RevertReason> {
  // The words of a reason without data are the node's, hidden in when it was classified.
  const reason =
    given.data === "0x" ? given : decodeRevertReason(given.data, [], hide);
  const { kind, data } = reason;
  if (kind !== "unknown" || data.length < 10) {
    return reason;
  }
  try {
    return decodeRevertReason(
      data,
      await errorAbisOf(data.slice(0, 10).toLowerCase()),
      hide,
    );
  } catch {
    // An unreadable artifact must not hide the revert.
    return reason;
  }
}

/**
 * Decodes the reason of a revert, also of one that a node or a proxy returns as a result: no
 * values have the length of a selector and whole words.
 */
export async function explainAnswer(
  answer: CallResult,
  decoder: Decoder,
): Promise<CallResult> {
  if ("data" in answer && answer.data.length % WORD !== SELECTOR) {
    return answer;
  }
  const given =
    "reverted" in answer
      ? answer.reverted
      : decodeRevertReason(`0x${answer.data.toString("hex")}`);
  const reverted = await explainReason(given, decoder);
  return "data" in answer && reverted.kind === "unknown"
    ? answer
    : { reverted };
}
