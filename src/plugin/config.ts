import type {
  ConfigurationVariable,
  ConfigurationVariableResolver,
  HardhatUserConfig,
  NetworkConfig,
  ResolvedConfigurationVariable,
} from "hardhat/types/config";
import type {
  ConfigHooks,
  HardhatUserConfigValidationError,
} from "hardhat/types/hooks";

import { z } from "zod";

import { FORK_NETWORK } from "../host.js";
import type { SettlementSettings } from "../host.js";
import { asRecord } from "../json.js";
import { byRole, displayDecimalsKeys } from "../protocol/index.js";
import type {
  ContractRole,
  DisplayDecimals,
  DisplaySettings,
} from "../protocol/index.js";

export type { SettlementSettings };

/** Settings of one instance of the protocol on a network. */
export interface VaultInstanceUserConfig extends SettlementSettings {
  /** Addresses of the contracts by role. */
  contracts?: {
    [Role in ContractRole]?: string | ConfigurationVariable | undefined;
  };
  /**
   * Address of a RoundGuard contract that settlements go through. Default, or false:
   * `settleAll` is called directly.
   */
  guard?: string | ConfigurationVariable | false | undefined;
  /** Decimals of token amounts ("token precision"). Default: amounts are shown unscaled. */
  tokenDecimals?: number | undefined;
  /**
   * Decimals of values whose scale the protocol does not document, by reading
   * (`pools`) or by value (`"order.openPrice"`). For display only: JSON and the
   * API stay unscaled.
   */
  displayDecimals?: DisplayDecimals | undefined;
}

/** `vault` of a network in the Hardhat configuration. */
export interface VaultNetworkUserConfig extends VaultInstanceUserConfig {
  /**
   * More instances on this network, by name, for `--instance` and
   * `vault.instance()`. An instance inherits the settings that it omits, but
   * `displayDecimals` only if it has the same `tokenDecimals`.
   */
  instances?: { [name: string]: VaultInstanceUserConfig };
}

/** Resolved settings of an instance, with the decimals that it inherits. */
export interface VaultInstanceConfig
  extends DisplaySettings, SettlementSettings {
  contracts: { [Role in ContractRole]?: ResolvedConfigurationVariable };
  guard?: ResolvedConfigurationVariable | false | undefined;
}

/** Resolved settings of a network. */
export interface VaultNetworkConfig extends VaultInstanceConfig {
  instances: { [name: string]: VaultInstanceConfig };
}

/** With more, 10^decimals exceeds uint256. */
const MAX_DECIMALS = 77;

/** Part of file names, on disks that may ignore case. */
const INSTANCE_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/u;

function isHexAddress(value: unknown): boolean {
  return typeof value === "string" && /^0x[0-9a-fA-F]{40}$/u.test(value);
}

function isAddress(value: unknown): boolean {
  const { _type: type, name } = asRecord(value);
  return typeof value === "string"
    ? isHexAddress(value)
    : type === "ConfigurationVariable" && typeof name === "string";
}

const addressSetting = z
  .custom(
    isAddress,
    "expected an address (0x and 40 hex digits) or a configuration variable",
  )
  .optional();

const wei = z.bigint().positive().optional();
const count = z.number().int().safe().min(1);
const decimals = z.number().int().min(0).max(MAX_DECIMALS).optional();

const instanceSettings = z
  .object({
    contracts: z
      .object(byRole(() => addressSetting))
      .strict()
      .optional(),
    guard: z
      .custom(
        (value) => value === false || isAddress(value),
        "expected an address (0x and 40 hex digits), a configuration variable, or false",
      )
      .optional(),
    maxFeePerGasLimit: wei,
    maxPriorityFeePerGasLimit: wei,
    timeBeforeBumpingFees: count.optional(),
    maxFeeBumps: z.number().int().safe().min(0).optional(),
    confirmations: count.optional(),
    maxHeadAge: z
      .custom(
        (value) => value === false || count.safeParse(value).success,
        "expected a whole number of seconds from 1 up, or false",
      )
      .optional(),
    tokens: z
      .array(z.custom(isHexAddress, "expected 0x and 40 hex digits"))
      .optional(),
    tokenDecimals: decimals,
    displayDecimals: z
      .object(
        Object.fromEntries(displayDecimalsKeys.map((key) => [key, decimals])),
      )
      .strict()
      .optional(),
  })
  .strict();

/**
 * Refuses a tip above the whole price, which no transaction may offer, and fees that are
 * raised without a limit. An instance inherits the limit of its network.
 */
function checkFees(value: unknown, { addIssue }: z.RefinementCtx): void {
  const network = asRecord(value);
  const check = (own: unknown, path: readonly string[]): void => {
    const {
      maxFeePerGasLimit: limit = network["maxFeePerGasLimit"],
      maxPriorityFeePerGasLimit: tip,
      timeBeforeBumpingFees,
    } = asRecord(own);
    const refuse = (name: string, message: string): void => {
      addIssue({ code: "custom", path: [...path, name], message });
    };
    if (typeof limit === "bigint" && typeof tip === "bigint" && tip > limit) {
      refuse("maxPriorityFeePerGasLimit", "may not exceed maxFeePerGasLimit");
    }
    if (timeBeforeBumpingFees !== undefined && limit === undefined) {
      refuse(
        "timeBeforeBumpingFees",
        "needs maxFeePerGasLimit, up to which fees are raised",
      );
    }
  };
  check(network, []);
  for (const [name, one] of Object.entries(asRecord(network["instances"]))) {
    check(one, ["instances", name]);
  }
}

const instanceName = z
  .string()
  .regex(
    INSTANCE_NAME,
    "expected the name of an instance: lower-case letters, digits, - and _",
  );

const networkSettings = instanceSettings
  .extend({ instances: z.record(instanceName, instanceSettings).optional() })
  .superRefine(checkFees);

/** Hardhat runs these hooks at every start and for every connection with overrides. */
export default async (): Promise<Partial<ConfigHooks>> =>
  await Promise.resolve({
    extendUserConfig,
    validateUserConfig,
    resolveUserConfig,
  });

/** Adds the network that forks are made with, unless the user defines it. */
async function extendUserConfig(
  userConfig: HardhatUserConfig,
  next: (nextUserConfig: HardhatUserConfig) => Promise<HardhatUserConfig>,
): Promise<HardhatUserConfig> {
  const extended = await next(userConfig);
  return {
    ...extended,
    networks: {
      [FORK_NETWORK]: { type: "edr-simulated" },
      ...extended.networks,
    },
  };
}

/** Validates the settings, except checksums and the values of configuration variables. */
async function validateUserConfig(
  userConfig: HardhatUserConfig,
): Promise<HardhatUserConfigValidationError[]> {
  // Not validated yet, so the types may be wrong.
  const networks = Object.entries(asRecord(userConfig.networks));
  const errors = networks.flatMap(([name, network]) => {
    const { vault } = asRecord(network);
    const { error } = networkSettings.optional().safeParse(vault);
    return (error?.issues ?? []).map(({ path, message }) => ({
      path: ["networks", name, "vault", ...path],
      message,
    }));
  });
  return await Promise.resolve(errors);
}

async function resolveUserConfig(
  userConfig: HardhatUserConfig,
  resolveConfigurationVariable: ConfigurationVariableResolver,
  next: (
    nextUserConfig: HardhatUserConfig,
    nextResolveConfigurationVariable: ConfigurationVariableResolver,
  ) => ReturnType<ConfigHooks["resolveUserConfig"]>,
): ReturnType<ConfigHooks["resolveUserConfig"]> {
  const resolvedConfig = await next(userConfig, resolveConfigurationVariable);
  const networks: Record<string, NetworkConfig> = {};
  // Hardhat's own resolver drops unknown keys of networks.
  for (const [name, network] of Object.entries(resolvedConfig.networks)) {
    networks[name] = {
      ...network,
      vault: resolveSettings(
        userConfig.networks?.[name]?.vault ?? {},
        resolveConfigurationVariable,
      ),
    };
  }
  const fork = networks[FORK_NETWORK];
  const { forking } = asRecord(userConfig.networks?.[FORK_NETWORK]);
  const { cacheDir } = asRecord(forking);
  if (
    fork?.type === "edr-simulated" &&
    fork.forking !== undefined &&
    typeof cacheDir === "string"
  ) {
    fork.forking.cacheDir = cacheDir;
  }
  return { ...resolvedConfig, networks };
}

/** Resolves the settings of a network and of its instances, which inherit them. */
function resolveSettings(
  { instances = {}, ...network }: VaultNetworkUserConfig,
  resolveVariable: ConfigurationVariableResolver,
): VaultNetworkConfig {
  const resolve = ({
    contracts = {},
    guard,
    ...others
  }: VaultInstanceUserConfig): VaultInstanceConfig => ({
    contracts: Object.fromEntries(
      Object.entries(contracts).flatMap(([role, address]) =>
        address === undefined ? [] : [[role, resolveVariable(address)]],
      ),
    ),
    ...others,
    ...(guard !== undefined && {
      guard: guard === false ? false : resolveVariable(guard),
    }),
  });
  const { contracts: _ownAddresses, displayDecimals, ...inherited } = network;
  const inherit = (instance: VaultInstanceUserConfig): VaultInstanceConfig => {
    const settings = { ...inherited, ...withoutUndefined(instance) };
    // Another token has other scales: an inherited one would show wrong values.
    const isSameToken = settings.tokenDecimals === inherited.tokenDecimals;
    return resolve({
      ...settings,
      displayDecimals: {
        ...(isSameToken ? displayDecimals : {}),
        ...withoutUndefined(instance.displayDecimals ?? {}),
      },
    });
  };
  return {
    ...resolve(network),
    instances: Object.fromEntries(
      Object.entries(instances).map(([name, one]) => [name, inherit(one)]),
    ),
  };
}

/** A key that is written out as undefined is inherited, too. */
function withoutUndefined<Settings extends object>(
  settings: Settings,
): Partial<Settings> {
  // the same properties, without some
  return Object.fromEntries(
    Object.entries(settings).filter(([, value]) => value !== undefined),
  ) as Partial<Settings>;
}
