import { toQuantity } from "ethers";

import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";

/** A block's number, its hex quantity, or a tag. */
export type BlockId = number | string;

export function toBlockId(block: BlockId): string {
  return typeof block === "number" ? toQuantity(block) : block;
}

/** Shows a hex quantity as a decimal number. */
export function describeBlock(block: BlockId): string {
  return typeof block === "string" && block.startsWith("0x")
    ? BigInt(block).toString()
    : String(block);
}

export function blockNotFound(network: string, block: BlockId): VaultError {
  const details = { network, block: describeBlock(block) };
  return vaultError("VAULT_BLOCK_NOT_FOUND", details);
}
