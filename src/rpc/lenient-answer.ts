import { asRecord, listOf } from "../json.js";
import type { Exchanged } from "./bounded-answer.js";
import { isHardhatError, messageOf, readThrown } from "./thrown.js";

/** An answer of a node that a provider did not take. */
export type LenientAnswer =
  | { readonly result: unknown }
  /** The node's own error. */
  | { readonly error: unknown }
  | { readonly problem: string };

/** The first bytes of a gzip stream, read as text. */
const GZIP = "\u001f\ufffd";

/**
 * Reads what Hardhat refuses as invalid JSON-RPC (HHE702): many gateways leave out
 * parts of it, or compress it.
 *
 * @returns Undefined for another error, or if the answer is not JSON-RPC.
 */
export function readRefusedAnswer(
  thrown: unknown,
  { isOwn, method, unpacked }: Exchanged,
): LenientAnswer | undefined {
  const text = refusedText(thrown);
  if (text === undefined) {
    return undefined;
  }
  if (unpacked === undefined && text.startsWith(GZIP)) {
    return {
      problem:
        "the answer is compressed (gzip) and cannot be unpacked, though no compression was requested",
    };
  }
  const read = readAnswer(parseJson(unpacked ?? text));
  // Its result is not the answer to this request.
  return read !== undefined && "result" in read && isOwn === false
    ? {
        problem: `Hardhat sends ${method} first, for a setting such as chainId, and cannot read the answer to that: it is compressed, or lacks a part of JSON-RPC`,
      }
    : read;
}

/** Puts the unpacked body into an error with a body that is compressed. */
export function unpackBody(thrown: unknown, { unpacked }: Exchanged): void {
  for (const link of readThrown(thrown).links) {
    if (unpacked !== undefined && typeof link["body"] === "string") {
      Reflect.set(link, "body", unpacked);
    }
  }
}

/** True for an answer that is JSON, but neither a result nor an error. */
export function isOtherJson(thrown: unknown): boolean {
  return typeof parseJson(refusedText(thrown) ?? "") === "object";
}

function refusedText(thrown: unknown): string | undefined {
  const error = asRecord(thrown);
  const text = asRecord(error["messageArguments"])["response"];
  return isHardhatError(error) &&
    error["errorCode"] === "HHE702" &&
    typeof text === "string"
    ? text
    : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readAnswer(answer: unknown): LenientAnswer | undefined {
  if (Array.isArray(answer)) {
    return undefined;
  }
  const { jsonrpc, id, result, error, ...others } = asRecord(answer);
  const hasEnvelope = jsonrpc !== undefined || id !== undefined;
  const code = asRecord(error)["code"] ?? others["code"];
  // An empty error next to a result is none.
  const isError = textsIn(error) !== "" || Boolean(code) || error === true;
  if (
    !isError &&
    (result ?? null) !== null &&
    // Next to other fields, it may be the text of an error.
    (hasEnvelope || Object.keys(others).length === 0)
  ) {
    return { result };
  }
  const words = messageIn(error) ?? textsIn({ error, ...others, result });
  if (isError || words !== "") {
    return { error: { ...asRecord(error), code, message: words } };
  }
  // Some leave out a result that is null.
  return hasEnvelope ? { result: result ?? null } : undefined;
}

function messageIn(error: unknown): string | undefined {
  const { message } = asRecord(error);
  return typeof message === "string" ? messageOf(error) : undefined;
}

/**
 * The texts in a part of an answer, as the words of an error without a message.
 *
 * @param depth No answer nests its words deeper.
 */
function textsIn(part: unknown, depth = 4): string {
  if (typeof part === "string") {
    return part;
  }
  const inner = Array.isArray(part)
    ? listOf(part)
    : Object.values(asRecord(part));
  return inner
    .map((each) => (depth === 0 ? "" : textsIn(each, depth - 1)))
    .filter((text) => text !== "")
    .join(": ");
}
