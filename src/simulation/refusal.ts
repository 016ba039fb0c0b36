import { checkAddress } from "../client/answer.js";
import { isUsedUp } from "../rpc/gas.js";
import { decodeRevertReason } from "../rpc/revert-reason.js";
import type { RevertReason } from "../rpc/revert-reason.js";
import { vaultError } from "../errors.js";
import type { VaultErrorCode } from "../errors.js";
import { quoteForeignText } from "../untrusted-text.js";
import type { VaultHost } from "../host.js";
import type { FailedCall, SimulationParameters } from "./engine.js";

/** Why the contract does not settle. */
export interface Refusal {
  readonly code: VaultErrorCode;
  readonly reason: string;
}

/**
 * Whether a call failed for want of gas, or by an instruction that uses up
 * whatever there is.
 */
export function isExhausted(failed: FailedCall): boolean {
  const { data, message = "" } = failed;
  return data === "0x" && (/out of ?gas/iu.test(message) || isUsedUp(failed));
}

/** Why the contract refuses, in words. */
export async function describeRefusal(
  { vault, gas, next }: SimulationParameters,
  failed: FailedCall,
): Promise<Refusal> {
  const { data, message, gasGiven } = failed;
  if (isExhausted(failed) && !/opcode|instruction/iu.test(message ?? "")) {
    return outOfGas(
      vault.networkName,
      message !== undefined,
      gas !== undefined
        ? {
            gas,
            limit: "it is given",
            remedy:
              "Give it more: `gas` of simulateSettleAll(), or of the network's configuration.",
          }
        : gasGiven < next.gasLimit
          ? {
              gas: gasGiven,
              limit:
                "this network's hardfork allows one transaction (EIP-7825, from osaka on)",
              remedy:
                "If the chain has no such limit, simulate by the rules of another hardfork, as in prague.",
            }
          : {
              gas: next.gasLimit,
              limit: "a block of this chain has room for",
              remedy:
                "No transaction may use more on this chain: the contract has to settle in parts.",
            },
    );
  }
  return data === "0x" && message !== undefined
    ? { code: "VAULT_CALL_REVERTED", reason: quoteForeignText(message) }
    : await explainRefusal(vault, decodeRevertReason(data));
}

/** The contract's own reason for a revert of `settleAll`. */
export async function explainRefusal(
  vault: VaultHost,
  reverted: RevertReason,
): Promise<Refusal> {
  const { kind, text } = await vault.explain(reverted);
  if (kind !== "none") {
    return { code: "VAULT_CALL_REVERTED", reason: text };
  }
  const { source } = await vault.addressOf("vault");
  const hint = checkAddress(source, vault.networkName);
  return { code: "VAULT_CALL_REVERTED", reason: `${text}. ${hint}` };
}

/**
 * The settlement needs more gas than it may have.
 *
 * @param isCertain False if no node says so: an invalid instruction uses up all
 * gas too.
 */
export function outOfGas(
  network: string,
  isCertain: boolean,
  {
    gas,
    limit,
    remedy,
  }: { readonly gas: bigint; readonly limit: string; readonly remedy: string },
): Refusal {
  const { code, fix } = vaultError("VAULT_OUT_OF_GAS", {
    network,
    gas,
    limit,
    remedy,
  });
  return {
    code,
    reason: `out of gas${isCertain ? "" : ", or an invalid instruction"}: it uses all of the ${gas} that ${limit}. ${fix}`,
  };
}
