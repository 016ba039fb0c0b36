import { Buffer } from "node:buffer";

import { AbiCoder } from "ethers";
import type { ErrorFragment } from "ethers";

import { IMockErrors__factory } from "../bindings/factories/IMockErrors__factory.js";
import { toJsonValue } from "../json.js";
import { decodeArguments } from "./abi-arguments.js";
import type { DecodedArguments } from "./abi-arguments.js";

/** The text of a revert without data. */
export const NO_REASON = "no reason given";

/** Why a call reverted, as far as its revert data says. */
export interface RevertReason {
  readonly kind: "string" | "panic" | "custom" | "unknown" | "none";
  /** For a person; holds the contract's own words, not yet escaped. */
  readonly text: string;
  /** The revert data, 0x hex. */
  readonly data: string;
}

export const ERROR_STRING_SELECTOR = "0x08c379a0";
export const PANIC_SELECTOR = "0x4e487b71";

/** The codes of Solidity's documentation, "Panic via assert". */
const panicMeanings: ReadonlyMap<bigint, string> = new Map([
  [0x00n, "compiler-inserted panic"],
  [0x01n, "assertion failed"],
  [0x11n, "arithmetic overflow or underflow"],
  [0x12n, "division or modulo by zero"],
  [0x21n, "value out of range of an enum"],
  [0x22n, "incorrectly encoded storage byte array"],
  [0x31n, "pop of an empty array"],
  [0x32n, "array index out of bounds"],
  [0x41n, "too much memory allocated"],
  [0x51n, "call of an uninitialised function pointer"],
]);

/**
 * Decodes revert data: `Error(string)`, `Panic(uint256)`, a custom error of our
 * mocks or of these, else it is shown as it is. The protocol documents no errors
 * (section 7).
 *
 * @param errors What the four bytes may stand for.
 */
export function decodeRevertReason(
  data: string,
  errors: readonly ErrorFragment[] = [],
): RevertReason {
  if (data === "0x") {
    return { kind: "none", text: NO_REASON, data };
  }
  const selector = data.slice(0, 10).toLowerCase();
  return (
    (selector === ERROR_STRING_SELECTOR
      ? decodeErrorString(data)
      : undefined) ??
    (selector === PANIC_SELECTOR ? decodePanic(data) : undefined) ??
    decodeCustomError(data) ??
    decodeWith(errors, data) ?? {
      kind: "unknown",
      text:
        selector.length === 10
          ? describeUnknown(selector, data)
          : `unknown error data ${data}`,
      data,
    }
  );
}

function describeUnknown(selector: string, data: string): string {
  const bytes = (data.length - 10) / 2;
  return `unknown error ${selector} with ${bytes} bytes of arguments${bytes === 0 ? "" : `: ${data}`}`;
}

function decodeWith(
  errors: readonly ErrorFragment[],
  data: string,
): RevertReason | undefined {
  const selector = data.slice(0, 10).toLowerCase();
  for (const error of errors) {
    const decoded =
      error.selector === selector ? decodeArguments(error, data) : undefined;
    if (decoded !== undefined) {
      return {
        kind: "custom",
        text: describeCustomError(error, decoded),
        data,
      };
    }
  }
  return undefined;
}

/** As in `TooEarly(end: 1700000000)`. */
function describeCustomError(
  { name }: Pick<ErrorFragment, "name">,
  { values }: Pick<DecodedArguments, "values">,
): string {
  const shown = Object.entries(values).map(
    ([key, value]) =>
      `${key}: ${typeof value === "bigint" ? value : JSON.stringify(toJsonValue(value))}`,
  );
  return `${name}(${shown.join(", ")})`;
}

function decodeErrorString(data: string): RevertReason | undefined {
  const values = decodeTypes(["bytes"], data);
  // The coder's values are typed any; the type asked for is bytes.
  const bytes: unknown = values?.[0];
  return typeof bytes === "string"
    ? {
        kind: "string",
        // What is not UTF-8 becomes U+FFFD and never an exception.
        text: Buffer.from(bytes.slice(2), "hex").toString("utf8"),
        data,
      }
    : undefined;
}

function decodePanic(data: string): RevertReason | undefined {
  const code: unknown = decodeTypes(["uint256"], data)?.[0];
  if (typeof code !== "bigint") {
    return undefined;
  }
  const hex = `0x${code.toString(16).padStart(2, "0")}`;
  const meaning = panicMeanings.get(code) ?? "unknown panic code";
  return { kind: "panic", text: `panic ${hex}: ${meaning}`, data };
}

/** Made once: a scan may have thousands of refusals. */
let mockErrors:
  ReturnType<typeof IMockErrors__factory.createInterface> | undefined;

function decodeCustomError(data: string): RevertReason | undefined {
  try {
    mockErrors ??= IMockErrors__factory.createInterface();
    const parsed = mockErrors.parseError(data);
    if (parsed === null) {
      return undefined;
    }
    const args = parsed.fragment.inputs.map(
      ({ name }, index) => `${name}: ${String(parsed.args[index])}`,
    );
    return { kind: "custom", text: `${parsed.name}(${args.join(", ")})`, data };
  } catch {
    // The four bytes are ours by chance, the arguments are not.
    return undefined;
  }
}

function decodeTypes(
  types: readonly string[],
  data: string,
): readonly unknown[] | undefined {
  try {
    // The coder's values are typed any; callers take them as unknown.
    const values: readonly unknown[] = AbiCoder.defaultAbiCoder()
      .decode([...types], `0x${data.slice(10)}`)
      .toArray();
    return values;
  } catch {
    return undefined;
  }
}
