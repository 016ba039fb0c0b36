import { parseCount, parseDuration, parseUint256 } from "../client/inputs.js";
import { invalidArgument } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { FeeLimits } from "../settlement-call/fees.js";
import type { SettleAllOptions, SettlementEvent } from "./types.js";

/** `firstCheck` lets a node that mines at once do so before the first check. */
const DEFAULT_MS = {
  http: { timeout: 300_000, pollingInterval: 1_000, firstCheck: 100 },
  "edr-simulated": { timeout: 10_000, pollingInterval: 50, firstCheck: 0 },
} as const;

export interface Waiting {
  readonly ifExpired: boolean;
  /** True if a preview that does not settle the round is no obstacle. */
  readonly partial: boolean;
  /** True if nobody is asked. */
  readonly isUnattended: boolean;
  readonly limits: FeeLimits;
  readonly confirmations: number;
  readonly timeoutMs: number;
  readonly pollingIntervalMs: number;
  /** Time for a node to mine or queue an accepted transaction. */
  readonly firstCheckAfterMs: number;
  readonly emit: (event: SettlementEvent) => void;
}

export function parseWaiting(
  vault: VaultHost,
  options: SettleAllOptions,
): Waiting {
  const { connection } = vault;
  const defaults = DEFAULT_MS[connection.networkConfig.type];
  const { timeout, pollingInterval = defaults.pollingInterval } = options;
  for (const name of ["from", "confirm", "assertOnly"] as const) {
    if (options.resume === true && (options[name] ?? false) !== false) {
      throw invalidArgument(name, "resuming does not take it", "Omit it.");
    }
  }
  return {
    ifExpired: options.ifExpired === true,
    partial: options.partial === true,
    isUnattended: options.confirm === undefined,
    limits: parseFeeLimits(vault, options),
    confirmations: parseCount(options.confirmations, "confirmations") ?? 1,
    timeoutMs: parseDuration("timeout", timeout ?? defaults.timeout),
    pollingIntervalMs: parseDuration("pollingInterval", pollingInterval),
    firstCheckAfterMs: Math.min(defaults.firstCheck, pollingInterval),
    emit: (event) => {
      try {
        options.onEvent?.(event);
      } catch {
        // A failing listener must not lose a transaction on its way.
      }
    },
  };
}

/** The limits of the configuration, the first lowered by `maxFeePerGas`. */
export function parseFeeLimits(
  { settlementSettings, networkName }: VaultHost,
  { maxFeePerGas }: Pick<SettleAllOptions, "maxFeePerGas">,
): FeeLimits {
  const { maxFeePerGasLimit, maxPriorityFeePerGasLimit } = settlementSettings;
  const limitOf = (wei: bigint | undefined, name: string) =>
    wei === undefined
      ? undefined
      : { wei, setting: `networks.${networkName}.vault.${name}` };
  const configured = {
    maxFeePerGas: limitOf(maxFeePerGasLimit, "maxFeePerGasLimit"),
    maxPriorityFeePerGas: limitOf(
      maxPriorityFeePerGasLimit,
      "maxPriorityFeePerGasLimit",
    ),
  };
  if (maxFeePerGas === undefined) {
    return configured;
  }
  const wei = parseUint256(maxFeePerGas, "maxFeePerGas");
  if (maxFeePerGasLimit !== undefined && wei > maxFeePerGasLimit) {
    throw invalidArgument(
      "maxFeePerGas",
      `it is ${wei} wei, and may only lower the configured limit of ${maxFeePerGasLimit} wei (networks.${networkName}.vault.maxFeePerGasLimit)`,
      "Lower it, or raise the setting.",
    );
  }
  return { ...configured, maxFeePerGas: { wei, setting: "maxFeePerGas" } };
}
