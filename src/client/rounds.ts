import { VaultError, invalidArgument } from "../errors.js";
import type { VaultRound } from "../protocol/index.js";
import { isSameRound } from "../protocol/round.js";
import type { PinnedBlock } from "../rpc/blocks.js";
import { getBlock, requireSameBranch } from "../rpc/blocks.js";
import { encodeCall } from "./codec.js";
import {
  parseBlock,
  parseCount,
  requireFixedBlock,
  checkOptions,
  option,
} from "./inputs.js";
import type { BlockTag, OptionsOf } from "./inputs.js";
import { readCall, scanOptions } from "./read-at-block.js";
import type { Context, Readable } from "./read-at-block.js";

/** Requests at the same time, each one small `eth_call`. */
const CONCURRENCY = 16;

/** Marks among which the next block to read is chosen, so that memory is bounded. */
const LOOK_AHEAD = 1_000;

/**
 * A contract may be missing for a while. So a stretch without a round at both ends
 * counts as empty only if it is at most 1/128 of the range.
 */
const EMPTY_STRETCHES = 128;

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
  timeout: option<number>(),
  /** First block of the range. Default: the chain's first. */
  fromBlock: option<BlockTag>(),
  /** Last block of the range. Default: the latest. */
  toBlock: option<BlockTag | PinnedBlock>(),
  /** Requests at the same time. Default: 16. */
  concurrency: option<number>(),
};

/** Options of {@link VaultClient.rounds}. */
export interface RoundsOptions extends OptionsOf<typeof roundsOptions> {}

interface RoundAt {
  readonly block: number;
  /** Undefined if there is none, or if it cannot be read. */
  readonly round: VaultRound | undefined;
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
    yield* joinRounds(search([first, last.number], read, options));
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
 * @returns The blocks read, in ascending order.
 */
async function* search(
  [first, last]: readonly [number, number],
  read: (block: number) => Promise<RoundAt>,
  { concurrency = CONCURRENCY, onProgress }: RoundsOptions,
): AsyncGenerator<RoundAt, void, undefined> {
  const widestEmpty = Math.max(1, (last - first) / EMPTY_STRETCHES);
  /** Blocks to read, and what they showed. */
  const marks: Array<{ block: number; seen?: RoundAt; isRequested?: true }> =
    equalDistances(first, last).map((block) => ({ block }));
  const underWay = new Set<Promise<void>>();
  let [done, total] = [0, marks.length];

  const isDone = (before?: RoundAt, after?: RoundAt): boolean => {
    if (before === undefined || after === undefined) {
      return false;
    }
    const width = after.block - before.block;
    return (
      width === 1 ||
      (isSame(before.round, after.round) &&
        before.round?.settled === after.round?.settled &&
        (before.round !== undefined || width <= widestEmpty))
    );
  };
  const request = (mark: (typeof marks)[number]): void => {
    mark.isRequested = true;
    const reading = read(mark.block).then(async (seen) => {
      done += 1;
      // JavaScript also accepts an async one, whose rejection ends the list, too.
      await onProgress?.({ done, total });
      mark.seen = seen;
      underWay.delete(reading);
    });
    underWay.add(reading);
  };
  const requestMore = (): void => {
    for (const [index, mark] of marks.entries()) {
      if (underWay.size >= concurrency || index >= LOOK_AHEAD) {
        return;
      }
      const next = marks[index + 1];
      if (mark.isRequested === undefined) {
        request(mark);
      } else if (
        mark.seen !== undefined &&
        next?.seen !== undefined &&
        !isDone(mark.seen, next.seen)
      ) {
        const block = Math.floor((mark.block + next.block) / 2);
        total += 1;
        // The next turn of this loop requests it.
        marks.splice(index + 1, 0, { block });
      }
    }
  };

  while (marks.length > 0) {
    const [mark, next] = marks;
    if (
      mark?.seen !== undefined &&
      (next === undefined || isDone(mark.seen, next.seen))
    ) {
      marks.shift();
      yield mark.seen;
    } else {
      requestMore();
      await Promise.race(underWay);
    }
  }
}

/**
 * @param points Of a range, in ascending order.
 * @throws VaultError The error of the last block if no block has a round
 */
async function* joinRounds(
  points: AsyncIterable<RoundAt>,
): AsyncGenerator<PastRound, void, undefined> {
  let before: RoundAt | undefined;
  let latest: (VaultRound & PastRound) | undefined;
  /** The one that started last. */
  let newest: VaultRound | undefined;
  for await (const point of points) {
    const { block, round } = point;
    const known = isSame(latest, round) ? latest : undefined;
    if (latest !== undefined && known === undefined) {
      yield asListed(latest);
    }
    if (round === undefined) {
      latest = undefined;
    } else {
      const { settled } = round;
      const isOrdered =
        known === undefined
          ? newest === undefined || startsAfter(newest, round)
          : known.outOfOrder === undefined && (!known.settled || settled);
      // The first block does not show when its round was settled.
      const isSettledHere =
        settled && known?.settled !== true && before !== undefined;
      latest = {
        ...round,
        firstBlock: known?.firstBlock ?? block,
        settledBlock: known?.settledBlock ?? (isSettledHere ? block : null),
        lastBlock: block,
        ...(!isOrdered && { outOfOrder: true }),
      };
      newest = isOrdered ? round : newest;
    }
    before = point;
  }
  if (latest !== undefined) {
    yield asListed(latest);
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

function asListed(round: VaultRound & PastRound): PastRound {
  return round.settled
    ? round
    : { ...round, settledPrice: null, settledAmount: null };
}

/** Reads the round of a block; none if the contract fails. */
async function roundReader(
  context: Context,
  last: PinnedBlock,
): Promise<(block: number) => Promise<RoundAt>> {
  const call = encodeCall("getLatestRoundInfo", []);
  const target = await context.locate(call.role, call.operation);
  return async (block) => {
    try {
      const at = { ...context, block: block === last.number ? last : block };
      // the decoder follows the table entry that makes the type
      const round = (await readCall(at, call, target)) as VaultRound;
      // A factory may return zeros before its first round.
      const isEmpty = Object.values(round).every(
        (value) => value === 0n || value === false,
      );
      return { block, round: isEmpty ? undefined : round };
    } catch (error) {
      if (VaultError.isVaultError(error) && error.kind === "chain") {
        return { block, round: undefined, error };
      }
      throw error;
    }
  };
}

async function findRange(
  { rpc, block }: Context,
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

function isSame(one?: VaultRound, other?: VaultRound): boolean {
  return one === undefined || other === undefined
    ? one === other
    : isSameRound(one, other);
}
