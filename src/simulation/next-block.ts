import {
  describeInput,
  parseBlockTag,
  notATime,
  parseTime,
  requireFuture,
} from "../client/inputs.js";
import type { BlockTag } from "../client/inputs.js";
import { fallbackTo, invalidArgument, vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { getBlock, getNextBlock } from "../rpc/blocks.js";
import type { Block, NextBlock } from "../rpc/blocks.js";

/** Round's `end`, duration from the chain's clock (`+1h`), ISO date, or Unix seconds. */
export type SimulationTime = string | number | bigint;

/** The block to simulate in, as the options of a simulation choose it. */
export interface ChosenNextBlock extends NextBlock {
  /** The block before it, from which a simulation starts. */
  readonly base: Block;
  /** True if the caller chose the block to start from, which may still be the newest. */
  readonly isBlockGiven?: boolean;
  /** True if the caller named a time, also an `end` that has passed. */
  readonly isTimed?: boolean;
}

const END = "end";
const WHERE = "atTime";

/** Finds the block after `blockNumber`, else the node's next one. */
export async function chooseNextBlock(
  vault: VaultHost,
  blockNumber?: BlockTag,
  atTime?: SimulationTime,
): Promise<ChosenNextBlock> {
  const isBlockGiven = (blockNumber ?? "latest") !== "latest";
  const isTimed = atTime !== undefined;
  const { latest: base, next } = isBlockGiven
    ? await findPastBlock(vault, blockNumber)
    : await getNextBlock(vault.rpc);
  const time = isTimed ? await chosenTime(vault, base, atTime) : undefined;
  const timestamp = time ?? next.timestamp;
  return { ...next, timestamp, base, isBlockGiven, isTimed };
}

async function findPastBlock(vault: VaultHost, blockNumber?: BlockTag) {
  const latest = await readUpstreamBlock(vault, blockNumber);
  const { number, timestamp } = latest;
  const next = { ...latest, number: number + 1, timestamp: timestamp + 1 };
  return { latest, next };
}

export async function readUpstreamBlock(
  { rpc }: VaultHost,
  blockNumber: BlockTag | undefined,
): Promise<Block> {
  const tag = parseBlockTag(blockNumber ?? "latest", "blockNumber");
  if (tag === "pending") {
    const value = "pending, which has no number yet";
    const where = "The block to fork";
    throw vaultError("VAULT_INVALID_BLOCK", { where, value });
  }
  return await getBlock(rpc, tag);
}

export function checkTime(time: SimulationTime | undefined): void {
  if (time !== undefined && time !== END) {
    parseTime(String(time), WHERE, 0, [END]);
  }
}

/** @returns Undefined for the chain's own clock, also if the round's `end` has passed. */
async function chosenTime(
  vault: VaultHost,
  base: Block,
  time: SimulationTime,
): Promise<number | undefined> {
  const { number, timestamp } = base;
  let seconds: bigint;
  if (time === END) {
    const round = await vault
      .getLatestRoundInfo({ blockTag: number })
      .catch(fallbackTo(undefined, ({ kind }) => kind !== "bug"));
    if (round === undefined) {
      const problem =
        "the round's end is not known, since the round cannot be read";
      throw invalidArgument(WHERE, problem);
    }
    seconds = round.endTime;
    if (seconds <= BigInt(timestamp)) {
      return undefined;
    }
  } else {
    seconds = parseTime(String(time), WHERE, timestamp, [END]);
    requireFuture(seconds, WHERE, timestamp);
  }
  if (seconds > BigInt(Number.MAX_SAFE_INTEGER)) {
    const late = `${describeInput(time)}, which is ${seconds} seconds: too late for any block`;
    throw notATime(WHERE, [], late);
  }
  return Number(seconds);
}
