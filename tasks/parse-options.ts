import type { NetworkConfig } from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { givenInput } from "../src/client/inputs.js";
import { invalidArgument, vaultError } from "../src/errors.js";
import { settingsOf } from "../src/plugin/addresses.js";
import { FORK_NETWORK } from "../src/host.js";
import type { Options, ValuesOf } from "./definitions/options.js";
import type { CommonValues } from "./definitions/shared.js";
import * as parsers from "./parsers.js";
import type { Scales } from "./parsers.js";

/** Options as Hardhat passes them: texts, and booleans for flags. */
export type TypedOptions = Readonly<Record<string, unknown>>;

/** Parses a task's options, without any request. */
export function parseOptions<Described extends Options>(
  described: Described,
  typed: TypedOptions,
  hre: HardhatRuntimeEnvironment,
): ValuesOf<Described> & CommonValues {
  const scales = {
    raw: typed["raw"] === true,
    // Asked only of tasks that take an amount.
    get tokenDecimals() {
      return tokenDecimalsFor(typed, hre);
    },
  } satisfies Scales;
  const values = Object.entries(described).map(([name, option]) => {
    const { kind, help: form, isRequired } = option;
    const flag = toFlag(name);
    const isNamed = kind === "option" || kind === "flag";
    const where = isNamed ? flag : `<${flag.slice(2)}>`;
    const given = typed[name];
    if (
      isRequired &&
      (given === undefined || (Array.isArray(given) && given.length === 0))
    ) {
      throw vaultError("VAULT_MISSING_OPTION", { where, form });
    }
    const value = option.read(given, ({ from }, text) =>
      from(parsers)(String(text), where, scales),
    );
    return [name, value] as const;
  });
  // each option reads a value of its type
  return Object.fromEntries(values) as ValuesOf<Described> & CommonValues;
}

function tokenDecimalsFor(
  { instance }: TypedOptions,
  hre: HardhatRuntimeEnvironment,
): number | undefined {
  const { name: network, config } = selectedNetwork(hre);
  const name = typeof instance === "string" ? instance : undefined;
  return settingsOf(network, config, name).tokenDecimals;
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

/** @throws VaultError VAULT_INVALID_ARGUMENT for options that exclude each other */
export function excludeAlternatives(
  alternatives: ReadonlyArray<readonly string[]>,
  typed: TypedOptions,
): void {
  for (const names of alternatives) {
    const given = names.filter((name) => (typed[name] ?? false) !== false);
    if (given.length > 1) {
      const where = given.map(toFlag).join(" and ");
      const problem = "they exclude each other";
      throw invalidArgument(where, problem, "Use one of them.");
    }
  }
}

/** `--at-time` for `atTime`. */
export function toFlag(option: string): string {
  return `--${option.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`;
}
