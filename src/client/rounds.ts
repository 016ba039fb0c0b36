import { ZeroAddress } from "ethers";
import pLimit from "p-limit";

import {
  VaultError,
  invalidArgument,
  fallbackTo,
  vaultError,
} from "../errors.js";
import type { VaultRound } from "../protocol/index.js";
import { isSameRound } from "../protocol/round.js";
import { orAbort } from "../rpc/deadline.js";
import { isNodeRefusal } from "../rpc/errors.js";
import { parseBlockTag, parseCount, requirePastBlock } from "./inputs.js";
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

/** Two looks with blocks between them, or none. */
type Stretch = readonly [before: RoundAt, after: RoundAt];

/** @see VaultClient.rounds */
export async function* readRounds(
  whole: VaultReader,
  options: RoundsOptions,
): AsyncGenerator<PastRound, void, undefined> {
  options.signal?.throwIfAborted();
  const client = whole.withDeadline(options);
  const [first, last] = await parseRange(client, options);
  const seen: number[] = [];
  const look = lookAt(client, options, last);
  const changes = await orAbort(
    findChanges(
      [first, last],
      async (block) => {
        seen.push(block);
        return await look(block);
      },
      options,
    ),
    options.signal,
  );
  yield* sightings(
    changes,
    first,
    [...seen].sort((one, other) => one - other),
  );
}

/**
 * Finds every two neighbouring blocks between which the round, or whether it is
 * settled, differs. Before the first block and behind the last there is no round.
 *
 * A round's start time never goes back and a settled round stays settled, so if
 * both ends of a stretch show the same, all between does. Else it is halved.
 */
async function findChanges(
  [first, last]: readonly [number, number],
  look: (block: number) => Promise<RoundAt>,
  { concurrency = CONCURRENCY, signal, onProgress }: RoundsOptions,
): Promise<readonly Stretch[]> {
  const limit = pLimit(concurrency);
  const stop = new AbortController();
  const marks = equalDistances(first, last);
  let done = 0;
  let total = marks.length;
  const lookInTurn = async (block: number): Promise<RoundAt> =>
    await limit(async () => {
      signal?.throwIfAborted();
      stop.signal.throwIfAborted();
      const found = await look(block);
      done += 1;
      onProgress?.({ done, total });
      return found;
    });
  const widestEmpty = Math.max(1, (last - first) / EMPTY_STRETCHES);
  const search = async (stretch: Stretch): Promise<readonly Stretch[]> => {
    const [before, after] = stretch;
    const width = after.block - before.block;
    if (
      !isChange(stretch) &&
      (before.round !== undefined || width <= widestEmpty)
    ) {
      return [];
    }
    if (width === 1) {
      return [stretch];
    }
    const looks = Math.ceil(Math.log2(width));
    total += looks;
    const middle = await lookInTurn(
      Math.floor((before.block + after.block) / 2),
    );
    // Of the others, each half says itself.
    total -= looks - 1;
    return await searchBetween([before, middle, after]);
  };
  const searchBetween = async (
    found: readonly RoundAt[],
  ): Promise<readonly Stretch[]> =>
    (await Promise.all(pairs(found).map(search))).flat();
  try {
    const found = await Promise.all(marks.map(lookInTurn));
    const changes = await searchBetween([
      { block: first - 1, round: undefined },
      ...found,
      { block: last + 1, round: undefined },
    ]);
    const error = found.at(-1)?.error;
    if (changes.length === 0 && error !== undefined) {
      // Not an empty list: the address may be wrong.
      throw error;
    }
    return changes;
  } finally {
    // Where one look failed, the others are not made.
    stop.abort();
  }
}

/**
 * A round's stay between the change that brought it and the one that ended it.
 *
 * @param looks The blocks that were read, in their order.
 */
function* sightings(
  changes: readonly Stretch[],
  first: number,
  looks: readonly number[],
): Generator<PastRound, void, undefined> {
  let latestStart = -1n;
  const seen = new Set<string>();
  const findWidestGap = widestGaps(looks);
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
      const unreadBlocks = findWidestGap(found.firstBlock, before.block);
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

/** Ranges come in their order. */
function widestGaps(
  looks: readonly number[],
): (first: number, last: number) => number {
  let at = 0;
  return (first, last) => {
    let widest = 0;
    for (; (looks[at] ?? last) < last; at += 1) {
      const [from = 0, to = 0] = looks.slice(at, at + 2);
      widest = from < first ? widest : Math.max(widest, to - from - 1);
    }
    return widest;
  };
}

/** What the contract refuses is no failure. */
function lookAt(
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
      if (!VaultError.isVaultError(error)) {
        throw error;
      }
      if (error.kind === "chain") {
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
    requirePastBlock(tag, where);
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
  const count = Math.min(
    2 * Math.ceil(Math.log2(last - first + 1)),
    last - first,
  );
  return [
    ...Array.from(
      { length: count },
      (_, index) => first + Math.floor(((last - first) / count) * index),
    ),
    last,
  ];
}

function pairs(found: readonly RoundAt[]): Stretch[] {
  return found.flatMap((after, index) => {
    const before = found[index - 1];
    return before === undefined ? [] : [[before, after] as const];
  });
}

function isChange([{ round: before }, { round: after }]: Stretch): boolean {
  return !isSame(before, after) || before?.settled !== after?.settled;
}

function isSame(
  one: VaultRound | undefined,
  other: VaultRound | undefined,
): boolean {
  return one === undefined || other === undefined
    ? one === other
    : isSameRound(one, other);
}

function identityOf({ startTime, endTime, strikePrice }: VaultRound): string {
  return [startTime, endTime, strikePrice].join();
}
