import { tryCall } from "../rpc/calls.js";
import { TRANSACTION_GAS_CAP } from "../rpc/chain.js";
import { decodeRevertReason, invalidOpcode } from "../rpc/revert-reason.js";
import type { RevertReason } from "../rpc/revert-reason.js";
import { fallbackTo, vaultError } from "../errors.js";
import {
  explainRefusal,
  innerReason,
  outOfGas,
} from "../settlement-call/outcome.js";
import type { GasLimit, Refusal } from "../settlement-call/outcome.js";
import { settlementCall } from "../settlement-call/route.js";
import { roundOf } from "./compare-readings.js";
import { isOutOfGas } from "./engines/engine.js";
import type { FailedCall, SimulationParameters } from "./engines/engine.js";
import { configuredGasCap } from "./engines/execute.js";
import type { SimulationStatus } from "./types.js";
import type { ChainState } from "./watch-list.js";

/** A settlement that was executed: its status, and the state without and with it. */
export interface Outcome {
  readonly status: SimulationStatus;
  readonly before: ChainState;
  readonly after: ChainState;
}

/** @returns Null if the round is settled. */
export async function explainStatus(
  parameters: SimulationParameters,
  outcome: Outcome,
  failed: FailedCall | undefined,
): Promise<Refusal | null> {
  if (failed !== undefined) {
    return await explainFailure(parameters, failed);
  }
  return outcome.status === "settled"
    ? null
    : explainUnsettled(parameters.vault.networkName, outcome);
}

function explainUnsettled(
  network: string,
  { before, after }: Outcome,
): Refusal {
  const details = { network };
  const { code, shortMessage } = vaultError("VAULT_NOT_SETTLED", details);
  const isRead = [before, after].every((state) => roundOf(state) !== undefined);
  const reason = isRead
    ? shortMessage
    : "The round cannot be read before or after the call.";
  return { code, reason };
}

async function explainFailure(
  parameters: SimulationParameters,
  failed: FailedCall,
): Promise<Refusal> {
  const { vault, route } = parameters;
  const reverted = decodeRevertReason(failed.data);
  const inner = innerReason(reverted, route);
  if (inner.data !== "0x") {
    return await explainRefusal(vault, reverted, route);
  }
  // The node's text is about the guard, not about what the guard wraps.
  const message = inner === reverted ? failed.message : undefined;
  const invalid =
    message === undefined
      ? await askForInvalidOpcode(parameters, failed)
      : invalidOpcode(message);
  if (invalid !== undefined) {
    return await explainRefusal(vault, invalid);
  }
  if (isOutOfGas(failed)) {
    const isCertain = message !== undefined;
    const limit = limitOn(parameters, failed);
    return outOfGas(vault.networkName, isCertain, ...limit);
  }
  return message === undefined
    ? await explainRefusal(vault, reverted, route)
    : {
        code: "VAULT_CALL_REVERTED",
        reason: vault.rpc.redactor.quote(message),
      };
}

/** Some nodes return what used up the gas only to an `eth_call`. */
async function askForInvalidOpcode(
  { vault, route, base }: SimulationParameters,
  failed: FailedCall,
): Promise<RevertReason | undefined> {
  if (!isOutOfGas(failed)) {
    return undefined;
  }
  const call = settlementCall(route);
  const reverted = await tryCall(vault.rpc, call, base, failed.gasGiven).catch(
    fallbackTo(undefined),
  );
  return reverted?.kind === "invalid-opcode" ? reverted : undefined;
}

function limitOn(
  { vault, gas, next }: SimulationParameters,
  { gasGiven }: FailedCall,
): GasLimit {
  const settings = `networks.${vault.networkName}`;
  if (gas !== undefined) {
    const remedy = `Raise ${settings}.gas, or \`gas\` of simulateSettleAll().`;
    return [gas, "it is given", remedy];
  }
  if (gasGiven === next.gasLimit) {
    return [
      gasGiven,
      "a block of this chain has room for",
      "No transaction may use more on this chain: the contract has to settle in parts.",
    ];
  }
  if (gasGiven === configuredGasCap(vault)) {
    const setting = `${settings}.transactionGasCap`;
    return [gasGiven, `${setting} allows one transaction`, `Raise ${setting}.`];
  }
  if (gasGiven !== TRANSACTION_GAS_CAP) {
    const remedy = `Set ${settings}.gas to more.`;
    return [gasGiven, "the transaction would be given", remedy];
  }
  const isForked = vault.connection.networkConfig.type === "http";
  const remedy = isForked
    ? "simulate with another hardfork, for example prague."
    : `set ${settings}.hardfork to an older one, for example prague.`;
  return [
    gasGiven,
    "this network's hardfork allows one transaction (EIP-7825, from osaka on)",
    `If the chain has no such limit, ${remedy}`,
  ];
}
