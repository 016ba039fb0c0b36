import { isHexString, toQuantity } from "ethers";

import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";

/** A block of one branch of the chain. */
export interface PinnedBlock {
  readonly number: number;
  /** Undefined for the pending block. */
  readonly hash: string | undefined;
  /** Unix seconds; if it is known, the header is not read again. */
  readonly timestamp?: number;
}

/** A block's number, its hex quantity, a tag, or a pinned block. */
export type BlockId = number | string | PinnedBlock;

/** @returns The tag, or the number as a hex quantity. */
export function toBlockId(block: BlockId): string {
  return typeof block === "string" ? block : toQuantity(numberOf(block));
}

function numberOf(block: Exclude<BlockId, string>): number {
  return typeof block === "object" ? block.number : block;
}

/** Shows a hex quantity as a decimal number. */
export function describeBlock(block: BlockId): string {
  return typeof block === "object"
    ? String(block.number)
    : typeof block === "string" && block.startsWith("0x")
      ? BigInt(block).toString()
      : String(block);
}

export function blockNotFound(network: string, block: BlockId): VaultError {
  const details = { network, block: describeBlock(block) };
  return vaultError("VAULT_BLOCK_NOT_FOUND", details);
}

export const BLOCK_METHOD = "eth_getBlockByNumber";

/** A usable node is not further behind, and few keep older state. */
const MOST_BLOCKS_BEHIND = 128;

/** The blocks that some node behind a URL has. Other nodes may be behind. */
export class KnownBlocks {
  #newest = -1;

  public note(number: number): void {
    this.#newest = Math.max(this.#newest, number);
  }

  /** True if a request is for a recent block that some node has. */
  public includeBlockOf(method: string, params: readonly unknown[]): boolean {
    const block = params[method === BLOCK_METHOD ? 0 : 1];
    return (
      isHexString(block) &&
      Number(block) <= this.#newest &&
      Number(block) > this.#newest - MOST_BLOCKS_BEHIND
    );
  }
}
