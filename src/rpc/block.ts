import { vaultError } from "../errors.js";
import type { Eip1193Provider } from "./eip1193.js";
import { invalidResponse, parseQuantity, requestRpc } from "./request.js";

/** A block, as far as a reading has to name it. */
export interface BlockInfo {
  readonly number: number;
  /** Unix seconds. */
  readonly timestamp: number;
}

/**
 * Reads one block header.
 *
 * @param blockTag As on the wire: a tag or a hex quantity.
 * @throws VaultError VAULT_BLOCK_NOT_FOUND, VAULT_RPC_INVALID_RESPONSE and
 * those of a failed request
 */
export async function readBlock(
  provider: Eip1193Provider,
  network: string,
  blockTag: string,
): Promise<BlockInfo> {
  const method = "eth_getBlockByNumber";
  const block = await requestRpc(provider, network, method, [blockTag, false]);
  if (block === null) {
    throw vaultError("VAULT_BLOCK_NOT_FOUND", {
      network,
      block: blockTag.startsWith("0x") ? BigInt(blockTag).toString() : blockTag,
    });
  }
  if (typeof block !== "object") {
    throw invalidResponse(network, method, "a block was expected");
  }
  const { number, timestamp }: Readonly<Record<string, unknown>> = {
    ...block,
  };
  return {
    number: Number(parseQuantity(number, network, method)),
    timestamp: Number(parseQuantity(timestamp, network, method)),
  };
}
