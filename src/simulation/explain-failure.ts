import type { VaultHost } from "../host.js";
import { TRANSACTION_GAS_CAP } from "../rpc/chain.js";
import { decodeRevertReason, invalidOpcode } from "../rpc/revert-reason.js";
import { explainRefusal, innerReason, outOfGas } from "../guard/outcome.js";
import type { GasLimit, Refusal } from "../guard/outcome.js";
import { isOutOfGas } from "./engines/engine.js";
import type { Attempt, FailedCall } from "./engines/engine.js";

/** Explains why a settlement failed that was executed. */
export async function explainFailure(
  vault: VaultHost,
  attempt: Attempt,
  failed: FailedCall,
): Promise<Refusal> {
  const { route } = attempt;
  const reverted = decodeRevertReason(failed.data);
  const inner = innerReason(reverted, route);
  // The node's text is about the guard, not about what the guard wraps.
  const message = inner === reverted ? failed.message : undefined;
  const invalid = invalidOpcode(message ?? "");
  if (inner.data !== "0x" || invalid !== undefined) {
    return await explainRefusal(vault, invalid ?? reverted, route);
  }
  if (isOutOfGas(failed)) {
    const limit = limitOf(vault, attempt, failed);
    return outOfGas(vault.networkName, message !== undefined, ...limit);
  }
  return message === undefined
    ? await explainRefusal(vault, reverted, route)
    : {
        code: "VAULT_CALL_REVERTED",
        reason: vault.rpc.redactor.quote(message),
      };
}

function limitOf(
  { networkName }: VaultHost,
  { isGasGiven, next }: Attempt,
  { gasGiven }: FailedCall,
): GasLimit {
  const settings = `networks.${networkName}`;
  if (isGasGiven) {
    const remedy = `Raise ${settings}.gas, or \`gas\` of simulateSettleAll().`;
    return [gasGiven, "it is given", remedy];
  }
  return gasGiven === next.gasLimit
    ? [
        gasGiven,
        "a block of this chain has room for",
        "No transaction may use more on this chain: the contract has to settle in parts.",
      ]
    : [
        gasGiven,
        gasGiven === TRANSACTION_GAS_CAP
          ? "this network allows one transaction (EIP-7825, from the hardfork osaka on)"
          : `${settings}.transactionGasCap allows one transaction`,
        `If the chain has no such limit, raise ${settings}.transactionGasCap, or simulate with an older hardfork, for example prague.`,
      ];
}
