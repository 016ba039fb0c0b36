import { parseCount, parseDuration } from "../client/inputs.js";
import { invalidArgument } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { SettleAllOptions, SettlementEvent } from "./types.js";

/** `firstCheck` lets a node that mines at once do so before the first check. */
const DEFAULT_MS = {
  http: { timeout: 300_000, pollingInterval: 1_000, firstCheck: 100 },
  "edr-simulated": { timeout: 10_000, pollingInterval: 50, firstCheck: 0 },
} as const;

export interface Waiting {
  readonly ifExpired: boolean;
  readonly confirmations: number;
  readonly timeoutMs: number;
  readonly pollingIntervalMs: number;
  /** Time for a node to mine or queue an accepted transaction. */
  readonly firstCheckAfterMs: number;
  readonly emit: (event: SettlementEvent) => void;
}

export function parseWaiting(
  { connection }: VaultHost,
  options: SettleAllOptions,
): Waiting {
  const defaults = DEFAULT_MS[connection.networkConfig.type];
  const { timeout, pollingInterval = defaults.pollingInterval } = options;
  for (const name of ["from", "confirm", "assertOnly"] as const) {
    if (options.resume === true && (options[name] ?? false) !== false) {
      throw invalidArgument(name, "resuming does not take it", "Omit it.");
    }
  }
  return {
    ifExpired: options.ifExpired === true,
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
