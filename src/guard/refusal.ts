// Why the contracts refuse a settlement, or the guard on its way.

import { silentRevertHint } from "../client/codec.js";
import { decodeRevertReason, explainReason } from "../rpc/revert-reason.js";
import { isRefusalCode, vaultError } from "../errors.js";
import type { VaultError, VaultErrorCode } from "../errors.js";
import type { VaultHost } from "../host.js";
import { describeTime } from "../protocol/index.js";
import type { RevertReason } from "../rpc/revert-reason.js";
import { describeKey } from "./call.js";
import type { SettlementRoute } from "./call.js";
import { guardErrorIn } from "./round-guard.js";

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

/** An upper bound of the gas before refunds, which are at most a fifth of it (EIP-3529). */
export function beforeRefunds(gasUsed: bigint): bigint {
  return (gasUsed * 5n + 3n) / 4n;
}

export interface FailedCall {
  /** Revert data, 0x hex. */
  readonly data: string;
  /** Error text of the node, if it states more than a failure. */
  readonly message: string | undefined;
  readonly gasUsed: bigint;
  readonly gasGiven: bigint;
}

/**
 * True if the call ran out of gas, by the words of the node. If it has none, the call may
 * also have hit an invalid instruction, which uses up all gas, too.
 */
export function isOutOfGas(failed: FailedCall): boolean {
  const { data, message } = failed;
  return (
    data === "0x" &&
    (message === undefined
      ? usesAllGas(failed)
      : /out ?of ?gas/iu.test(message))
  );
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
  const found = guardErrorIn(data);
  if (route?.guard === undefined || found === undefined) {
    return undefined;
  }
  const { from, vaultAddress: contract, guard } = route;
  const { address, factory, round } = guard;
  const { startTime, strikePrice, endTime, token } = found.values;
  const refusedFor = (problem: string): VaultError =>
    vaultError("VAULT_GUARD_REFUSED", { guard: address, problem });
  if (found.name === "RoundAlreadySettled") {
    return { code: null, reason: "The round is settled already." };
  }
  const errors: Readonly<Record<string, () => VaultError>> = {
    RoundChanged: () =>
      vaultError("VAULT_ROUND_CHANGED", {
        expected: describeKey(round),
        actual: describeKey({
          startTime: BigInt(String(startTime)),
          strikePrice: BigInt(String(strikePrice)),
        }),
      }),
    RoundNotEnded: () =>
      vaultError("VAULT_ROUND_NOT_ENDED", {
        time: describeTime(BigInt(String(endTime))),
      }),
    RoundNotSettled: () =>
      vaultError("VAULT_WOULD_NOT_SETTLE", { network, contract, factory }),
    NotSettler: () => vaultError("VAULT_NOT_SETTLER", { from, guard: address }),
    NestedCall: () => refusedFor("the vault calls the guard again"),
    PaymentRefused: () =>
      refusedFor(
        `${from} does not take the native currency that the vault pays`,
      ),
    TokenNotForwarded: () =>
      refusedFor(`token ${String(token)} cannot be forwarded to ${from}`),
  };
  const error = errors[found.name]?.();
  return error === undefined
    ? undefined
    : { code: error.code, reason: error.message };
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
