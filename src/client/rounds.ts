import { VaultError, invalidArgument } from "../errors.js";
import type { VaultRound } from "../protocol/index.js";
import { isSameRound } from "../protocol/round.js";
import type { RoundIdentity } from "../protocol/round.js";
import type { PinnedBlock } from "../rpc/blocks.js";
import { getBlock, requireSameBranch } from "../rpc/blocks.js";
import { encodeCall } from "./codec.js";
import {
  parseBlock,
  parseCount,
  requireFixedBlock,
  checkOptions,
  optional,
} from "./inputs.js";
import type { BlockTag, OptionsOf } from "./inputs.js";
import { locate, readCall, scanOptions } from "./read-at-block.js";
import type { ReadContext, Readable } from "./read-at-block.js";

/** Requests at the same time, each one small `eth_call`. */
const CONCURRENCY = 16;

/**
 * A past round, with its unscaled values at `lastBlock`. No block is guessed, and what
 * a settlement writes is null unless a block shows it.
 */
export interface PastRound extends Omit<
  VaultRound,
  "settledPrice" | "settledAmount"
> {
  /** Null if no block shows the round settled. */
  readonly settledPrice: bigint | null;
  /** Null if no block shows the round settled. */
  readonly settledAmount: bigint | null;
  /** False if the block that settled it opened the next round, too. */
  readonly settled: boolean;
  /** First block of the range with this as the latest round. */
  readonly firstBlock: number;
  /**
   * The block that settled it. Null if no block shows it settled, or if it was settled
   * before the range.
   */
  readonly settledBlock: number | null;
  /** Last block of the range with this as the latest round. */
  readonly lastBlock: number;
  /**
   * Present if the order that the search relies on is broken: an earlier round
   * starts later, this round came back after another, or it stopped being settled.
   * The search may have missed rounds.
   */
  readonly outOfOrder?: true;
}

const { blockTag: _block, ...ofScans } = scanOptions;

const roundsOptions = {
  ...ofScans,
  /**
   * Milliseconds for the whole search, retries included. Default: no limit, and
   * 300,000 for each request.
   */
  timeout: optional<number>(),
  /** First block of the range. Default: the chain's first. */
  fromBlock: optional<BlockTag>(),
  /** Last block of the range. Default: the latest. */
  toBlock: optional<BlockTag | PinnedBlock>(),
  /** Requests at the same time. Default: 16. */
  concurrency: optional<number>(),
};

/** Options of {@link VaultClient.rounds}. */
export interface RoundsOptions extends OptionsOf<typeof roundsOptions> {}

/** What a block showed. */
interface Look {
  readonly block: number;
  /** Undefined if there is none, or if it cannot be read. */
  readonly round?: VaultRound;
  readonly error?: VaultError;
}

/** @see VaultClient.rounds */
export async function* readRounds(
  vault: Readable,
  options: RoundsOptions,
): AsyncGenerator<PastRound, void, undefined> {
  checkOptions("rounds()", options, roundsOptions);
  options.signal?.throwIfAborted();
  const stop = new AbortController();
  try {
    const { fromBlock = 0, toBlock = "latest", ...rest } = options;
    for (const [where, tag] of Object.entries({ fromBlock, toBlock })) {
      parseBlock(tag, where);
      requireFixedBlock(tag, where);
    }
    parseCount(options.concurrency, "concurrency");
    const opened = await vault.openContext({ ...rest, blockTag: toBlock });
    // Ends requests under way when the reader leaves, or when one of them fails.
    const rpc = opened.rpc.withOptions({ signal: stop.signal });
    const context = { ...opened, rpc };
    const [first, last] = await findRange(context, fromBlock);
    const read = await roundReader(context, last);
    yield* joinRounds(search(first, last.number, read, options));
    // The blocks below the last one were read by their numbers.
    await requireSameBranch(rpc, last);
  } finally {
    stop.abort();
  }
}

/**
 * Reads the first block, the last, and both blocks of every change in between. Start
 * times never go back and a settled round stays settled. So if both ends of a stretch
 * are the same, nothing changes in between. Any other stretch is halved, the first ones
 * before the others: what lies before them is handed out and forgotten.
 *
 * @returns The looks at blocks, in ascending order.
 */
async function* search(
  first: number,
  last: number,
  read: (block: number) => Promise<Look>,
  { concurrency = CONCURRENCY, onProgress }: RoundsOptions,
): AsyncGenerator<Look, void, undefined> {
  const blocks = equalDistances(first, last);
  const looks = new Map<number, Look>();
  let [done, total] = [0, blocks.length];
  while (blocks.length > 0) {
    const wave: number[] = [];
    for (const [index, block] of blocks.entries()) {
      if (wave.length === concurrency) {
        break;
      }
      const next = blocks[index + 1] ?? block;
      const [look, nextLook] = [looks.get(block), looks.get(next)];
      if (look === undefined) {
        wave.push(block);
      } else if (nextLook !== undefined && !isSearched(look, nextLook)) {
        total += 1;
        // The next turn of this loop takes it.
        blocks.splice(index + 1, 0, Math.floor((block + next) / 2));
      }
    }
    await Promise.all(
      wave.map(async (block) => {
        looks.set(block, await read(block));
        done += 1;
        // JavaScript also accepts an async one, whose rejection ends the list, too.
        await onProgress?.({ done, total });
      }),
    );
    for (;;) {
      const [block = first, next = block] = blocks;
      const [look, nextLook] = [looks.get(block), looks.get(next)];
      if (look === undefined || !isSearched(look, nextLook)) {
        break;
      }
      blocks.shift();
      looks.delete(block);
      yield look;
    }
  }
}

/** True if nothing is left to find between a block and the next one, which is read, too. */
function isSearched(one: Look, next: Look | undefined): boolean {
  if (next === undefined) {
    return false;
  }
  const isSameState =
    isSame(one.round, next.round) && one.round?.settled === next.round?.settled;
  return isSameState || next.block - one.block === 1;
}

/**
 * @param looks At the blocks of a range, in ascending order.
 * @throws VaultError The error of the last block if no block has a round
 */
async function* joinRounds(
  looks: AsyncIterable<Look>,
): AsyncGenerator<PastRound, void, undefined> {
  let before: Look | undefined;
  let latest: PastRound | undefined;
  /** The one that started last. */
  let newest: VaultRound | undefined;
  for await (const look of looks) {
    const { block, round } = look;
    if (latest !== undefined && !isSame(latest, round)) {
      yield latest;
      latest = undefined;
    }
    if (round !== undefined) {
      const { settled } = round;
      const isOrdered =
        latest === undefined
          ? newest === undefined || startsAfter(newest, round)
          : latest.outOfOrder === undefined && (settled || !latest.settled);
      // The first block does not show when its round was settled.
      const isSettledHere =
        settled && latest?.settled !== true && before !== undefined;
      latest = {
        ...round,
        ...(!settled && { settledPrice: null, settledAmount: null }),
        firstBlock: latest?.firstBlock ?? block,
        settledBlock: latest?.settledBlock ?? (isSettledHere ? block : null),
        lastBlock: block,
        ...(!isOrdered && { outOfOrder: true }),
      };
      newest = isOrdered ? round : newest;
    }
    before = look;
  }
  if (latest !== undefined) {
    yield latest;
  }
  if (newest === undefined && before?.error !== undefined) {
    // An empty list would hide a wrong address.
    throw before.error;
  }
}

/** False also for a round that comes back. */
function startsAfter(one: VaultRound, other: VaultRound): boolean {
  return (
    other.startTime > one.startTime ||
    (other.startTime === one.startTime && !isSameRound(one, other))
  );
}

/** Reads the round of a block; none if the contract fails. */
async function roundReader(
  context: ReadContext,
  last: PinnedBlock,
): Promise<(block: number) => Promise<Look>> {
  const call = await locate(context, encodeCall("getLatestRoundInfo", []));
  return async (block) => {
    try {
      const at = { ...context, block: block === last.number ? last : block };
      // the decoder follows the table entry that makes the type
      const round = (await readCall(at, call)) as VaultRound;
      // A factory may return zeros before its first round.
      return Object.values(round).some(Boolean) ? { block, round } : { block };
    } catch (error) {
      if (VaultError.isVaultError(error) && error.kind === "chain") {
        return { block, error };
      }
      throw error;
    }
  };
}

async function findRange(
  { rpc, block }: ReadContext,
  fromBlock: BlockTag,
): Promise<readonly [first: number, last: PinnedBlock]> {
  const [first, last] = await Promise.all([
    typeof fromBlock === "string"
      ? getBlock(rpc, fromBlock).then(({ number }) => number)
      : Number(fromBlock),
    typeof block === "object" ? block : getBlock(rpc, block),
  ]);
  if (first > last.number) {
    throw invalidArgument(
      "fromBlock",
      `${first} is above the last block to look at, which is ${last.number}`,
    );
  }
  return [first, last];
}

/** Blocks to read first. They may show that start times do go back. */
function equalDistances(first: number, last: number): number[] {
  const blocks = last - first;
  const count = Math.min(2 * Math.ceil(Math.log2(blocks + 1)), blocks);
  return [
    ...Array.from(
      { length: count },
      (_, index) => first + Math.floor((blocks / count) * index),
    ),
    last,
  ];
}

function isSame(one?: RoundIdentity, other?: RoundIdentity): boolean {
  return one === undefined || other === undefined
    ? one === other
    : isSameRound(one, other);
}
