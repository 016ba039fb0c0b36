import { inspect } from "node:util";

import { errorTable, errorsByKind, isRefusalCode } from "./error-table.js";
import type { ErrorKind, Errors, VaultErrorCode } from "./error-table.js";
import { keysOf } from "./protocol/index.js";
import { escapeUntrusted } from "./foreign-text.js";

export { isErrorCode, isRefusalCode } from "./error-table.js";
export type { ErrorKind, VaultErrorCode } from "./error-table.js";

type TagsOf<Template extends string> =
  Template extends `${string}{${infer Tag}}${infer Rest}`
    ? Tag | TagsOf<Rest>
    : never;

/** An argument that the texts show in other words than the details. */
export interface GivenValue {
  readonly value: string;
  readonly shown: string;
}

export type ErrorArgument = string | number | bigint | GivenValue;

type TextsOf<Entry> = Entry[keyof Entry & ("text" | "fix" | "cli")];

export type VaultErrorArguments<Code extends VaultErrorCode> = Record<
  Exclude<TagsOf<TextsOf<(typeof errorTable)[Code]> & string>, `--${string}`>,
  ErrorArgument
>;

type Arguments = Readonly<Record<string, string | number>>;

const brand: unique symbol = Symbol.for("hardhat-vault.VaultError");

export class VaultError extends Error {
  public override readonly name = "VaultError";
  public readonly kind: ErrorKind;
  /** The message without the fix. */
  public readonly shortMessage: string;
  /** The advice to the user. */
  public readonly fix: string;
  /** The values in the texts by name; a bigint is a decimal string. */
  public readonly details: Arguments;

  constructor(
    public readonly code: VaultErrorCode,
    args: Readonly<Record<string, ErrorArgument>>,
    cause?: unknown,
  ) {
    const shown = readArguments(args, "shown");
    const shortMessage = fill(errorTable[code].text, shown);
    const fix = fill(errorTable[code].fix, shown);
    const words = String(shown["reason"] ?? shown["problem"] ?? "");
    super(
      `${shortMessage} ${fix}`,
      cause === undefined ? undefined : { cause: asError(cause, words) },
    );
    this.kind =
      keysOf(errorsByKind).find((kind) => code in errorsByKind[kind]) ?? "bug";
    this.shortMessage = shortMessage;
    this.fix = fix;
    this.details = readArguments(args, "value");
    Object.defineProperties(this, {
      [brand]: { value: shown },
      // Hardhat prints the message without a stack. The client must not load
      // Hardhat's error class.
      _isHardhatPluginError: { value: true },
      pluginId: { value: "hardhat-vault" },
    });
  }

  /**
   * Recognises a VaultError, even of another copy of this package.
   *
   * @example
   * ```ts
   * await vault.getOrderInfo(-1n).catch((error: unknown) => {
   *   console.log(VaultError.isVaultError(error) && error.code);
   * }); // VAULT_INVALID_INTEGER
   * ```
   */
  public static isVaultError(value: unknown): value is VaultError {
    return typeof value === "object" && value !== null && brand in value;
  }
}

/** The name of a network without a name: it follows the word "network" in texts. */
export const GIVEN_PROVIDER = "of the given provider";

/** Example: `networks.mainnet.url`. Of a network without a name: `the provider's url`. */
export function describeSetting(network: string, setting: string): string {
  return network === GIVEN_PROVIDER
    ? `the provider's ${setting}`
    : `networks.${network}.${setting}`;
}

function fill(template: string, shown: Arguments): string {
  const network = String(shown["network"]);
  const values: Arguments = { "--network": "", ...shown };
  return template
    .replaceAll(/networks\.\{network\}\.(\w+)/gu, (_, setting: string) =>
      describeSetting(network, setting),
    )
    .replaceAll(/\{([\w-]+)\}/gu, (tag, name: string) =>
      String(values[name] ?? tag),
    )
    .trim()
    .replace(/(?<![.!?])$/u, ".");
}

/**
 * Returns the texts of an error for the command line.
 *
 * @param flags Values that replace arguments, by name.
 */
export function textsForCommandLine(
  error: VaultError,
  flags: Readonly<Record<string, string>> = {},
): Pick<VaultError, "shortMessage" | "fix"> {
  const { text, fix, cli = fix }: Errors[string] = errorTable[error.code];
  const given: unknown = Reflect.get(error, brand);
  const inWords = typeof given === "object" ? given : {};
  const shown = { ...inWords, ...flags };
  return { shortMessage: fill(text, shown), fix: fill(cli, shown) };
}

export function vaultError<Code extends VaultErrorCode>(
  code: Code,
  args: VaultErrorArguments<Code>,
  cause?: unknown,
): VaultError {
  return new VaultError(code, args, cause);
}

/** @returns True if the error ends a settlement as `refused`. */
export function refusesSettlement(error: unknown): error is VaultError {
  return VaultError.isVaultError(error) && isRefusalCode(error.code);
}

/** True for an error with one of these codes. */
export function hasErrorCode<Code extends VaultErrorCode>(
  error: unknown,
  ...codes: readonly Code[]
): error is VaultError & { readonly code: Code } {
  return (
    VaultError.isVaultError(error) && codes.some((code) => code === error.code)
  );
}

export function invalidArgument(
  where: string,
  problem: string,
  remedy = "Correct that value.",
): VaultError {
  return vaultError("VAULT_INVALID_ARGUMENT", { where, problem, remedy });
}

export function assertInvariant(
  condition: boolean,
  problem: string,
): asserts condition {
  if (!condition) {
    throw vaultError("VAULT_INTERNAL", { problem });
  }
}

/** Makes a rejection handler that returns a value for expected errors. */
export function fallbackTo<Value>(
  value: Value,
  isExpected: (error: VaultError) => boolean = () => true,
): (error: unknown) => Value {
  return (error) => {
    if (VaultError.isVaultError(error) && isExpected(error)) {
      return value;
    }
    throw error;
  };
}

/**
 * Calls a listener, which may be async. Its failure is a warning: it ends neither the work that
 * it listens to nor the process.
 *
 * @param name Of the listener, for the warning.
 * @param subject What the event is about, for the warning.
 */
export function callListener<Event>(
  name: string,
  listener: ((event: Event) => unknown) | undefined,
  event: Event,
  subject: string,
): void {
  const call = async (): Promise<unknown> => await listener?.(event);
  call().catch((error: unknown) => {
    const text = isError(error) ? String(error) : inspect(error);
    process.emitWarning(`${name} failed at "${subject}": ${text}`);
  });
}

/**
 * Test runners print the message of a cause, which only an error has: what a node answered
 * gets these words.
 */
function asError(cause: unknown, message: string): unknown {
  const fields = typeof cause === "object" ? cause : {};
  // The stack would be that of this function.
  const own = { message, stack: `Error: ${message}` };
  return isError(cause) ? cause : Object.assign(new Error(), fields, own);
}

/** True for an error, also of another realm; parsed JSON is never one. */
export function isError(value: unknown): boolean {
  return (
    value instanceof Error ||
    Object.prototype.toString.call(value) === "[object Error]"
  );
}

function readArguments(
  args: Readonly<Record<string, ErrorArgument>>,
  part: keyof GivenValue,
): Arguments {
  return Object.fromEntries(
    Object.entries(args).map(([key, argument]) => {
      const value = typeof argument === "object" ? argument[part] : argument;
      const isNumber = typeof value === "number";
      return [key, isNumber ? value : escapeUntrusted(String(value))];
    }),
  );
}

/**
 * Runs a function, and adds the frames of the caller to the stack of its error. V8 keeps
 * them only if each function awaits the next one directly: not behind a queue or
 * `Promise.all`, nor for the system's errors.
 */
export async function withCallerStack<Result>(
  run: () => Promise<Result>,
): Promise<Result> {
  const { stack = "" } = new Error();
  try {
    return await run();
  } catch (error) {
    // The first lines are the message and this function.
    throw addFrames(error, stack.split("\n").slice(2));
  }
}

/** @param frames Lines of a stack, without its message. */
export function addFrames(error: unknown, frames: readonly string[]): unknown {
  if (error instanceof Error) {
    const { stack = "" } = error;
    const missing = frames.filter((frame) => !stack.includes(frame));
    error.stack = [stack, ...missing].join("\n");
  }
  return error;
}
