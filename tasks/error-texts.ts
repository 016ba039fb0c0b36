import { textsForCommandLine } from "../src/errors.js";
import type { VaultError } from "../src/errors.js";
import { toJsonValue } from "../src/json.js";
import { toFlag } from "./parse-arguments.js";
import type { TypedArguments } from "./parse-arguments.js";

/** Options of the API whose flag has another name. */
const otherFlags: Readonly<Record<string, string>> = {
  blockTag: "--block",
  blockNumber: "--block",
  engine: "--fork",
  lastId: "--ids",
  orders: "--ids",
};

/** An error of the API in the words of the command line. */
export function inFlags(
  error: VaultError,
  args: TypedArguments,
): Pick<VaultError, "code" | "shortMessage" | "fix" | "details"> {
  const { code, details } = error;
  const where = String(details["where"]);
  const flag = Object.hasOwn(args, where) ? toFlag(where) : otherFlags[where];
  const names = flag === undefined ? {} : { where: flag };
  const instance = instanceFlag(args["instance"]);
  return {
    code,
    ...textsForCommandLine(error, { ...names, "--instance": instance }),
    details: { ...details, ...names },
  };
}

/** An error as one sentence and the next. */
export function messageForCommandLine(
  error: VaultError,
  instance?: string,
): string {
  const { shortMessage, fix } = inFlags(error, { instance });
  return `${shortMessage} ${fix}`;
}

/** Repeats `--instance` in a command that is to be typed next. */
export function instanceFlag(instance: unknown): string {
  return typeof instance === "string" ? ` --instance ${instance}` : "";
}

/** A value as the documents of tasks have it. */
export function toDocument(value: unknown): unknown {
  return toJsonValue(value, (error) => messageForCommandLine(error));
}
