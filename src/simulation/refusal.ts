import { checkAddress } from "../client/answer.js";
import { tryCall } from "../rpc/calls.js";
import { decodeRevertReason, invalidOpcode } from "../rpc/revert-reason.js";
import type { RevertReason } from "../rpc/revert-reason.js";
import { fallbackTo, vaultError } from "../errors.js";
import type { VaultErrorCode } from "../errors.js";
import type { VaultHost } from "../host.js";
import { isSameRound } from "../protocol/round.js";
import { roundOf } from "./compare-readings.js";
import type { ChainState } from "./compare-readings.js";
import { settlementCall } from "./engine.js";
import type {
  EngineResult,
  FailedCall,
  SettlementRoute,
  SimulationParameters,
} from "./engine.js";
import { explainGuard } from "./guarded.js";

export interface Refusal {
  /** Null if a guard refuses a round that is settled already. */
  readonly code: VaultErrorCode | null;
  readonly reason: string;
}

/** Less than 100: a call keeps 1/64 of its gas from each call inside. */
const USED_UP_PERCENT = 95n;

/** True if a failed call probably ran out of gas. */
export function isUsedUp({
  gasUsed,
  gasGiven,
}: Pick<FailedCall, "gasUsed" | "gasGiven">): boolean {
  return gasUsed * 100n >= gasGiven * USED_UP_PERCENT;
}

/** True if the call used up its gas, which an invalid instruction does, too. */
export function isExhausted(failed: FailedCall): boolean {
  const { data, message = "" } = failed;
  return data === "0x" && (/out of ?gas/iu.test(message) || isUsedUp(failed));
}

/** @returns Null if the settlement settles the round. */
export async function findRefusal(
  parameters: SimulationParameters,
  { failed, before, after }: EngineResult<ChainState>,
): Promise<Refusal | null> {
  const { vault } = parameters;
  if (failed === undefined) {
    const [earlier, round] = [roundOf(before), roundOf(after)];
    // A contract that opens its next round has settled the one before.
    const isSettled =
      round !== undefined &&
      (round.settled ||
        (earlier !== undefined && !isSameRound(earlier, round)));
    if (isSettled) {
      return null;
    }
    const details = { network: vault.networkName };
    const { code, shortMessage } = vaultError("VAULT_NOT_SETTLED", details);
    return {
      code,
      reason:
        earlier === undefined || round === undefined
          ? "The round cannot be read before or after the call."
          : shortMessage,
    };
  }
  const { data, message } = failed;
  const invalid =
    data !== "0x"
      ? undefined
      : message !== undefined
        ? invalidOpcode(message)
        : isExhausted(failed)
          ? await askForInvalidOpcode(parameters, failed)
          : undefined;
  if (invalid !== undefined) {
    return await explainRefusal(vault, invalid);
  }
  if (isExhausted(failed) && !/opcode/iu.test(message ?? "")) {
    const isCertain = message !== undefined;
    const limit = limitOn(parameters, failed);
    return outOfGas(vault.networkName, isCertain, ...limit);
  }
  return data === "0x" && message !== undefined
    ? { code: "VAULT_CALL_REVERTED", reason: vault.rpc.redactor.quote(message) }
    : await explainRefusal(vault, decodeRevertReason(data), parameters.route);
}

/** Some nodes return what used up the gas only to an `eth_call`. */
async function askForInvalidOpcode(
  { vault, route, next }: SimulationParameters,
  { gasGiven }: FailedCall,
): Promise<RevertReason | undefined> {
  const call = settlementCall(route);
  const reverted = await tryCall(
    vault.rpc,
    call,
    next.number - 1,
    gasGiven,
  ).catch(fallbackTo(undefined));
  return reverted?.kind === "invalid-opcode" ? reverted : undefined;
}

type GasLimit = readonly [gas: bigint, limit: string, remedy: string];

function limitOn(
  { vault, gas, next }: SimulationParameters,
  { gasGiven }: FailedCall,
): GasLimit {
  if (gas !== undefined) {
    const remedy = `Raise networks.${vault.networkName}.gas, or \`gas\` of simulateSettleAll().`;
    return [gas, "it is given", remedy];
  }
  return gasGiven < next.gasLimit
    ? [
        gasGiven,
        "this network's hardfork allows one transaction (EIP-7825, from osaka on)",
        "If the chain has no such limit, simulate with another hardfork, for example prague.",
      ]
    : [
        next.gasLimit,
        "a block of this chain has room for",
        "No transaction may use more on this chain: the contract has to settle in parts.",
      ];
}

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
