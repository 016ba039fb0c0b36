import {
  parseCount,
  parseDuration,
  parseUint256,
  checkOptions,
} from "../client/inputs.js";
import { invalidArgument } from "../errors.js";
import { namedTokens } from "../guard/call.js";
import type { VaultHost } from "../host.js";
import type { Address } from "../protocol/index.js";
import type { FeeLimits } from "../sending/fees.js";
import type { ChainKind } from "../sending/journal.js";
import type { RequestedReplacement } from "../sending/replace.js";
import { settleAllOptions } from "./types.js";
import type { SettleAllOptions, SettlementEvent } from "./types.js";

const DEFAULT_MS = {
  http: { timeout: 300_000, pollingInterval: 1_000 },
  "edr-simulated": { timeout: 10_000, pollingInterval: 50 },
} as const;

/**
 * Three on a live chain: some replace one or two blocks every day. One on a chain that makes
 * blocks on demand, where no further block may come.
 */
export function defaultConfirmations(
  { settlementSettings: { confirmations, maxHeadAge } }: VaultHost,
  chainKind: ChainKind,
): number {
  return (
    confirmations ?? (chainKind === "live" && maxHeadAge !== false ? 3 : 1)
  );
}

/** Options of a new settlement, which `resume` does not take. */
const excludedByResume = [
  "from",
  "confirm",
  "assertOnly",
  "resumeFirst",
  "tokens",
  "retryReverted",
] as const;

/** Options of `settleAll`, checked, with their defaults. */
export interface ParsedOptions extends Omit<SettleAllOptions, "tokens"> {
  readonly ifExpired: boolean;
  /** Replacement of the transaction that is resumed. */
  readonly replacement: RequestedReplacement | undefined;
  /** That a guard forwards; undefined if none are named. */
  readonly tokens: readonly Address[] | undefined;
  readonly limits: FeeLimits;
  readonly timeoutMs: number;
  readonly pollingIntervalMs: number;
  readonly emit: (event: SettlementEvent) => void;
}

/** @throws VaultError VAULT_INVALID_ARGUMENT */
export function parseOptions(
  vault: VaultHost,
  options: SettleAllOptions,
): ParsedOptions {
  checkOptions("settleAll()", options, settleAllOptions);
  const { resume, bump, cancel, timeout, pollingInterval, onEvent } = options;
  const isGiven = (name: keyof SettleAllOptions): boolean =>
    (options[name] ?? false) !== false;
  const requireOther = (
    name: keyof SettleAllOptions,
    other: "bump" | "resume",
  ): void => {
    if (isGiven(name) && options[other] !== true) {
      const problem = `it needs ${other}: true`;
      throw invalidArgument(name, problem, `Add ${other}: true.`);
    }
  };
  requireOther("bump", "resume");
  requireOther("cancel", "resume");
  requireOther("confirmReplacement", "bump");
  const excluded = excludedByResume.find(isGiven);
  if (resume === true && excluded !== undefined) {
    throw invalidArgument(excluded, "resuming does not take it", "Omit it.");
  }
  if (bump === true && cancel === true) {
    throw invalidArgument("bump", "it excludes cancel", "Pass one of them.");
  }
  const defaults = DEFAULT_MS[vault.connection.networkConfig.type];
  return {
    ...options,
    ifExpired: options.ifExpired === true,
    tokens: namedTokens(vault, options.tokens),
    limits: parseFeeLimits(vault, options.maxFeePerGas),
    confirmations: parseCount(options.confirmations, "confirmations"),
    timeoutMs: parseDuration("timeout", timeout ?? defaults.timeout),
    pollingIntervalMs: parseDuration(
      "pollingInterval",
      pollingInterval ?? defaults.pollingInterval,
    ),
    replacement:
      bump === true ? "bump" : cancel === true ? "cancel" : undefined,
    emit: (event) => {
      void tellListener(onEvent, event);
    },
  };
}

/**
 * A failing listener must not lose a transaction on its way, nor end the process: JavaScript
 * also accepts an async one, which rejects later.
 */
async function tellListener(
  listener: SettleAllOptions["onEvent"],
  event: SettlementEvent,
): Promise<void> {
  try {
    await listener?.(event);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    process.emitWarning(
      `onEvent of settleAll() failed at "${event.type}": ${problem}`,
    );
  }
}

/** @param maxFeePerGas The option, in wei; it may only lower the limit of the settings. */
export function parseFeeLimits(
  { settlementSettings, networkName }: VaultHost,
  maxFeePerGas?: bigint,
): FeeLimits {
  const limitOf = (name: "maxFeePerGasLimit" | "maxPriorityFeePerGasLimit") => {
    const wei = settlementSettings[name];
    const setting = `networks.${networkName}.vault.${name}`;
    return wei === undefined ? undefined : { wei, setting };
  };
  const configured = limitOf("maxFeePerGasLimit");
  const setting = "maxFeePerGas";
  const asked =
    maxFeePerGas === undefined
      ? undefined
      : { wei: parseUint256(maxFeePerGas, setting), setting };
  const isLower =
    asked !== undefined && asked.wei < (configured?.wei ?? Infinity);
  return {
    maxFeePerGas: isLower ? asked : configured,
    maxPriorityFeePerGas: limitOf("maxPriorityFeePerGasLimit"),
  };
}
