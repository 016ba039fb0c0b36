import type { Buffer } from "node:buffer";

import { panicErrorCodeToMessage } from "@nomicfoundation/hardhat-utils/panic-errors";
import {
  AbiCoder,
  ErrorFragment,
  Fragment,
  Interface,
  dataSlice,
  isHexString,
} from "ethers";
import type { InterfaceAbi } from "ethers";

import { IMockErrors__factory } from "../bindings/factories/IMockErrors__factory.js";
import { invalidArgument } from "../errors.js";
import {
  MAX_FOREIGN_TEXT,
  Redactor,
  quoteForeignText,
} from "../foreign-text.js";
import { RoundGuardArtifact } from "../guard/artifact.js";
import { toJsonValue } from "../json.js";

export interface RevertReason {
  readonly kind:
    | "string"
    | "panic"
    | "custom"
    | "invalid-opcode"
    | "unknown"
    | "none";
  /** Text to show, with the contract's own words: an error escapes them (errors.ts). */
  readonly text: string;
  /** The revert data, 0x hex. */
  readonly data: string;
}

export interface Reverted {
  readonly reverted: RevertReason;
}

/** What an `eth_call` returned. */
export type CallResult = { readonly data: Buffer } | Reverted;

/** The text of a revert without data. */
export const NO_REASON = "no reason given";

const errorString = ErrorFragment.from("error Error(string)");
const panic = ErrorFragment.from("error Panic(uint256)");
/** Of the package's contracts. Cached: a scan may have thousands of reverts. */
let ownErrors: readonly ErrorFragment[] | undefined;

/**
 * @param errors Custom errors to try after those of the package's contracts.
 * @param redactor Hides secrets in the contract's own words, not in names and figures.
 */
export function decodeRevertReason(
  data: string,
  errors: readonly ErrorFragment[] = [],
  redactor = new Redactor(),
): RevertReason {
  if (data === "0x") {
    return { kind: "none", text: NO_REASON, data };
  }
  const selector = data.slice(0, 10).toLowerCase();
  ownErrors ??= [
    errorString,
    panic,
    ...new Interface(RoundGuardArtifact.abi).fragments,
    ...IMockErrors__factory.createInterface().fragments,
  ].filter((fragment) => fragment instanceof ErrorFragment);
  for (const error of [...ownErrors, ...errors]) {
    const values =
      error.selector === selector ? decodeArguments(error, data) : undefined;
    if (values !== undefined) {
      return { ...describeError(error, values, redactor), data };
    }
  }
  const bytes = (data.length - 10) / 2;
  const text =
    bytes < 0
      ? `unknown error data ${redactor.hide(data)}`
      : `unknown error ${selector} with ${bytes} bytes of arguments${bytes === 0 ? "" : `: ${redactor.hide(data)}`}`;
  return { kind: "unknown", text, data };
}

/** Example: `TooEarly(end: 1700000000)`. */
function describeError(
  error: ErrorFragment,
  values: ErrorValues,
  redactor: Redactor,
): Pick<RevertReason, "kind" | "text"> {
  const [first] = Object.values(values);
  if (error === errorString) {
    return { kind: "string", text: redactor.hide(String(first)) };
  }
  if (error === panic && typeof first === "bigint") {
    // The text is part of a sentence that has the word "reverted".
    const text = panicErrorCodeToMessage(first).replace(/^reverted with /u, "");
    return { kind: "panic", text };
  }
  const shown = Object.entries(values).map(([name, value]) => {
    const text = JSON.stringify(toJsonValue(value), (_key, inner: unknown) =>
      typeof inner === "string" ? redactor.hide(inner) : inner,
    );
    return `${name}: ${typeof value === "bigint" ? value : text}`;
  });
  return { kind: "custom", text: `${error.name}(${shown.join(", ")})` };
}

/** Values by name; of a list or a tuple, a list. */
export type ErrorValues = Readonly<Record<string, unknown>>;

/** @returns Undefined if the arguments of the error do not begin with a canonical encoding. */
export function decodeArguments(
  { inputs }: ErrorFragment,
  data: string,
): ErrorValues | undefined {
  const coder = AbiCoder.defaultAbiCoder();
  const encoded = dataSlice(data, 4);
  try {
    const values: readonly unknown[] = coder
      .decode(inputs, encoded)
      .toArray(true);
    return encoded.startsWith(coder.encode(inputs, values))
      ? Object.fromEntries(
          inputs.map(({ name }, index) => [
            // Never a bare number, because objects list numeric keys first.
            name === "" ? `_${index}` : name,
            values[index],
          ]),
        )
      : undefined;
  } catch {
    return undefined;
  }
}

/** Messages of nodes for the INVALID opcode, and for one that their EVM lacks. */
const INVALID_OPCODE =
  /invalid ?(?:fe)? ?(?:opcode|instruction|operation)|opcode ?not ?found|bad ?instruction/iu;

/**
 * @param message A node's text for a call that failed.
 * @returns Undefined if no invalid opcode ended it.
 */
export function invalidOpcode(message: string): RevertReason | undefined {
  const text =
    "invalid opcode, as of an assert, or an index behind the end of an array, in a contract compiled before Solidity 0.8";
  return INVALID_OPCODE.test(message)
    ? { kind: "invalid-opcode", text, data: "0x" }
    : undefined;
}

/** JSON-RPC error code of a revert with data in geth and anvil. */
const EXECUTION_REVERTED = 3;

/**
 * Finds a revert in an error and what it wraps.
 *
 * @param redactor Hides secrets in the contract's own words.
 */
export function findRevert(
  links: ReadonlyArray<Readonly<Record<string, unknown>>>,
  redactor: Redactor,
): RevertReason | undefined {
  const data =
    links
      .flatMap((link) => [link["data"], link["result"]])
      .map(toHexData)
      .find((hex) => hex !== undefined) ?? "0x";
  const messages = links.map(({ message }) => beginOf(message));
  const words = [...messages, ...links.map((link) => beginOf(link["data"]))];
  const isIn = (pattern: RegExp): boolean =>
    words.some((text) => pattern.test(text));
  if (data === "0x") {
    // It ends the call of a contract with any code that the node gives the error.
    const invalid = words.map(invalidOpcode).find((one) => one !== undefined);
    if (invalid !== undefined) {
      return invalid;
    }
    // The codes and words of a revert also stand for a node's low gas limit.
    if (isIn(/out ?of ?gas/iu) && !isIn(/\brevert/iu)) {
      return undefined;
    }
  }
  if (
    !links.some(({ code }) => code === EXECUTION_REVERTED) &&
    !isIn(/\brevert|VM Exception|VM execution error/iu)
  ) {
    return undefined;
  }
  const text =
    data === "0x"
      ? messages.map(reasonIn).find((one) => one !== "")
      : undefined;
  return text === undefined
    ? decodeRevertReason(data, [], redactor)
    : { kind: "string", text: redactor.hide(text), data };
}

function beginOf(text: unknown): string {
  return typeof text === "string" ? text.slice(0, MAX_FOREIGN_TEXT) : "";
}

/** Some nodes write "Reverted 0x…". */
function toHexData(value: unknown): string | undefined {
  const hex =
    typeof value === "string" ? value.replace(/^reverted\s+/iu, "") : "";
  return isHexString(hex, true) ? hex : undefined;
}

/** The reason of a revert in a message, in the forms of geth, besu and lotus; else empty. */
function reasonIn(message: string): string {
  const [, listed, rest = ""] =
    /revert reason: \[Error\((.*?)\)|\brevert(?:ed)?\b(?! without )[\s:,]*(.*)$/isu.exec(
      message,
    ) ?? [];
  return (listed ?? rest.replace(/^\((.*)\)$/su, "$1")).trim();
}

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
      throw invalidArgument(`abis[${index}]`, quoteForeignText(String(error)));
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
  readonly rpc: { readonly redactor: Redactor };
}

/** Decodes an unknown reason as a custom error, if one is found. */
export async function explainReason(
  given: RevertReason,
  { errorAbisOf, rpc: { redactor } }: Decoder,
): Promise<RevertReason> {
  // The words of a reason without data are the node's, hidden in when it was classified.
  const reason =
    given.data === "0x" ? given : decodeRevertReason(given.data, [], redactor);
  const { kind, data } = reason;
  if (kind !== "unknown" || data.length < 10) {
    return reason;
  }
  try {
    return decodeRevertReason(
      data,
      await errorAbisOf(data.slice(0, 10).toLowerCase()),
      redactor,
    );
  } catch {
    // An unreadable artifact must not hide the revert.
    return reason;
  }
}

/** Decodes the reason of a revert, also of one that is returned as a result. */
export async function explainAnswer(
  answer: CallResult,
  decoder: Decoder,
): Promise<CallResult> {
  const given = "data" in answer ? returnedRevert(answer.data) : answer;
  if (given === undefined) {
    return answer;
  }
  const reverted = await explainReason(given.reverted, decoder);
  return "data" in answer && reverted.kind === "unknown"
    ? answer
    : { reverted };
}

/**
 * The revert that some networks and proxies return as a result: no values have the length of
 * a selector and whole words.
 */
export function returnedRevert(
  data: Buffer,
  redactor?: Redactor,
): Reverted | undefined {
  return data.length % 32 === 4
    ? {
        reverted: decodeRevertReason(`0x${data.toString("hex")}`, [], redactor),
      }
    : undefined;
}
