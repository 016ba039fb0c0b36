import { asRecord } from "../json.js";
import { isHardhatError } from "./thrown.js";

/** An answer of a node that a provider did not take. */
export type LenientAnswer =
  | { readonly result: unknown }
  /** The node's own error, or undefined if the answer is no JSON-RPC at all. */
  | { readonly error: unknown }
  | { readonly problem: string };

/** The first bytes of a gzip stream, read as text. */
const GZIP = "\u001f\ufffd";

/**
 * Reads what Hardhat refuses as invalid JSON-RPC (HHE702): many gateways leave out
 * parts of it.
 *
 * @returns Undefined for another error, or if the answer is not JSON-RPC.
 */
export function readRefusedAnswer(thrown: unknown): LenientAnswer | undefined {
  const error = asRecord(thrown);
  const text = asRecord(error["messageArguments"])["response"];
  if (
    !isHardhatError(error) ||
    error["errorCode"] !== "HHE702" ||
    typeof text !== "string"
  ) {
    return undefined;
  }
  if (text.startsWith(GZIP)) {
    return {
      problem:
        "the answer is compressed (gzip), though no compression was requested",
    };
  }
  try {
    return readAnswer(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function readAnswer(answer: unknown): LenientAnswer | undefined {
  const { jsonrpc, id, result, error, code, message } = asRecord(answer);
  if (Array.isArray(answer)) {
    return undefined;
  }
  if (error !== undefined && error !== null) {
    return { error: typeof error === "string" ? { message: error } : error };
  }
  if (typeof message === "string") {
    return { error: { code, message } };
  }
  // Some leave out a result that is null.
  return jsonrpc === undefined && id === undefined
    ? undefined
    : { result: result ?? null };
}
