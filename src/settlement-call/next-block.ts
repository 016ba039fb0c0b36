import { describeInput, parseBlockTag } from "../client/inputs.js";
import type { BlockTag } from "../client/inputs.js";
import { notATime, parseTime, requireFuture } from "../client/parse-time.js";
import { fallbackTo, invalidArgument, vaultError } from "../errors.js";
import { describeTime } from "../protocol/time.js";
import type { VaultHost } from "../host.js";
import { getBlock, getNextBlock } from "../rpc/blocks.js";
import type { Block, BlockInfo, NextBlock } from "../rpc/blocks.js";
import { isDevelopmentNode } from "../rpc/development-node.js";

/** Round's `end`, duration from the chain's clock (`+1h`), ISO date, or Unix seconds. */
export type SimulationTime = string | number | bigint;

/** The block to simulate in, as the options of a simulation choose it. */
export interface ChosenNextBlock extends NextBlock {
  /** The block before it. */
  readonly latest: Block;
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
  const { latest, next } = isBlockGiven
    ? await findPastBlock(vault, blockNumber)
    : await getNextBlock(vault.rpc);
  const time = isTimed ? await chosenTime(vault, latest, atTime) : undefined;
  const timestamp = time ?? next.timestamp;
  return { ...next, timestamp, latest, isBlockGiven, isTimed };
}

/** Seconds by which clocks may differ without a word. */
const MOST_DIFFERENCE = 60;

/** The time by which a round has ended or not. */
export interface EndClock {
  /** Unix seconds. */
  readonly time: number;
  /** Clocks that differ by more than {@link MOST_DIFFERENCE}. */
  readonly warning?: string;
}

/**
 * Returns the earliest of what can be the time of the next block, since no source of it can
 * be believed alone: the node's pending block, this machine's clock, and a minute after the
 * newest block. Without `maxHeadAge`, a chain makes blocks on demand, and the last does not
 * count. On development nodes and in process, the time of the next block counts.
 */
export async function findEndClock(
  { rpc, connection, settlementSettings }: VaultHost,
  latest: BlockInfo,
  next: BlockInfo,
): Promise<EndClock> {
  const isLive =
    connection.networkConfig.type === "http" && !(await isDevelopmentNode(rpc));
  if (!isLive) {
    return { time: next.timestamp };
  }
  const machine = Math.floor(Date.now() / 1_000);
  const clocks = {
    "the next block by the node": next.timestamp,
    "this machine": machine,
    ...(settlementSettings.maxHeadAge !== false && {
      "a minute after the newest block": latest.timestamp + 60,
    }),
  };
  const time = Math.min(...Object.values(clocks));
  const difference = Math.max(...Object.values(clocks)) - time;
  const all = Object.entries(clocks).map(
    ([name, seconds]) => `${name} ${describeTime(BigInt(seconds))}`,
  );
  return difference > MOST_DIFFERENCE
    ? {
        time,
        warning: `clocks differ by ${difference} s: ${all.join(", ")}. The round's end goes by the earliest.`,
      }
    : { time };
}

/** Asks the node, too. */
export async function readEndClock(vault: VaultHost): Promise<EndClock> {
  const { latest, next } = await getNextBlock(vault.rpc);
  return await findEndClock(vault, latest, next);
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
  latest: Block,
  time: SimulationTime,
): Promise<number | undefined> {
  const { number, timestamp } = latest;
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
