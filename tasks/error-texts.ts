import { createRequire } from "node:module";

import { textsForCommandLine } from "../src/errors.js";
import type { VaultError } from "../src/errors.js";
import { asRecord, toJsonValue } from "../src/json.js";
import { toFlag } from "./parse-options.js";
import type { TypedOptions } from "./parse-options.js";

/** The flags of API options whose names differ. */
const otherFlags: Readonly<Record<string, string>> = {
  blockTag: "--block",
  blockNumber: "--block",
  engine: "--fork",
  lastId: "--ids",
  orders: "--ids",
};

/** The texts of an error, with flags in place of API options. */
export function inFlags(
  error: VaultError,
  args: TypedOptions,
): Pick<VaultError, "code" | "shortMessage" | "fix" | "details"> {
  const { code, details } = error;
  const names: Record<string, string> = {};
  for (const key of ["where", "setting"]) {
    const name = String(details[key]);
    const flag = Object.hasOwn(args, name) ? toFlag(name) : otherFlags[name];
    if (flag !== undefined) {
      names[key] = flag;
    }
  }
  const tags = { ...names, "--network": repeatFlags(args) };
  return {
    code,
    ...textsForCommandLine(error, tags),
    details: { ...details, ...names },
  };
}

export function messageForCommandLine(
  error: VaultError,
  args: TypedOptions = {},
): string {
  const { shortMessage, fix } = inFlags(error, args);
  return `${shortMessage} ${fix}`;
}

/** Repeats the options that choose the contracts in a suggested command. */
export function repeatFlags(args: TypedOptions): string {
  return ["at", "instance", "network"]
    .filter((name) => typeof args[name] === "string")
    .map((name) => ` --${name} ${String(args[name]).replaceAll(/\s/gu, "")}`)
    .join("");
}

/** A value for a JSON document; errors get the texts of the command line. */
export function toDocument(value: unknown): unknown {
  return toJsonValue(value, (error) => messageForCommandLine(error));
}

/** The paragraph about an error on the documentation's site, whose address package.json has. */
export function pageOf(code: string): string {
  const ownPackage: unknown = createRequire(import.meta.url)(
    "hardhat-vault/package.json",
  );
  const { homepage } = asRecord(ownPackage);
  return `${String(homepage)}documents/Error_codes.html#${code.toLowerCase()}`;
}
