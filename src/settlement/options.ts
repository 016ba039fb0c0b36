// What `settleAll` takes, tells and returns.

import type { LocatedAddress } from "../client/contracts.js";
import {
  checkOptions,
  optional,
  parseCount,
  parseDuration,
} from "../client/inputs.js";
import type { AccountLike, OptionsOf } from "../client/inputs.js";
import { callListener, invalidArgument } from "../errors.js";
import type { VaultError, VaultErrorCode } from "../errors.js";
import { namedTokens } from "../guard/call.js";
import type { VaultHost } from "../host.js";
import type { Address, Hex, VaultRound } from "../protocol/index.js";
import { parseFeeLimits } from "../sending/fees.js";
import type { FeeLimits } from "../sending/fees.js";
import type { ChainKind } from "../sending/journal.js";
import type { SendingEvent } from "../sending/job.js";
import type { SigningKind } from "../sending/signer.js";
import type {
  ReplacementPreflight,
  RequestedReplacement,
} from "../sending/transaction.js";
import type {
  PreviewDifference,
  Simulation,
  TokenDescription,
} from "../simulation/types.js";

export type { ReplacementPreflight, SigningKind };

/**
 * Outcome of a settlement:
 *
 * - `settled`: the transaction was mined, and the intended round is settled.
 * - `not-settled`: the transaction was mined without a revert, but did not settle the
 *   intended round. This is final: the next settlement may begin.
 * - `nothing-to-do`: this run settled nothing: the round is settled already or has not ended,
 *   or an earlier run finished the settlement with success. With a `hash`, `reason` says
 *   which: that, or the transaction came after somebody else had settled the round.
 * - `refused`: nothing was sent, or the node did not accept the transaction.
 * - `reverted`: the contract refused it, in the preflight (`hash` is null) or in a block.
 * - `unconfirmed`: the transaction was sent, but not seen mined in time, or replaced by
 *   another one, or its effect could not be read. `resume` takes it up again, and repeats
 *   what is known of one that was replaced.
 * - `cancelled`: the account's own cancellation used the nonce, so the settlement can
 *   never be mined.
 */
export type SettlementStatus =
  | "settled"
  | "not-settled"
  | "nothing-to-do"
  | "refused"
  | "reverted"
  | "unconfirmed"
  | "cancelled";

/** Result of a settlement. Amounts are unscaled. Null if a value does not apply. */
export interface Settlement {
  readonly status: SettlementStatus;
  /**
   * Error code of `refused` and `reverted`, and of another end after which somebody should look:
   * VAULT_ROUND_CHANGED or VAULT_WOULD_NOT_SETTLE of `not-settled`, but for a step of
   * `partial`; VAULT_ARCHIVE_NODE_NEEDED of `unconfirmed` if only an archive node can tell;
   * VAULT_GUARD_KEEPS_TOKENS.
   */
  readonly code: VaultErrorCode | null;
  /** Explains the status. Can contain the contract's text: escape it. */
  readonly reason: string | null;
  /** Set once a transaction may have been sent. */
  readonly hash: Hex | null;
  /** All that were sent, oldest first; `hash` is the one that counts. */
  readonly hashes: readonly Hex[];
  /** Address of the guard that the settlement goes through. */
  readonly guard: Address | null;
  readonly blockNumber: number | null;
  readonly gasUsed: bigint | null;
  /**
   * Wei that the transaction cost, with the fee for its data on chains of the OP stack; null
   * if the node does not show it.
   */
  readonly cost: bigint | null;
  /** The round before anything was sent. */
  readonly before: VaultRound | null;
  /**
   * Round at the transaction's block; the next round if the settlement opened it. If the
   * node lacks that state: the round at the newest block, if it is the same round.
   */
  readonly after: VaultRound | null;
  /** The simulation before it was sent. Null with `resume`, or if no engine can simulate on the node. */
  readonly preview: Simulation | null;
  /**
   * Previewed changes that did not come, and token transfers that are not as previewed; a
   * receipt does not record native transfers. Null if nothing was mined or the differences
   * are not known; empty only if both were compared.
   */
  readonly differences: readonly PreviewDifference[] | null;
}

/** Settlement to confirm. `balance` and costs are in wei. */
export interface SettlementPreflight {
  readonly chainId: number;
  /** Timestamp that the next block would have, Unix seconds. */
  readonly chainTime: number;
  readonly round: VaultRound;
  readonly contract: LocatedAddress;
  /** Address of the guard that the settlement goes through. */
  readonly guard: Address | null;
  /** Account that settles, with its checksum. */
  readonly from: Address;
  readonly signing: SigningKind;
  readonly balance: bigint;
  /** Gas limit; null if it reverts, as are the costs. */
  readonly gas: bigint | null;
  /** Cost of that gas at the current price. */
  readonly cost: bigint | null;
  /** Highest possible cost of that gas. */
  readonly maxCost: bigint | null;
  readonly outcome: "succeeds" | "reverts";
  /** Null if it succeeds. Can contain the contract's text: escape it. */
  readonly reason: string | null;
  /** Null if no engine can simulate on the node. */
  readonly preview: Simulation | null;
  /** By address. Text of the token contracts: escape it, and do not rely on it. */
  readonly tokens: ReadonlyMap<string, TokenDescription>;
}

export type SettlementEvent =
  | { readonly type: "preflight"; readonly preflight: SettlementPreflight }
  | SendingEvent;

export const settleAllOptions = {
  /**
   * Account that settles: an address or a signer. Default: the network's `from`,
   * else its first account.
   */
  from: optional<AccountLike>(),
  /**
   * Confirmations to wait for, the transaction's own block included. Default:
   * `vault.confirmations` of the network, else 3; 1 on a development node, in process, and
   * if `maxHeadAge` is false. On a live chain, choose it by the depth of its re-orgs.
   */
  confirmations: optional<number>(),
  /** Milliseconds from sending to `unconfirmed`. Default: 300,000; in process 10,000. */
  timeout: optional<number>(),
  /** Milliseconds between two checks. Default: 1,000; in process 50. */
  pollingInterval: optional<number>(),
  /**
   * Settles only a round that has ended by the time of the newest block; where blocks are
   * made on demand, by that of the next one. Default: false.
   */
  ifExpired: optional<boolean>(),
  /**
   * Sends also if the simulation shows that the round is not settled by it, for contracts
   * that settle in several transactions. Default: false.
   */
  partial: optional<boolean>(),
  /**
   * Without `confirm`: settles also if the last settlement of the same round was mined and
   * reverted, which is `refused` else. Default: false.
   */
  retryReverted: optional<boolean>(),
  /**
   * ERC-20 tokens whose balances the preview has, and which a guard forwards from the vault to
   * the account that settles. Default: `vault.tokens` of the network.
   */
  tokens: optional<readonly string[]>(),
  /**
   * Highest price in wei per gas that the settlement may offer; above it the settlement is
   * `refused`. It may only lower `maxFeePerGasLimit`, which is the default.
   */
  maxFeePerGas: optional<bigint>(),
  /** Sends nothing: `refused` if there is a round to settle. Default: false. */
  assertOnly: optional<boolean>(),
  /**
   * Finishes the settlement in the journal, and starts no other. Excludes `from`,
   * `confirm`, `assertOnly`, `resumeFirst`, `retryReverted` and `tokens`. Default: false.
   */
  resume: optional<boolean>(),
  /** Finishes an interrupted settlement, if there is one, in place of a new one. Default: false. */
  resumeFirst: optional<boolean>(),
  /**
   * With `resume: true`: replaces the transaction by the same call, with the same nonce
   * and a higher fee. Needs the key of its account. Default: false.
   */
  bump: optional<boolean>(),
  /**
   * With `resume: true`: uses the nonce by a transfer of 0 to the account itself, so that
   * the settlement can never be mined. Needs the key of its account. Default: false.
   */
  cancel: optional<boolean>(),
  /**
   * Called after the preflight. Only true continues; a string or a VaultError becomes the
   * settlement's `reason`. Default: no confirmation, and a settlement that needs one is
   * `refused`.
   */
  confirm:
    optional<
      (preflight: SettlementPreflight) => Promise<true | string | VaultError>
    >(),
  /**
   * With `resume` and `bump`: called before a higher fee is signed. Only true continues; a
   * string or a VaultError becomes part of the `reason`, and the settlement stays unfinished.
   * Default: nobody is asked, and on a live chain the fee needs a limit.
   */
  confirmReplacement:
    optional<
      (replacement: ReplacementPreflight) => Promise<true | string | VaultError>
    >(),
  /** If it throws or rejects, the process warns, and the settlement goes on. */
  onEvent: optional<(event: SettlementEvent) => unknown>(),
};

export interface SettleAllOptions extends OptionsOf<typeof settleAllOptions> {}

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

const DEFAULT_MS = {
  http: { timeout: 300_000, pollingInterval: 1_000 },
  "edr-simulated": { timeout: 10_000, pollingInterval: 50 },
} as const;

type Name = keyof SettleAllOptions;

/** Each option, and another one without which, or with which, it is refused. */
const pairs: ReadonlyArray<readonly [Name, "needs" | "excludes", Name]> = [
  ["bump", "needs", "resume"],
  ["cancel", "needs", "resume"],
  ["confirmReplacement", "needs", "bump"],
  ["from", "excludes", "resume"],
  ["confirm", "excludes", "resume"],
  ["assertOnly", "excludes", "resume"],
  ["resumeFirst", "excludes", "resume"],
  ["tokens", "excludes", "resume"],
  ["retryReverted", "excludes", "resume"],
  ["bump", "excludes", "cancel"],
];

/** @throws VaultError VAULT_INVALID_ARGUMENT */
export function parseOptions(
  vault: VaultHost,
  options: SettleAllOptions,
): ParsedOptions {
  checkOptions("settleAll()", options, settleAllOptions);
  const isGiven = (name: Name): boolean => (options[name] ?? false) !== false;
  for (const [name, rule, other] of pairs) {
    if (isGiven(name) && isGiven(other) !== (rule === "needs")) {
      throw rule === "needs"
        ? invalidArgument(
            name,
            `it needs ${other}: true`,
            `Add ${other}: true.`,
          )
        : invalidArgument(name, `${other} excludes it`, "Omit one of them.");
    }
  }
  const { bump, cancel, timeout, pollingInterval, onEvent } = options;
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
      callListener("onEvent of settleAll()", onEvent, event, event.type);
    },
  };
}

/**
 * Three on a live chain: some replace one or two blocks every day. One on a chain that makes
 * blocks on demand, where no further block may come.
 */
export function defaultConfirmations(
  { settings: { confirmations, maxHeadAge } }: VaultHost,
  chainKind: ChainKind,
): number {
  return (
    confirmations ?? (chainKind === "live" && maxHeadAge !== false ? 3 : 1)
  );
}
