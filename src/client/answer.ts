import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { contractRoles } from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import { escapeUntrusted } from "../escape.js";
import { describeBlock } from "../rpc/block-id.js";
import type { BlockId } from "../rpc/block-id.js";
import type { CallResult } from "../rpc/calls.js";
import type { LocatedAddress } from "./addresses.js";
import { decodeResult } from "./codec.js";
import type { EncodedCall } from "./codec.js";

/** A call with its answer, and the names for its errors. */
interface AnsweredCall {
  readonly call: Pick<EncodedCall, "operation" | "role">;
  readonly target: LocatedAddress;
  readonly network: string;
  /** Tag or hex quantity. Default: `latest`. */
  readonly blockTag?: string;
  readonly answer: CallResult;
  /** Counts only if the answer is empty. */
  readonly hasCode: boolean;
}

/** Decodes the answer of a call. */
export function decodeAnswer({
  call: { operation, role },
  target: { address, source },
  network,
  blockTag = "latest",
  answer,
  hasCode,
}: AnsweredCall): unknown {
  const contract = contractRoles[role].label;
  if ("reverted" in answer) {
    const { text, kind } = answer.reverted;
    const details = {
      operation,
      reason: escapeUntrusted(text),
      contract,
      address,
      hint:
        kind === "none"
          ? checkAddress(source, network)
          : "This reason is from the contract: correct what it names, or ask the contract's operator.",
    };
    throw vaultError("VAULT_CALL_REVERTED", details, answer.reverted);
  }
  const { data } = answer;
  if (data.length === 0 && !hasCode) {
    throw noCode(role, { address, source }, network, blockTag);
  }
  const decoded = decodeResult(operation, data);
  if ("value" in decoded) {
    return decoded.value;
  }
  const { problem } = decoded;
  const where = { operation, contract, address, source };
  throw vaultError("VAULT_RETURN_DATA_MALFORMED", { ...where, problem });
}

/** Advice for a revert without data, typical of another contract's fallback. */
export function checkAddress(source: string, network: string): string {
  return `The contract refused the call without a reason, as another contract would: check the address, which comes from ${source}, and that network ${network} is its chain.`;
}

/** The error for an address without code at a block. */
export function noCode(
  role: ContractRole,
  { address, source }: LocatedAddress,
  network: string,
  block: BlockId = "latest",
): VaultError {
  return vaultError("VAULT_NO_CODE", {
    address,
    when: block === "latest" ? "" : ` at block ${describeBlock(block)}`,
    contract: contractRoles[role].label,
    network,
    source,
  });
}
