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
import type { ReadOptions, VaultReader } from "./reader.js";

/** Requests under way at a time: each is one small `eth_call`. */
const CONCURRENCY = 16;

/**
 * A factory may be gone for a while, so a stretch with nothing at both ends is
 * only believed to be empty once it is so small a part of the range.
 */
const EMPTY_STRETCHES = 128;

/** Where a round of the past was seen. Blocks between two are never guessed. */
export interface RoundSighting {
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

/** A round of the past. Its values are those of its last block, unscaled. */
export type PastRound = VaultRound & RoundSighting;

/** How far a search for rounds has come. */
export interface RoundsProgress {
  /** Blocks that were looked at. */
  readonly done: number;
  /** Blocks to look at, as far as is known; it grows with what is found. */
  readonly total: number;
}

/** Options of {@link VaultClient.rounds}. */
export interface RoundsOptions extends Omit<ReadOptions, "blockTag"> {
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
  /** Ends the search when aborted: the iteration throws its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Called each time a further block was looked at. */
  readonly onProgress?: ((progress: RoundsProgress) => void) | undefined;
}

/** What the factory answers in one block. */
interface RoundAt {
  readonly block: number;
  /** Undefined where there is none, or none to be read. */
  readonly round: VaultRound | undefined;
  /** Why it cannot be read. */
  readonly error?: VaultError;
}

/** Two neighbouring blocks with different rounds, or with and without it settled. */
type Change = readonly [before: RoundAt, after: RoundAt];

/** @see VaultClient.rounds */
export async function* readRounds(
  vault: VaultReader,
  options: RoundsOptions,
): AsyncGenerator<PastRound, void, undefined> {
  options.signal?.throwIfAborted();
  const client = vault.withDeadline(options);
  const [first, last] = await parseRange(client, options);
  const blocks: number[] = [];
  const readRound = roundReader(client, options, last);
  const changes = await orAbort(
    findChanges(
      [first, last],
      async (block) => {
        blocks.push(block);
        return await readRound(block);
      },
      options,
    ),
    options.signal,
  );
  yield* sightings(
    changes,
    first,
    blocks.toSorted((one, other) => one - other),
  );
}

/**
 * Finds every change between the first block and the last, before and behind
 * which there is no round.
 *
 * A round's start time never goes back and a settled round stays settled, so if
 * both ends of a stretch show the same, all between does. Else it is halved.
 */
async function findChanges(
  [first, last]: readonly [number, number],
  read: (block: number) => Promise<RoundAt>,
  { concurrency = CONCURRENCY, signal, onProgress }: RoundsOptions,
): Promise<readonly Change[]> {
  const limit = pLimit(concurrency);
  const stop = new AbortController();
  const marks = equalDistances(first, last);
  const widestEmpty = Math.max(1, (last - first) / EMPTY_STRETCHES);
  let done = 0;
  let total = marks.length;
  const readInTurn = async (block: number): Promise<RoundAt> =>
    await limit(async () => {
      signal?.throwIfAborted();
      stop.signal.throwIfAborted();
      const found = await read(block);
      done += 1;
      onProgress?.({ done, total });
      return found;
    });
  const search = async (
    before: RoundAt,
    after: RoundAt,
  ): Promise<readonly Change[]> => {
    const width = after.block - before.block;
    const isChange =
      !isSame(before.round, after.round) ||
      before.round?.settled !== after.round?.settled;
    if (!isChange && (before.round !== undefined || width <= widestEmpty)) {
      return [];
    }
    if (width === 1) {
      return [[before, after]];
    }
    const reads = Math.ceil(Math.log2(width));
    total += reads;
    const middle = await readInTurn(
      Math.floor((before.block + after.block) / 2),
    );
    // Each half adds its own.
    total -= reads - 1;
    const [lower, upper] = [search(before, middle), search(middle, after)];
    return (await Promise.all([lower, upper])).flat();
  };
  try {
    const found = await Promise.all(marks.map(readInTurn));
    const ends = [...found, { block: last + 1, round: undefined }];
    const changes = await Promise.all(
      ends.map(
        async (after, index) =>
          await search(
            found[index - 1] ?? { block: first - 1, round: undefined },
            after,
          ),
      ),
    );
    const error = found.at(-1)?.error;
    if (changes.every(({ length }) => length === 0) && error !== undefined) {
      // Not an empty list: the address may be wrong.
      throw error;
    }
    return changes.flat();
  } finally {
    // Where one read failed, the others are not made.
    stop.abort();
  }
}

/**
 * A round's stay between the change that brought it and the one that ended it.
 *
 * @param blocks Those that were read, in their order.
 */
function* sightings(
  changes: readonly Change[],
  first: number,
  blocks: readonly number[],
): Generator<PastRound, void, undefined> {
  let latestStart = -1n;
  let at = 0;
  const seen = new Set<string>();
  let current:
    | { firstBlock: number; settledBlock: number | null; isOrdered: boolean }
    | undefined;
  for (const [before, after] of changes) {
    const stays = isSame(before.round, after.round);
    if (!stays && before.round !== undefined && current !== undefined) {
      const { isOrdered, ...found } = current;
      const { startTime } = before.round;
      const identity = identityOf(before.round);
      const isOutOfOrder =
        !isOrdered || startTime < latestStart || seen.has(identity);
      seen.add(identity);
      latestStart = startTime > latestStart ? startTime : latestStart;
      let unreadBlocks = 0;
      for (; (blocks[at] ?? before.block) < before.block; at += 1) {
        const [from = 0, to = 0] = blocks.slice(at, at + 2);
        if (from >= found.firstBlock) {
          unreadBlocks = Math.max(unreadBlocks, to - from - 1);
        }
      }
      yield {
        ...before.round,
        ...found,
        lastBlock: before.block,
        ...(unreadBlocks === 0 ? {} : { unreadBlocks }),
        ...(isOutOfOrder ? { outOfOrder: true } : {}),
      };
    }
    // A round that is there already has not changed from anything.
    const settledHere =
      after.round?.settled === true && after.block > first ? after.block : null;
    if (!stays) {
      current = {
        firstBlock: after.block,
        settledBlock: settledHere,
        isOrdered: true,
      };
    } else if (current !== undefined) {
      current.settledBlock ??= settledHere;
      current.isOrdered &&= after.round?.settled === true;
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
  const [hasOld, hasLast] = await Promise.all(
    [block, last].map(
      async (number) =>
        await rpc
          .balance(ZeroAddress, number)
          .then(() => true, fallbackTo(false, isNodeRefusal)),
    ),
  );
  return hasOld === true || hasLast !== true
    ? refusal
    : vaultError(
        "VAULT_ARCHIVE_NODE_NEEDED",
        {
          network: rpc.network,
          block,
          problem: String(refusal.details["problem"]),
        },
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

function isSame(
  one: VaultRound | undefined,
  other: VaultRound | undefined,
): boolean {
  return one === undefined || other === undefined
    ? one === other
    : isSameRound(one, other);
}
