import { tryCall } from "../rpc/calls.js";
import { decodeRevertReason, invalidOpcode } from "../rpc/revert-reason.js";
import type { RevertReason } from "../rpc/revert-reason.js";
import { fallbackTo, vaultError } from "../errors.js";
import { isSameRound } from "../protocol/round.js";
import { explainRefusal, outOfGas } from "../settlement-call/refusal.js";
import type { GasLimit, Refusal } from "../settlement-call/refusal.js";
import { settlementCall } from "../settlement-call/route.js";
import { roundOf } from "./compare-readings.js";
import { isOutOfGas } from "./engines/engine.js";
import type { FailedCall, SimulationParameters } from "./engines/engine.js";
import type { ChainState } from "./watch-list.js";

/** @returns Null if the settlement settles the round. */
export async function findRefusal(
  parameters: SimulationParameters,
  failed: FailedCall | undefined,
  before: ChainState,
  after: ChainState,
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
        : isOutOfGas(failed)
          ? await askForInvalidOpcode(parameters, failed)
          : undefined;
  if (invalid !== undefined) {
    return await explainRefusal(vault, invalid);
  }
  if (isOutOfGas(failed) && !/opcode/iu.test(message ?? "")) {
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
  { vault, route, base }: SimulationParameters,
  { gasGiven }: FailedCall,
): Promise<RevertReason | undefined> {
  const call = settlementCall(route);
  const reverted = await tryCall(vault.rpc, call, base, gasGiven).catch(
    fallbackTo(undefined),
  );
  return reverted?.kind === "invalid-opcode" ? reverted : undefined;
}

function limitOn(
  { vault, gas, target }: SimulationParameters,
  { gasGiven }: FailedCall,
): GasLimit {
  if (gas !== undefined) {
    const remedy = `Raise networks.${vault.networkName}.gas, or \`gas\` of simulateSettleAll().`;
    return [gas, "it is given", remedy];
  }
  return gasGiven < target.gasLimit
    ? [
        gasGiven,
        "this network's hardfork allows one transaction (EIP-7825, from osaka on)",
        "If the chain has no such limit, simulate with another hardfork, for example prague.",
      ]
    : [
        target.gasLimit,
        "a block of this chain has room for",
        "No transaction may use more on this chain: the contract has to settle in parts.",
      ];
}
