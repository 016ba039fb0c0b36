import { parseCount, parseDuration, parseUint256 } from "../client/inputs.js";
import { checkOptions } from "../client/options.js";
import { invalidArgument } from "../errors.js";
import { namedTokens } from "../guard/call.js";
import type { VaultHost } from "../host.js";
import type { Address } from "../protocol/index.js";
import { keysOf } from "../protocol/index.js";
import type { FeeLimits } from "../sending/fees.js";
import type { Job } from "../sending/job.js";
import type { ChainKind } from "../sending/journal.js";
import type { RequestedReplacement } from "../sending/replace.js";
import { settleAllOptions } from "./types.js";
import type { SettleAllOptions, SettlementEvent } from "./types.js";

/** `firstCheck` lets a node that mines at once do so before the first check. */
const DEFAULT_MS = {
  http: { timeout: 300_000, pollingInterval: 1_000, firstCheck: 100 },
  "edr-simulated": { timeout: 10_000, pollingInterval: 50, firstCheck: 0 },
} as const;

/**
 * Some live chains replace one or two blocks every day. A chain that makes blocks on demand
 * may have no further one.
 */
export function defaultConfirmations(
  { settlementSettings: { confirmations, maxHeadAge } }: VaultHost,
  chainKind: ChainKind,
): number {
  return (
    confirmations ?? (chainKind === "live" && maxHeadAge !== false ? 3 : 1)
  );
}

/** Options that only make sense with another one. */
const needs = {
  bump: "resume",
  cancel: "resume",
  confirmReplacement: "bump",
} as const;

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
export interface ParsedOptions
  extends
    Omit<SettleAllOptions, "tokens">,
    Pick<Job, "firstCheckAfterMs" | "pollingIntervalMs"> {
  /** Replacement of the transaction that is resumed. */
  readonly replacement: RequestedReplacement | undefined;
  /** That a guard forwards; undefined if none are named. */
  readonly tokens: readonly Address[] | undefined;
  readonly limits: FeeLimits;
  readonly timeoutMs: number;
  readonly emit: (event: SettlementEvent) => void;
}

/** @throws VaultError VAULT_INVALID_ARGUMENT */
export function parseOptions(
  vault: VaultHost,
  options: SettleAllOptions,
): ParsedOptions {
  checkOptions("settleAll()", options, settleAllOptions);
  const isGiven = (name: keyof SettleAllOptions): boolean =>
    (options[name] ?? false) !== false;
  for (const name of keysOf(needs)) {
    const other = needs[name];
    if (isGiven(name) && options[other] !== true) {
      const problem = `it needs ${other}: true`;
      throw invalidArgument(name, problem, `Add ${other}: true.`);
    }
  }
  const excluded = excludedByResume.find(isGiven);
  if (options.resume === true && excluded !== undefined) {
    throw invalidArgument(excluded, "resuming does not take it", "Omit it.");
  }
  const { bump, cancel, timeout, pollingInterval, onEvent } = options;
  if (bump === true && cancel === true) {
    throw invalidArgument("bump", "it excludes cancel", "Pass one of them.");
  }
  const defaults = DEFAULT_MS[vault.connection.networkConfig.type];
  const pollingIntervalMs = parseDuration(
    "pollingInterval",
    pollingInterval ?? defaults.pollingInterval,
  );
  return {
    ...options,
    tokens: namedTokens(vault, options.tokens),
    limits: parseFeeLimits(vault, options),
    confirmations: parseCount(options.confirmations, "confirmations"),
    timeoutMs: parseDuration("timeout", timeout ?? defaults.timeout),
    pollingIntervalMs,
    firstCheckAfterMs: Math.min(defaults.firstCheck, pollingIntervalMs),
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

/** The limits of the configuration, the first lowered by `maxFeePerGas`. */
export function parseFeeLimits(
  { settlementSettings, networkName }: VaultHost,
  { maxFeePerGas }: Pick<SettleAllOptions, "maxFeePerGas">,
): FeeLimits {
  const limitOf = (name: "maxFeePerGasLimit" | "maxPriorityFeePerGasLimit") => {
    const wei = settlementSettings[name];
    const setting = `networks.${networkName}.vault.${name}`;
    return wei === undefined ? undefined : { wei, setting };
  };
  const most = limitOf("maxFeePerGasLimit");
  const maxPriorityFeePerGas = limitOf("maxPriorityFeePerGasLimit");
  if (maxFeePerGas === undefined) {
    return { maxFeePerGas: most, maxPriorityFeePerGas };
  }
  const setting = "maxFeePerGas";
  const wei = parseUint256(maxFeePerGas, setting);
  if (most !== undefined && wei > most.wei) {
    throw invalidArgument(
      setting,
      `it is ${wei} wei, and may only lower the configured limit of ${most.wei} wei (${most.setting})`,
      "Lower it, or raise the setting.",
    );
  }
  return { maxFeePerGas: { wei, setting }, maxPriorityFeePerGas };
}
