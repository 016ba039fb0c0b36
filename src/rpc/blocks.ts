import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";
import { ZeroHash } from "ethers";

import { fallbackTo, vaultError } from "../errors.js";
import { allowsAnotherRequest } from "./errors.js";
import { BLOCK_METHOD, usualRetries } from "./rpc-client.js";
import type { RpcClient, ResponseParser } from "./rpc-client.js";

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

export interface BlockInfo {
  readonly number: number;
  /** Unix seconds. */
  readonly timestamp: number;
}

export interface Header extends BlockInfo {
  /** Undefined for the pending block. */
  readonly hash: string | undefined;
  readonly parentHash: string | undefined;
  /** {@link TRANSACTION_GAS_CAP} on chains whose blocks have none. */
  readonly gasLimit: bigint;
  /** Undefined on chains without EIP-1559. */
  readonly baseFeePerGas: bigint | undefined;
}

/** A block that does not exist yet. */
export interface NextBlock
  extends BlockInfo, Pick<Header, "baseFeePerGas" | "gasLimit"> {
  /** The block before it. */
  readonly base: Header;
}

/** A block as a node describes it, not checked. */
type FoundBlock = Readonly<Record<string, unknown>>;

/** Gas limit of a transaction by EIP-7825, from the osaka hardfork on. */
export const TRANSACTION_GAS_CAP = 16_777_216n;

/** Stands for a missing first block; such chains cannot be distinguished. */
export const UNKNOWN_GENESIS = "unknown";

/** @returns The tag, or the number as a hex quantity. */
export function toBlockId(block: BlockId): string {
  return typeof block === "string"
    ? block
    : numberToHexString(typeof block === "object" ? block.number : block);
}

/** Shows a hex quantity as a decimal number. */
export function describeBlock(block: BlockId): string {
  const id = toBlockId(block);
  return id.startsWith("0x") ? BigInt(id).toString() : id;
}

export async function getBlockNumber(rpc: RpcClient): Promise<number> {
  const method = "eth_blockNumber";
  const number = rpc.parser(method).number(await rpc.request(method));
  rpc.node.noteBlock(number);
  return number;
}

/** @throws VaultError VAULT_REORGED if a pinned block is another one now */
export async function getBlock(
  rpc: RpcClient,
  block: BlockId = "latest",
): Promise<Header> {
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
  rpc.node.noteBlock(block === "pending" ? number - 1 : number);
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

/** The block that is one second later. */
export function blockAfter(base: Header): NextBlock {
  const { number, timestamp, baseFeePerGas, gasLimit } = base;
  const next = { number: number + 1, timestamp: timestamp + 1 };
  return { ...next, baseFeePerGas, gasLimit, base };
}

/**
 * The block after the newest one, with time and base fee of the node's pending block. Many
 * public endpoints have no pending block. The next block then has this machine's time, as
 * the newest block may be old, and the base fee of the newest block.
 */
export async function getNextBlock(rpc: RpcClient): Promise<NextBlock> {
  const read = rpc.parser(BLOCK_METHOD);
  const findPending = async () => {
    const found = await findBlock(rpc, "pending");
    const { number, stateRoot } = found;
    return {
      // Anvil's may be mined by now, but has no state root.
      number:
        number === null || stateRoot === ZeroHash
          ? Infinity
          : read.number(number),
      timestamp: read.number(found["timestamp"]),
      baseFeePerGas: baseFeeOf(found, read),
    };
  };
  const [base, pending] = await Promise.all([
    getBlock(rpc),
    findPending().catch(fallbackTo(undefined)),
  ]);
  const next = blockAfter(base);
  // Nodes of some rollups, and Geth if it makes no blocks, return their newest block.
  if (pending === undefined || pending.number < next.number) {
    const now = Math.floor(Date.now() / 1_000);
    return { ...next, timestamp: Math.max(next.timestamp, now) };
  }
  const timestamp = Math.max(next.timestamp, pending.timestamp);
  return { ...next, timestamp, baseFeePerGas: pending.baseFeePerGas };
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
    const details = { network: rpc.network, block: describeBlock(block) };
    throw vaultError("VAULT_BLOCK_NOT_FOUND", details);
  }
  return rpc.parser(BLOCK_METHOD).record(answer);
}

/**
 * Sends a request at a block. A pinned block is named by its hash if the node takes one, else
 * by its number: then {@link readOnBranch} shows that all answers are of one branch.
 *
 * @param send Gets the block as JSON-RPC names it.
 * @throws VaultError VAULT_REORGED if the node has another block with that number
 */
export async function requestAt<Answer>(
  rpc: RpcClient,
  block: BlockId,
  send: (block: unknown) => Promise<Answer>,
): Promise<Answer> {
  const { node } = rpc;
  const isKnown = node.takesHashes;
  if (
    typeof block !== "object" ||
    block.hash === undefined ||
    isKnown === false
  ) {
    return await send(toBlockId(block));
  }
  try {
    const answer = await send({
      blockHash: block.hash,
      requireCanonical: true,
    });
    // Not for a node that has refused one: its answers by number have to be compared.
    node.takesHashes ??= true;
    return answer;
  } catch (error) {
    if (!allowsAnotherRequest(error)) {
      throw error;
    }
    await requireSameBranch(rpc, block);
    if (isKnown === true) {
      throw error;
    }
    const answer = await send(toBlockId(block));
    if (error.details["kind"] === "behind") {
      // It may take the hash of another block.
      await requireSameBranch(rpc, block);
    } else {
      node.takesHashes = false;
    }
    return answer;
  }
}

/**
 * Makes reads at a pinned block.
 *
 * @throws VaultError VAULT_REORGED if the chain has replaced the block
 */
export async function readOnBranch<Answer>(
  rpc: RpcClient,
  pin: PinnedBlock,
  reads: () => Promise<Answer>,
): Promise<Answer> {
  const answer = await reads();
  await requireReadsOfBranch(rpc, pin);
  return answer;
}

/**
 * After the last of some reads at a pinned block. Each answer to its hash is of its branch.
 * Of a node that takes only its number, the hash is compared once.
 *
 * @throws VaultError VAULT_REORGED if the chain has replaced the block
 */
export async function requireReadsOfBranch(
  rpc: RpcClient,
  pin: PinnedBlock,
): Promise<void> {
  if (rpc.node.takesHashes !== true) {
    await requireSameBranch(rpc, pin);
  }
}

/** @throws VaultError VAULT_REORGED if the chain has replaced the block */
export async function requireSameBranch(
  rpc: RpcClient,
  pin: PinnedBlock,
): Promise<void> {
  if (pin.hash !== undefined) {
    // However few retries the reads have: another node behind the URL may have the block.
    await getBlock(rpc.withRetries(usualRetries), pin);
  }
}
