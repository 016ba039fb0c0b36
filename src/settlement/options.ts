import { checkOptions } from "../client/options.js";
import { parseCount, parseDuration, parseUint256 } from "../client/inputs.js";
import { invalidArgument } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { Address } from "../protocol/index.js";
import type { FeeLimits } from "../sending/fees.js";
import { namedTokens } from "../guard/call.js";
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

/** Options of `settleAll`, checked, with their defaults. */
export interface ParsedOptions extends Pick<
  SettleAllOptions,
  | "assertOnly"
  | "confirm"
  | "confirmReplacement"
  | "from"
  | "resume"
  | "resumeFirst"
> {
  readonly ifExpired: boolean;
  /** True if a preview that does not settle the round is no obstacle. */
  readonly partial: boolean;
  /** True if a settlement of the same round that reverted is no obstacle. */
  readonly retryReverted: boolean;
  /** Replacement of the transaction that is resumed. */
  readonly replacement: RequestedReplacement | undefined;
  /** That a guard forwards; undefined if none are named. */
  readonly tokens: readonly Address[] | undefined;
  readonly limits: FeeLimits;
  /** Default: {@link defaultConfirmations}. */
  readonly confirmations: number | undefined;
  readonly timeoutMs: number;
  readonly pollingIntervalMs: number;
  /** Time for a node to mine or queue an accepted transaction. */
  readonly firstCheckAfterMs: number;
  readonly emit: (event: SettlementEvent) => void;
}

/** @throws VaultError VAULT_INVALID_ARGUMENT */
export function parseOptions(
  vault: VaultHost,
  options: SettleAllOptions,
): ParsedOptions {
  checkOptions("settleAll()", options, settleAllOptions);
  const defaults = DEFAULT_MS[vault.connection.networkConfig.type];
  const { timeout, pollingInterval = defaults.pollingInterval } = options;
  const { from, confirm, assertOnly, resume, resumeFirst } = options;
  const { confirmReplacement } = options;
  if (confirmReplacement !== undefined && options.bump !== true) {
    const problem = "it is asked about a higher fee, so it needs bump: true";
    throw invalidArgument("confirmReplacement", problem, "Add bump: true.");
  }
  for (const name of [
    "from",
    "confirm",
    "assertOnly",
    "resumeFirst",
    "tokens",
    "retryReverted",
  ] as const) {
    if (resume === true && (options[name] ?? false) !== false) {
      throw invalidArgument(name, "resuming does not take it", "Omit it.");
    }
  }
  return {
    from,
    confirm,
    confirmReplacement,
    assertOnly,
    resume,
    resumeFirst,
    ifExpired: options.ifExpired === true,
    partial: options.partial === true,
    retryReverted: options.retryReverted === true,
    tokens: namedTokens(vault, options.tokens),
    limits: parseFeeLimits(vault, options),
    confirmations: parseCount(options.confirmations, "confirmations"),
    timeoutMs: parseDuration("timeout", timeout ?? defaults.timeout),
    pollingIntervalMs: parseDuration("pollingInterval", pollingInterval),
    firstCheckAfterMs: Math.min(defaults.firstCheck, pollingInterval),
    replacement: parseReplacement(options),
    emit: (event) => {
      void tellListener(options.onEvent, event);
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

function parseReplacement({
  bump = false,
  cancel = false,
  resume,
}: SettleAllOptions): RequestedReplacement | undefined {
  for (const [name, value] of Object.entries({ bump, cancel })) {
    if (value && resume !== true) {
      throw invalidArgument(
        name,
        "it replaces the transaction of an earlier settlement, so it needs resume: true",
        "Add resume: true.",
      );
    }
  }
  if (bump && cancel) {
    throw invalidArgument("bump", "it excludes cancel", "Pass one of them.");
  }
  return bump ? "bump" : cancel ? "cancel" : undefined;
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
