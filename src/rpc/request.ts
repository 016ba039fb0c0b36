import { Buffer } from "node:buffer";

import type { Eip1193Provider } from "./eip1193.js";
import { findRevert, invalidResponse, toRpcError } from "./errors.js";
import type { RevertReason } from "./revert-reason.js";

/** A refusal by the contract itself, not yet an error of an operation. */
export class RevertedCall {
  constructor(public readonly reason: RevertReason) {}
}

/**
 * Sends one request.
 *
 * @returns The result, or the revert where the contract refused the call.
 * @throws VaultError VAULT_NETWORK_UNREACHABLE, VAULT_RPC_TIMEOUT,
 * VAULT_RPC_INVALID_RESPONSE, VAULT_RPC_ERROR, VAULT_WRONG_CHAIN,
 * VAULT_CONFIG_VARIABLE
 */
export async function requestRpc(
  provider: Eip1193Provider,
  network: string,
  method: string,
  params: readonly unknown[],
): Promise<unknown> {
  try {
    return await provider.request({ method, params });
  } catch (error) {
    const revert = findRevert(error);
    if (revert !== undefined) {
      return new RevertedCall(revert);
    }
    throw toRpcError(error, network, method);
  }
}

/**
 * Reads a JSON-RPC quantity.
 *
 * @throws VaultError VAULT_RPC_INVALID_RESPONSE
 */
export function parseQuantity(
  value: unknown,
  network: string,
  method: string,
): bigint {
  if (typeof value === "string" && /^0x[0-9a-f]{1,64}$/iu.test(value)) {
    return BigInt(value);
  }
  throw invalidResponse(network, method, "a quantity was expected");
}

/**
 * Reads JSON-RPC data.
 *
 * @throws VaultError VAULT_RPC_INVALID_RESPONSE
 */
export function hexToBytes(
  value: unknown,
  network: string,
  method: string,
): Buffer {
  if (typeof value === "string" && value.startsWith("0x")) {
    const bytes = Buffer.from(value.slice(2), "hex");
    // Buffer stops at what is not hex.
    if (bytes.length * 2 === value.length - 2) {
      return bytes;
    }
  }
  throw invalidResponse(network, method, "not hex data");
}
