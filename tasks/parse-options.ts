import type { NetworkConfig } from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { givenInput } from "../src/client/inputs.js";
import { invalidArgument, vaultError } from "../src/errors.js";
import { FORK_NETWORK } from "../src/host.js";
import type { CommonValues, Options, Task, ValuesOf } from "./definitions.js";
import * as parsers from "./parsers.js";

/** Options as Hardhat passes them: texts, and booleans for flags. */
export type TypedOptions = Readonly<Record<string, unknown>>;

/**
 * Parses a task's options, without any request.
 *
 * @throws VaultError also for options that exclude each other
 */
export function parseOptions<Described extends Options>(
  { options, alternatives }: Task<Described>,
  typed: TypedOptions,
): ValuesOf<Described> & CommonValues {
  const isRaw = typed["raw"] === true;
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
    const values =
      by === undefined
        ? [given === true]
        : texts.map((text) => by.from(parsers)(String(text), where, isRaw));
    return [name, kind === "variadic" ? values : values[0]] as const;
  });
  for (const names of alternatives) {
    const given = names.filter((name) => (typed[name] ?? false) !== false);
    if (given.length > 1) {
      const where = given.map(toFlag).join(" and ");
      throw invalidArgument(
        where,
        "they exclude each other",
        "Use one of them.",
      );
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
