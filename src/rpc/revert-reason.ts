import { Buffer } from "node:buffer";

import { panicErrorCodeToMessage } from "@nomicfoundation/hardhat-utils/panic-errors";
import {
  AbiCoder,
  ErrorFragment,
  Interface,
  ParamType,
  dataSlice,
} from "ethers";

import { IMockErrors__factory } from "../bindings/factories/IMockErrors__factory.js";
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
  /** Text to show; it holds the contract's own words, not yet escaped. */
  readonly text: string;
  /** The revert data, 0x hex. */
  readonly data: string;
}

/** The text of a revert without data. */
export const NO_REASON = "no reason given";

export const ERROR_STRING_SELECTOR = "0x08c379a0";
export const PANIC_SELECTOR = "0x4e487b71";

const errorString = ErrorFragment.from("error Error(string)");
const panic = ErrorFragment.from("error Panic(uint256)");
/** Of the package's contracts. Cached: a scan may have thousands of reverts. */
let ownErrors: readonly ErrorFragment[] | undefined;

/**
 * @param errors Custom errors to try after those of the package's contracts.
 * @param hide Hides secrets in the contract's own words, not in names and figures.
 */
export function decodeRevertReason(
  data: string,
  errors: readonly ErrorFragment[] = [],
  hide = (text: string): string => text,
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
      return { ...describeError(error, values, hide), data };
    }
  }
  const bytes = (data.length - 10) / 2;
  const text =
    bytes < 0
      ? `unknown error data ${hide(data)}`
      : `unknown error ${selector} with ${bytes} bytes of arguments${bytes === 0 ? "" : `: ${hide(data)}`}`;
  return { kind: "unknown", text, data };
}

/** Example: `TooEarly(end: 1700000000)`. */
function describeError(
  error: ErrorFragment,
  values: ErrorValues,
  hide: (text: string) => string,
): Pick<RevertReason, "kind" | "text"> {
  const [first] = Object.values(values);
  if (error === errorString) {
    return { kind: "string", text: hide(String(first)) };
  }
  if (error === panic && typeof first === "bigint") {
    // The text is part of a sentence that has the word "reverted".
    const text = panicErrorCodeToMessage(first).replace(/^reverted with /u, "");
    return { kind: "panic", text };
  }
  const shown = Object.entries(values).map(([name, value]) => {
    const text = JSON.stringify(toJsonValue(value), (_key, inner: unknown) =>
      typeof inner === "string" ? hide(inner) : inner,
    );
    return `${name}: ${typeof value === "bigint" ? value : text}`;
  });
  return { kind: "custom", text: `${error.name}(${shown.join(", ")})` };
}

/** ErrorValues by name, nested as in the ABI. */
export type ErrorValues = Readonly<Record<string, unknown>>;

/** @returns Undefined if the arguments of the error do not begin with a canonical encoding. */
export function decodeArguments(
  { inputs }: ErrorFragment,
  data: string,
): ErrorValues | undefined {
  const coder = AbiCoder.defaultAbiCoder();
  // As bytes, because ethers throws for a string with invalid UTF-8.
  const types = inputs.map((input) =>
    ParamType.from(input.format("full").replaceAll(/\bstring\b/gu, "bytes")),
  );
  const encoded = dataSlice(data, 4);
  try {
    const values: readonly unknown[] = coder.decode(types, encoded).toArray();
    return encoded.startsWith(coder.encode(types, [...values]))
      ? toPlainRecord(inputs, values)
      : undefined;
  } catch {
    return undefined;
  }
}

function toPlainRecord(
  types: readonly ParamType[],
  values: readonly unknown[],
): ErrorValues {
  return Object.fromEntries(
    types.map((type, index) => [
      // Never a bare number, because objects list numeric keys first.
      type.name === "" ? `_${index}` : type.name,
      toPlain(type, values[index]),
    ]),
  );
}

/** Converts a value of ethers to plain data, and its bytes back to strings. */
function toPlain(type: ParamType, value: unknown): unknown {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  if (type.isArray()) {
    return items.map((item) => toPlain(type.arrayChildren, item));
  }
  if (type.isTuple()) {
    return toPlainRecord(type.components, items);
  }
  return type.baseType === "string"
    ? Buffer.from(String(value).slice(2), "hex").toString("utf8")
    : value;
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
