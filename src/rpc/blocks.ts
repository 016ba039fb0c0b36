import { ZeroHash } from "ethers";

import { fallbackTo, vaultError } from "../errors.js";
import {
  BLOCK_METHOD,
  blockNotFound,
  describeBlock,
  toBlockId,
} from "./block-id.js";
import type { BlockId } from "./block-id.js";
import { TRANSACTION_GAS_CAP } from "./chain.js";
import type { ResponseParser } from "./response-parser.js";
import type { RpcClient } from "./rpc-client.js";

export interface BlockInfo {
  readonly number: number;
  /** Unix seconds. */
  readonly timestamp: number;
}

export interface Block extends BlockInfo {
  /** Undefined for the pending block. */
  readonly hash: string | undefined;
  readonly parentHash: string | undefined;
  /** {@link TRANSACTION_GAS_CAP} on chains whose blocks have none. */
  readonly gasLimit: bigint;
  /** Undefined on chains without EIP-1559. */
  readonly baseFeePerGas: bigint | undefined;
}

/** The block that a node would make next. */
export type NextBlock = Omit<Block, "hash" | "parentHash">;

/** A block as a node describes it, not checked. */
type FoundBlock = Readonly<Record<string, unknown>>;

/** Stands for a missing first block; such chains cannot be distinguished. */
export const UNKNOWN_GENESIS = "unknown";

export async function getBlockNumber(rpc: RpcClient): Promise<number> {
  const method = "eth_blockNumber";
  const number = rpc.parser(method).number(await rpc.request(method));
  rpc.node.blocks.note(number);
  return number;
}

/** @throws VaultError VAULT_REORGED if a pinned block is another one now */
export async function getBlock(
  rpc: RpcClient,
  block: BlockId = "latest",
): Promise<Block> {
  const read = rpc.parser(BLOCK_METHOD);
  const found = await findBlock(rpc, block);
  const number = read.number(found["number"]);
  const asked = Number(toBlockId(block));
  if (!isNaN(asked) && number !== asked) {
    throw read.invalid(
      `block ${number} in place of block ${describeBlock(block)}`,
    );
  }
  const [hash, parentHash] = ["hash", "parentHash"].map((name) =>
    read.optional(found[name], (value) => read.hash(value)),
  );
  const expected = typeof block === "object" ? block.hash : undefined;
  if (
    expected !== undefined &&
    hash?.toLowerCase() !== expected.toLowerCase()
  ) {
    const details = { network: rpc.network, block: number, expected };
    throw vaultError("VAULT_REORGED", { ...details, found: hash ?? "none" });
  }
  // The pending block does not exist yet, but the one before it does.
  rpc.node.blocks.note(block === "pending" ? number - 1 : number);
  return {
    number,
    timestamp: read.number(found["timestamp"]),
    hash,
    parentHash,
    // Of Celo's blocks, some have none.
    gasLimit:
      read.optional(found["gasLimit"], (value) => read.quantity(value)) ??
      TRANSACTION_GAS_CAP,
    baseFeePerGas: baseFeeOf(found, read),
  };
}

/** Hash of the first block; {@link UNKNOWN_GENESIS} if the node has pruned it. */
export async function getGenesisHash(rpc: RpcClient): Promise<string> {
  const genesis = await findBlock(rpc, 0).catch(
    fallbackTo(undefined, ({ code }) => code === "VAULT_BLOCK_NOT_FOUND"),
  );
  return genesis === undefined
    ? UNKNOWN_GENESIS
    : rpc.parser(BLOCK_METHOD).hash(genesis["hash"]);
}

/**
 * The newest block and the next one, with time and base fee of the node's pending
 * block. Many public endpoints have no pending block. The next block then has this
 * machine's time, as the newest block may be old, and the base fee of the newest block.
 */
export async function getNextBlock(
  rpc: RpcClient,
): Promise<{ latest: Block; next: NextBlock }> {
  const [latest, pending] = await Promise.all([
    getBlock(rpc),
    // The pending block is optional.
    findBlock(rpc, "pending").catch(fallbackTo<FoundBlock>({})),
  ]);
  const { gasLimit, baseFeePerGas } = latest;
  const made = pendingAfter(latest, pending, rpc.parser(BLOCK_METHOD)) ?? {
    timestamp: Math.max(latest.timestamp + 1, Math.floor(Date.now() / 1_000)),
  };
  const number = latest.number + 1;
  return { latest, next: { number, gasLimit, baseFeePerGas, ...made } };
}

function pendingAfter(
  latest: BlockInfo,
  pending: FoundBlock,
  read: ResponseParser,
): Pick<NextBlock, "timestamp" | "baseFeePerGas"> | undefined {
  const { number, timestamp, stateRoot } = pending;
  try {
    // Nodes of some rollups, and Geth if it makes no blocks, return their newest
    // block instead. Anvil's block may be mined by now, but has no state root.
    const isPending =
      number === null ||
      stateRoot === ZeroHash ||
      read.number(number) > latest.number;
    const time = Math.max(latest.timestamp + 1, read.number(timestamp));
    const baseFeePerGas = baseFeeOf(pending, read);
    return isPending ? { timestamp: time, baseFeePerGas } : undefined;
  } catch {
    return undefined;
  }
}

function baseFeeOf(
  { baseFeePerGas }: FoundBlock,
  read: ResponseParser,
): bigint | undefined {
  return read.optional(baseFeePerGas, (value) => read.quantity(value));
}

/** @throws VaultError VAULT_BLOCK_NOT_FOUND, and errors of a request */
export async function findBlock(
  rpc: RpcClient,
  block: BlockId,
  withTransactions = false,
): Promise<FoundBlock> {
  const params = [toBlockId(block), withTransactions];
  const answer = await rpc.request(BLOCK_METHOD, params);
  if (answer === null) {
    throw blockNotFound(rpc.network, block);
  }
  return rpc.parser(BLOCK_METHOD).record(answer);
}
