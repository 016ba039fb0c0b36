import { checkAddress } from "../client/codec.js";
import { vaultError } from "../errors.js";
import type { VaultErrorCode } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { RevertReason } from "../rpc/revert-reason.js";
import { explainGuard } from "./guarded.js";
import type { SettlementRoute } from "./route.js";

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
export type GasLimit = readonly [gas: bigint, limit: string, remedy: string];

/** @param route The way of the call; a guard on it has reasons of its own. */
export async function explainRefusal(
  vault: VaultHost,
  reverted: RevertReason,
  route?: SettlementRoute,
): Promise<Refusal> {
  const refused =
    route === undefined ? undefined : explainGuard(vault, route, reverted.data);
  if (refused !== undefined) {
    return refused;
  }
  const { kind, text } = await vault.explain(reverted);
  if (kind !== "none") {
    return { code: "VAULT_CALL_REVERTED", reason: text };
  }
  const { source } = await vault.addressOf("vault");
  const hint = checkAddress(source, vault.networkName);
  return { code: "VAULT_CALL_REVERTED", reason: `${text}. ${hint}` };
}

/** @param isCertain False if an invalid instruction may have used up all gas. */
export function outOfGas(
  network: string,
  isCertain: boolean,
  ...[gas, limit, remedy]: GasLimit
): Refusal {
  const details = { network, gas, limit, remedy };
  const { code, fix } = vaultError("VAULT_OUT_OF_GAS", details);
  const cause = isCertain
    ? "out of gas"
    : "out of gas, or an invalid instruction";
  const reason = `${cause}: it uses all of the ${gas} that ${limit}. ${fix}`;
  return { code, reason };
}
