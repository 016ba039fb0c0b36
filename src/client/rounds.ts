import { ZeroAddress } from "ethers";
import pLimit from "p-limit";

import {
  VaultError,
  invalidArgument,
  fallbackTo,
  vaultError,
} from "../errors.js";
import type { VaultRound } from "../protocol/index.js";
import { identityOf, isSameRound } from "../protocol/round.js";
import { orAbort } from "../rpc/deadline.js";
import { isNodeRefusal } from "../rpc/errors.js";
import { parseBlockTag, parseCount, requireFixedBlock } from "./inputs.js";
import type { BlockTag } from "./inputs.js";
import type { ScanOptions, VaultReader } from "./reader.js";

/** Requests under way at a time: each is one small `eth_call`. */
const CONCURRENCY = 16;

/**
 * A factory may be gone for a while, so a stretch with nothing at both ends is
 * only believed to be empty once it is so small a part of the range.
 */
const EMPTY_STRETCHES = 128;

/**
 * A round of the past. Its values are those of its last block, unscaled. Blocks
 * between two that were read are never guessed.
 */
export interface PastRound extends VaultRound {
  /** First block of the range in which it was the vault's latest round. */
  readonly firstBlock: number;
  /**
   * The block that settled it. Null where none shows it: it was not settled, or
   * it was replaced in the block that settled it, or it was settled before the
   * range begins.
   */
  readonly settledBlock: number | null;
  /** Last block of the range in which it was the vault's latest round. */
  readonly lastBlock: number;
  /**
   * Most blocks in a row between two that were read and have this round. A
   * contract that was gone there for a while, and came back, is not noticed.
   * Absent if every block was read.
   */
  readonly unreadBlocks?: number;
  /**
   * True, and only there, where the order that the search relies on is broken:
   * a round before this one starts later, or this one came back after another,
   * or it stopped being settled. There may be rounds that were passed over.
   */
  readonly outOfOrder?: true;
}

/** Options of {@link VaultClient.rounds}. */
export interface RoundsOptions extends Omit<ScanOptions, "blockTag"> {
  /**
   * Milliseconds until all of the search has to be done, with whatever is asked
   * again; no limit unless given, and 300,000 for each request. No round is
   * listed before that, so that what is listed is whole.
   */
  readonly timeout?: number | undefined;
  /** First block to look at; the chain's first unless given. */
  readonly fromBlock?: BlockTag | undefined;
  /** Last block to look at; the latest unless given. */
  readonly toBlock?: BlockTag | undefined;
  /** Requests under way at a time; 16 unless given. */
  readonly concurrency?: number | undefined;
}

/** The round in a block that was read. */
interface RoundAt {
  readonly block: number;
  /** Undefined if there is none, or none that can be read. */
  readonly round: VaultRound | undefined;
  /** The reason that it cannot be read. */
  readonly error?: VaultError;
}

/** @see VaultClient.rounds */
export async function* readRounds(
  vault: VaultReader,
  options: RoundsOptions,
): AsyncGenerator<PastRound, void, undefined> {
  options.signal?.throwIfAborted();
  const client = vault.withDeadline(options);
  const range = await parseRange(client, options);
  yield* sightings(
    await orAbort(
      search(range, roundReader(client, options, range[1]), options),
      options.signal,
    ),
  );
}

/**
 * Reads the first block, the last, and both blocks of every change in between.
 *
 * A round's start time never goes back and a settled round stays settled, so if
 * both ends of a stretch show the same, all between does. Else it is halved.
 *
 * @returns All blocks that were read, in their order.
 */
async function search(
  [first, last]: readonly [number, number],
  read: (block: number) => Promise<RoundAt>,
  { concurrency = CONCURRENCY, signal, onProgress }: RoundsOptions,
): Promise<readonly RoundAt[]> {
  const limit = pLimit(concurrency);
  const stop = new AbortController();
  const marks = equalDistances(first, last);
  const widestEmpty = Math.max(1, (last - first) / EMPTY_STRETCHES);
  const points: RoundAt[] = [];
  let total = 0;
  const readInTurn = async (block: number): Promise<RoundAt> => {
    total += 1;
    return await limit(async () => {
      signal?.throwIfAborted();
      stop.signal.throwIfAborted();
      const point = await read(block);
      points.push(point);
      onProgress?.({ done: points.length, total });
      return point;
    });
  };
  const searchBetween = async (
    before: RoundAt,
    after: RoundAt,
  ): Promise<void> => {
    const width = after.block - before.block;
    const isChange =
      !isSame(before.round, after.round) ||
      before.round?.settled !== after.round?.settled;
    const isDone = before.round !== undefined || width <= widestEmpty;
    if (width === 1 || (!isChange && isDone)) {
      return;
    }
    const middle = await readInTurn(
      Math.floor((before.block + after.block) / 2),
    );
    await Promise.all([
      searchBetween(before, middle),
      searchBetween(middle, after),
    ]);
  };
  try {
    const found = await Promise.all(marks.map(readInTurn));
    await Promise.all(
      found.map(async (after, index) => {
        await searchBetween(found[index - 1] ?? after, after);
      }),
    );
    const error = found.at(-1)?.error;
    if (
      error !== undefined &&
      points.every(({ round }) => round === undefined)
    ) {
      // Not an empty list: the address may be wrong.
      throw error;
    }
  } finally {
    // Where one read failed, the others are not made.
    stop.abort();
  }
  return points.sort((one, other) => one.block - other.block);
}

/** Joins the blocks in a row that have the same round. */
function* sightings(
  points: readonly RoundAt[],
): Generator<PastRound, void, undefined> {
  const seen = new Set<string>();
  let latestStart = -1n;
  let firstBlock = 0;
  let settledBlock: number | null = null;
  let unreadBlocks = 0;
  let isOrdered = true;
  for (const [index, { block, round }] of points.entries()) {
    const before = points[index - 1];
    const stays = before !== undefined && isSame(before.round, round);
    if (stays) {
      unreadBlocks = Math.max(unreadBlocks, block - before.block - 1);
      isOrdered &&= before.round?.settled !== true || round?.settled === true;
    } else {
      firstBlock = block;
      settledBlock = null;
      unreadBlocks = 0;
      isOrdered = true;
    }
    const wasSettled = stays && before.round?.settled === true;
    // In the range's first block, a round has not changed from anything.
    if (round?.settled === true && !wasSettled && before !== undefined) {
      settledBlock ??= block;
    }
    const after = points[index + 1];
    if (
      round !== undefined &&
      (after === undefined || !isSame(round, after.round))
    ) {
      const identity = identityOf(round);
      isOrdered &&= round.startTime >= latestStart && !seen.has(identity);
      seen.add(identity);
      latestStart =
        round.startTime > latestStart ? round.startTime : latestStart;
      yield {
        ...round,
        firstBlock,
        settledBlock,
        lastBlock: block,
        ...(unreadBlocks === 0 ? {} : { unreadBlocks }),
        ...(isOrdered ? {} : { outOfOrder: true }),
      };
    }
  }
}

/** Reads the round of a block; a contract that refuses has none. */
function roundReader(
  client: VaultReader,
  { from }: RoundsOptions,
  last: number,
): (block: number) => Promise<RoundAt> {
  let explained: Promise<VaultError> | undefined;
  return async (block) => {
    try {
      const round = await client.read("getLatestRoundInfo", [], {
        from,
        blockTag: block,
      });
      // A factory before its first round.
      const isEmpty = Object.values(round).every(
        (value) => value === 0n || value === false,
      );
      return { block, round: isEmpty ? undefined : round };
    } catch (error) {
      if (VaultError.isVaultError(error) && error.kind === "chain") {
        return { block, round: undefined, error };
      }
      if (isNodeRefusal(error)) {
        explained ??= explainMissingState(client, error, block, last);
        throw await explained;
      }
      throw error;
    }
  };
}

/** The error of a node that has the newest block's state and not an old one's. */
async function explainMissingState(
  { rpc }: VaultReader,
  refusal: VaultError,
  block: number,
  last: number,
): Promise<VaultError> {
  const hasState = async (number: number): Promise<boolean> =>
    await rpc
      .balance(ZeroAddress, number)
      .then(() => true, fallbackTo(false, isNodeRefusal));
  if ((await hasState(block)) || !(await hasState(last))) {
    return refusal;
  }
  const problem = String(refusal.details["problem"]);
  const { network } = rpc;
  return vaultError(
    "VAULT_ARCHIVE_NODE_NEEDED",
    { network, block, problem },
    refusal,
  );
}

async function parseRange(
  client: VaultReader,
  { fromBlock = 0, toBlock = "latest", concurrency }: RoundsOptions,
): Promise<readonly [first: number, last: number]> {
  for (const [where, tag] of Object.entries({ fromBlock, toBlock })) {
    parseBlockTag(tag, where);
    requireFixedBlock(tag, where);
  }
  parseCount(concurrency, "concurrency");
  const [first, { number: last }] = await Promise.all([
    typeof fromBlock === "string"
      ? client.block(fromBlock).then(({ number }) => number)
      : Number(fromBlock),
    client.block(toBlock),
  ]);
  if (first > last) {
    throw invalidArgument(
      "fromBlock",
      `${first} is above the last block to look at, which is ${last}`,
    );
  }
  return [first, last];
}

/** Blocks to begin with, which show if the order that the search relies on holds. */
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
