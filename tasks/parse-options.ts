import type { NetworkConfig } from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { givenInput } from "../src/client/inputs.js";
import { invalidArgument, vaultError } from "../src/errors.js";
import { FORK_NETWORK } from "../src/host.js";
import type { CommonValues, Task } from "./definitions.js";
import type { Options, ValuesOf } from "./options.js";
import { parseWord, parsers } from "./parsers.js";

/** Options as Hardhat passes them: texts, and booleans for flags. */
export type TypedOptions = Readonly<Record<string, unknown>>;

/** Of each row, a task takes one option. */
const alternatives = [
  ["json", "format"],
  ["raw", "scaled"],
  ["all", "at"],
  ["all", "instance"],
  ["block", "toBlock"],
  ["bump", "cancel"],
  ["assert", "calldata", "resume"],
  ["assert", "calldata", "resume", "retryReverted"],
  ["calldata", "partial"],
  ["calldata", "maxFeePerGas"],
];

/** Flags that do nothing without another one. */
const needed = [
  ["safe", "calldata"],
  ["bump", "resume"],
  ["cancel", "resume"],
] as const;

/**
 * Parses a task's options, without any request.
 *
 * @throws VaultError also for options that exclude each other, or need another one
 */
export function parseOptions<Described extends Options>(
  { options }: Task<Described>,
  typed: TypedOptions,
): ValuesOf<Described> & CommonValues {
  const isGiven = (name: string): boolean => (typed[name] ?? false) !== false;
  const parsed = Object.entries(options).map(([name, option]) => {
    const { kind, help: form, isRequired, by } = option;
    const flag = toFlag(name);
    const where =
      kind === "option" || kind === "flag" ? flag : `<${flag.slice(2)}>`;
    const given = typed[name] ?? [];
    const texts: readonly unknown[] = Array.isArray(given) ? given : [given];
    if (isRequired && texts.length === 0) {
      throw vaultError("VAULT_MISSING_OPTION", { where, form });
    }
    if (by === undefined) {
      return [name, given === true];
    }
    const parse = typeof by === "string" ? parsers[by] : parseWord(by);
    const values = texts.map((text) =>
      parse(String(text), where, typed["raw"] === true),
    );
    return [name, kind === "variadic" ? values : values[0]];
  });
  for (const names of alternatives) {
    const given = names.filter(isGiven);
    if (given.length > 1) {
      throw invalidArgument(
        given.map(toFlag).join(" and "),
        "they exclude each other",
        "Use one of them.",
      );
    }
  }
  for (const [name, other] of needed) {
    if (isGiven(name) && !isGiven(other)) {
      const flag = toFlag(other);
      throw invalidArgument(toFlag(name), `it needs ${flag}`, `Add ${flag}.`);
    }
  }
  // each option is parsed to a value of its type
  return Object.fromEntries(parsed) as ValuesOf<Described> & CommonValues;
}

/** The network of `--network`, or Hardhat's default one. */
export function selectedNetwork(hre: HardhatRuntimeEnvironment): {
  readonly name: string;
  readonly config: NetworkConfig;
} {
  const { networks } = hre.config;
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- typed as always there, but undefined without --network
  const name = hre.globalOptions.network ?? "default";
  const config = Object.hasOwn(networks, name) ? networks[name] : undefined;
  if (config === undefined) {
    throw vaultError("VAULT_INVALID_ENUM", {
      where: "--network",
      value: givenInput(name),
      allowed: Object.keys(networks)
        .filter((known) => known !== FORK_NETWORK)
        .join(", "),
    });
  }
  return { name, config };
}

/** `--at-time` for `atTime`. */
export function toFlag(option: string): string {
  return `--${option.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`;
}
