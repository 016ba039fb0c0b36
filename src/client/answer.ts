import { vaultError } from "../errors.js";
import { contractRoles } from "../protocol/index.js";
import { escapeUntrusted } from "../untrusted-text.js";
import type { LocatedAddress } from "./addresses.js";
import { decodeResult } from "./codec.js";
import type { EncodedCall } from "./codec.js";
import { RevertedCall, invalidResponse, isHexData } from "./rpc.js";

/** A call that was answered, and what its errors have to name. */
export interface AnsweredCall {
  readonly call: Pick<EncodedCall, "operation" | "role">;
  readonly target: LocatedAddress;
  readonly network: string;
  /** Returned 0x hex data, or the revert. */
  readonly answer: unknown;
  /** Whether the target is a contract; asked where nothing was returned. */
  readonly hasCode: () => Promise<boolean>;
}

/**
 * Turns the answer to a call into its value or into the error that it is.
 *
 * @throws VaultError VAULT_CALL_REVERTED, VAULT_NO_CODE,
 * VAULT_RETURN_DATA_TOO_SHORT, VAULT_RETURN_DATA_MALFORMED,
 * VAULT_RPC_INVALID_RESPONSE
 */
export async function decodeAnswer({
  call: { operation, role },
  target: { address, source },
  network,
  answer,
  hasCode,
}: AnsweredCall): Promise<unknown> {
  const contract = contractRoles[role].label;
  if (answer instanceof RevertedCall) {
    throw vaultError("VAULT_CALL_REVERTED", {
      operation,
      reason: escapeUntrusted(answer.reason.text),
      contract,
      address,
    });
  }
  if (!isHexData(answer)) {
    throw invalidResponse(network, "eth_call", "not hex data");
  }
  if (answer === "0x" && !(await hasCode())) {
    throw vaultError("VAULT_NO_CODE", { address, contract, network, source });
  }
  const decoded = decodeResult(operation, role, answer);
  if ("value" in decoded) {
    return decoded.value;
  }
  if (decoded.problem === "short") {
    throw vaultError("VAULT_RETURN_DATA_TOO_SHORT", {
      operation,
      actual: (answer.length - 2) / 2,
      expected: decoded.expected,
      contract,
      address,
      source,
    });
  }
  throw vaultError("VAULT_RETURN_DATA_MALFORMED", {
    operation,
    problem: decoded.text,
    contract,
    address,
    source,
  });
}
