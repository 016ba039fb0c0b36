// What a round, an error of a guard or a refusal means for the status of a settlement.

import { silentRevertHint } from "../client/codec.js";
import { explainReason } from "../client/error-abis.js";
import { isRefusalCode, vaultError } from "../errors.js";
import type { VaultError, VaultErrorCode } from "../errors.js";
import type { VaultHost } from "../host.js";
import { describeTime } from "../protocol/index.js";
import type { VaultRound } from "../protocol/index.js";
import {
  NO_ROUND,
  describeRound,
  hasEnded,
  isSameRound,
} from "../protocol/round.js";
import { decodeRevertReason } from "../rpc/revert-reason.js";
import type { RevertReason } from "../rpc/revert-reason.js";
import { describeKey } from "./call.js";
import type { SettlementRoute } from "./call.js";
import { guardErrorIn } from "./round-guard.js";

/** Nothing was sent. */
export interface Stopped {
  readonly kind: "stopped";
  readonly status: "nothing-to-do" | "refused" | "reverted";
  readonly code?: VaultErrorCode | undefined;
  readonly reason: string;
  /** True if the round has not ended yet: the obstacle goes away with time. */
  readonly isEarly?: boolean;
  /** Error with `reason` as its message. */
  readonly error?: VaultError;
}

export function refusedBy(error: VaultError): Stopped {
  const { code, message: reason } = error;
  return { kind: "stopped", status: "refused", code, reason, error };
}

export function nothingToDo(reason: string): Stopped {
  return { kind: "stopped", status: "nothing-to-do", reason };
}

/** Before anything is sent: the round may be settled, or may not have ended. */
export interface RoundTerms {
  readonly ifExpired: boolean;
  /**
   * Time by which the round has ended or not, Unix seconds: that of the newest block; where
   * blocks are made on demand, that of the next one.
   */
  readonly time: number;
  /** The round that was seen before; undefined if this is the first look. */
  readonly intended?: VaultRound | undefined;
}

/** @returns Undefined if the round is to be settled. */
export function obstacleIn(
  round: VaultRound,
  { intended, ifExpired, time }: RoundTerms,
): Stopped | undefined {
  if (intended !== undefined && !isSameRound(round, intended)) {
    const [expected, actual] = [describeRound(intended), describeRound(round)];
    return refusedBy(vaultError("VAULT_ROUND_CHANGED", { expected, actual }));
  }
  if (round.settled) {
    return nothingToDo(
      intended === undefined
        ? "The round is settled already."
        : SETTLED_MEANWHILE,
    );
  }
  const isExpired = !ifExpired || hasEnded(round, time);
  if (isExpired === false) {
    const reason = `The round has not ended yet: it ends at ${describeTime(round.endTime)}.`;
    return { ...nothingToDo(reason), isEarly: true };
  }
  return isExpired === null ? nothingToDo(NO_ROUND) : undefined;
}

export const SETTLED_MEANWHILE =
  "The round was settled by somebody else meanwhile.";

/**
 * What became of a round, by a later reading:
 *
 * - `settled`, `open`: it is the latest still.
 * - `followed`: a round with a later start is the latest, so it was settled.
 * - `replaced`: the latest has the same start and another strike price, an earlier start, or
 *   only zeros. That settles nothing.
 */
export type Fate = "followed" | "open" | "replaced" | "settled";

export function fateOf(
  round: Pick<VaultRound, "startTime" | "strikePrice">,
  later: VaultRound,
): Fate {
  if (isSameRound(round, later)) {
    return later.settled ? "settled" : "open";
  }
  return later.startTime > round.startTime ? "followed" : "replaced";
}

export interface Refusal {
  /** Null if a guard refuses a round that is settled already. */
  readonly code: VaultErrorCode | null;
  readonly reason: string;
}

/** Less than 100: a call keeps 1/64 of its gas from each call inside. */
const USED_UP_PERCENT = 95n;

/** True if a failed call probably ran out of gas. */
export function usesAllGas({
  gasUsed,
  gasGiven,
}: {
  readonly gasUsed: bigint;
  readonly gasGiven: bigint;
}): boolean {
  return gasUsed * 100n >= gasGiven * USED_UP_PERCENT;
}

/** A gas limit, whose limit it is, and what to do about it. */
interface GasLimit {
  readonly gas: bigint;
  readonly limit: string;
  readonly remedy: string;
}

/** @param route The way of the call; a guard on it has reasons of its own. */
export async function explainRefusal(
  vault: VaultHost,
  reverted: RevertReason,
  route?: SettlementRoute,
): Promise<Refusal> {
  const refused = explainGuard(vault, reverted, route);
  if (refused !== undefined) {
    return refused;
  }
  const code = "VAULT_CALL_REVERTED";
  const inner = innerReason(reverted, route);
  const { kind, text } = await explainReason(inner, vault);
  if (kind !== "none") {
    return { code, reason: text };
  }
  const { source } = await vault.addressOf("vault");
  const hint = silentRevertHint(source, vault.networkName);
  return { code, reason: `${text}. ${hint}` };
}

/** What the vault or the factory reverted with, also if a guard on the way wraps it. */
export function innerReason(
  reverted: RevertReason,
  route: SettlementRoute | undefined,
): RevertReason {
  const { name, values } = guardErrorIn(reverted.data) ?? {};
  return route?.guard !== undefined &&
    (name === "VaultReverted" || name === "FactoryReverted")
    ? decodeRevertReason(String(values?.["reason"]))
    : reverted;
}

/** @returns Undefined if the vault or the factory reverts, not the guard. */
function explainGuard(
  { networkName: network }: VaultHost,
  { data }: RevertReason,
  route: SettlementRoute | undefined,
): Refusal | undefined {
  const error = guardErrorIn(data);
  if (route?.guard === undefined || error === undefined) {
    return undefined;
  }
  const { from, vault: contract, guard } = route;
  const { address, factory, round } = guard;
  const { startTime, strikePrice, endTime, token } = error.values;
  const refusalBy = ({ code, shortMessage, fix }: VaultError): Refusal => ({
    code,
    reason: `${shortMessage} ${fix}`,
  });
  const refusedFor = (problem: string): Refusal =>
    refusalBy(vaultError("VAULT_GUARD_REFUSED", { guard: address, problem }));
  switch (error.name) {
    case "RoundChanged": {
      const actual = describeKey({
        startTime: BigInt(String(startTime)),
        strikePrice: BigInt(String(strikePrice)),
      });
      const details = { expected: describeKey(round), actual };
      return refusalBy(vaultError("VAULT_ROUND_CHANGED", details));
    }
    case "RoundAlreadySettled":
      return { code: null, reason: "The round is settled already." };
    case "RoundNotEnded": {
      const time = describeTime(BigInt(String(endTime)));
      return refusalBy(vaultError("VAULT_ROUND_NOT_ENDED", { time }));
    }
    case "RoundNotSettled": {
      const details = { network, contract, factory };
      return refusalBy(vaultError("VAULT_WOULD_NOT_SETTLE", details));
    }
    case "NotSettler": {
      const details = { from, guard: address };
      return refusalBy(vaultError("VAULT_NOT_SETTLER", details));
    }
    case "NestedCall":
      return refusedFor("the vault calls the guard again");
    case "PaymentRefused":
      return refusedFor(
        `${from} does not take the native currency that the vault pays`,
      );
    case "TokenNotForwarded":
      return refusedFor(
        `token ${String(token)} cannot be forwarded to ${from}`,
      );
    default:
      return undefined;
  }
}

/** Status of a settlement that the guard, or a contract behind it, refuses in the preview. */
export function statusOfRefusal(
  code: VaultErrorCode | null,
): "nothing-to-do" | "refused" | "reverted" {
  if (code === null || code === "VAULT_ROUND_NOT_ENDED") {
    return "nothing-to-do";
  }
  return isRefusalCode(code) ? "refused" : "reverted";
}

/** @param isCertain False if an invalid instruction may have used up all gas. */
export function outOfGas(
  network: string,
  isCertain: boolean,
  given: GasLimit,
): Refusal {
  const { gas, limit } = given;
  const { code, fix } = vaultError("VAULT_OUT_OF_GAS", { network, ...given });
  const cause = isCertain
    ? "out of gas"
    : "out of gas, or an invalid instruction";
  const reason = `${cause}: it uses all of the ${gas} that ${limit}. ${fix}`;
  return { code, reason };
}
