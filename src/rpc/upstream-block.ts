import type { Eip1193Provider } from "./eip1193.js";
import { parseBlockTag } from "../client/inputs.js";
import type { BlockTag } from "../client/inputs.js";
import {
  invalidResponse,
  isHexData,
  parseQuantity,
  requestRpc,
} from "./request.js";
import { vaultError } from "../errors.js";

/** The block of the forked chain that a fork starts from. */
export interface UpstreamBlock {
  readonly number: number;
  readonly hash: string;
  /** Unix seconds. */
  readonly timestamp: number;
  readonly gasLimit: bigint;
  /** True if no block was asked for: then it is the newest one. */
  readonly isHead: boolean;
}

const METHOD = "eth_getBlockByNumber";

/**
 * Reads the header of the block to fork; the newest one unless given.
 *
 * @throws VaultError VAULT_BLOCK_NOT_FOUND, VAULT_INVALID_BLOCK,
 * VAULT_RPC_INVALID_RESPONSE and those of a failed request
 */
export async function readUpstreamBlock(
  provider: Eip1193Provider,
  network: string,
  blockNumber: BlockTag | undefined,
): Promise<UpstreamBlock> {
  const tag = parseBlockTag(blockNumber ?? "latest", "blockNumber");
  if (tag === "pending") {
    throw vaultError("VAULT_INVALID_BLOCK", {
      where: "The block to fork",
      value: "pending, which has no number yet",
    });
  }
  const answer = await requestRpc(provider, network, METHOD, [tag, false]);
  if (answer === null) {
    throw vaultError("VAULT_BLOCK_NOT_FOUND", {
      network,
      block: blockNumber === undefined ? tag : String(blockNumber),
    });
  }
  if (typeof answer !== "object") {
    throw invalidResponse(network, METHOD, "a block was expected");
  }
  const header: Readonly<Record<string, unknown>> = { ...answer };
  const { number, timestamp, hash, gasLimit } = header;
  if (!isHexData(hash)) {
    throw invalidResponse(network, METHOD, "a block with a hash was expected");
  }
  return {
    number: Number(parseQuantity(number, network, METHOD)),
    hash,
    timestamp: Number(parseQuantity(timestamp, network, METHOD)),
    gasLimit: parseQuantity(gasLimit, network, METHOD),
    isHead: tag === "latest",
  };
}

/**
 * When the node would date a block that it made now, Unix seconds; undefined
 * where it does not say. A node's clock need not be ours: development nodes can
 * be moved in time.
 */
export async function readPendingTimestamp(
  provider: Eip1193Provider,
  network: string,
): Promise<number | undefined> {
  try {
    const block = await requestRpc(provider, network, METHOD, [
      "pending",
      false,
    ]);
    return typeof block === "object" && block !== null && "timestamp" in block
      ? Number(parseQuantity(block.timestamp, network, METHOD))
      : undefined;
  } catch {
    // Many public endpoints have no pending block; nothing depends on it.
    return undefined;
  }
}
