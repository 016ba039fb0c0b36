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
import { blockAfter, getBlock, getNextBlock } from "../rpc/blocks.js";
import type { Block, NextBlock } from "../rpc/blocks.js";

/** Round's `end`, duration from the chain's clock (`+1h`), ISO date, or Unix seconds. */
export type SimulationTime = string | number | bigint;

/** The block to simulate in. */
export interface ChosenNextBlock extends NextBlock {
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
  const next =
    (blockNumber ?? "latest") === "latest"
      ? await getNextBlock(vault.rpc)
      : blockAfter(await readUpstreamBlock(vault, blockNumber));
  if (atTime === undefined) {
    return next;
  }
  const time = await chosenTime(vault, next.base, atTime);
  return { ...next, timestamp: time ?? next.timestamp, isTimed: true };
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
