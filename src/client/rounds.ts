import { ZeroAddress, id } from "ethers";
import pLimit from "p-limit";

import { checkOptions, option } from "./options.js";
import type { OptionsOf } from "./options.js";
import {
  VaultError,
  fallbackTo,
  invalidArgument,
  vaultError,
} from "../errors.js";
import type { VaultRound } from "../protocol/index.js";
import { identityOf, isSameRound } from "../protocol/round.js";
import { getBalance } from "../rpc/accounts.js";
import type { PinnedBlock } from "../rpc/block-id.js";
import { getBlock } from "../rpc/blocks.js";
import { isFinalRefusal } from "../rpc/errors.js";
import { fewRetries } from "../rpc/retry.js";
import { getReceipt, getTransactions } from "../rpc/transactions.js";
import { encodeCall } from "./codec.js";
import { isNotConfigured } from "./failed-reading.js";
import {
  parseBlockTag,
  parseCount,
  requireFixedBlock,
  withAddress,
} from "./inputs.js";
import type { BlockTag } from "./inputs.js";
import type { VaultReader } from "./reader.js";
import { scanOptions } from "./scan-options.js";

/** Requests at the same time, each one small `eth_call`. */
const CONCURRENCY = 16;

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
  /** True also if the block that settled it opened the next round. */
  readonly settled: boolean;
  /** First block of the range with this as the latest round. */
  readonly firstBlock: number;
  /**
   * The block that settled it: `lastBlock` + 1 if that block opened the next round, too.
   * Null if it was not settled, or was settled before the range.
   */
  readonly settledBlock: number | null;
  /** Last block of the range with this as the latest round. */
  readonly lastBlock: number;
  /**
   * Longest stretch of this round's blocks that was not read; absent if every block
   * was. A contract that was missing only there is not noticed.
   */
  readonly unreadBlocks?: number;
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
   * 300,000 for each request. The first round is listed once the search is done, so
   * a list is always whole.
   */
  timeout: option<number>(),
  /** First block of the range. Default: the chain's first. */
  fromBlock: option<BlockTag>(),
  /** Last block of the range. Default: the latest. */
  toBlock: option<BlockTag>(),
  /** Requests at the same time. Default: 16. */
  concurrency: option<number>(),
};

/** Options of {@link VaultClient.rounds}. */
export interface RoundsOptions extends OptionsOf<typeof roundsOptions> {}

type SeenRound = VaultRound & Omit<PastRound, keyof VaultRound>;
interface RoundAt {
  readonly block: number;
  /** Undefined if there is none, or if it cannot be read. */
  readonly round: VaultRound | undefined;
  readonly error?: VaultError;
}

/** @see VaultClient.rounds */
export async function* readRounds(
  vault: VaultReader,
  options: RoundsOptions,
): AsyncGenerator<PastRound, void, undefined> {
  checkOptions("rounds()", options, roundsOptions);
  options.signal?.throwIfAborted();
  const client = vault.withOptions(await withAddress(options));
  const [first, last] = await parseRange(client, options);
  const pinned = client.pinnedTo(last);
  const read = roundReader(pinned, last.number);
  const points = await search([first, last.number], read, options);
  const seen = [...joinRounds(points)];
  const rounds = await Promise.all(
    seen.map(async (round, index) =>
      toPastRound(round, await isRolledOver(pinned, round, seen[index + 1])),
    ),
  );
  // The blocks below the last one were read by their numbers.
  await pinned.requirePin();
  yield* rounds;
}

async function isRolledOver(
  client: VaultReader,
  round: SeenRound,
  next: SeenRound | undefined,
): Promise<boolean> {
  const follows = next?.firstBlock === round.lastBlock + 1;
  return (
    follows && !round.settled && (await hasSettlement(client, next.firstBlock))
  );
}

function toPastRound(round: SeenRound, rollsOver: boolean): PastRound {
  if (round.settled) {
    return round;
  }
  const unseen = { ...round, settledPrice: null, settledAmount: null };
  return rollsOver
    ? { ...unseen, settled: true, settledBlock: round.lastBlock + 1 }
    : unseen;
}

/**
 * Reads the first block, the last, and both blocks of every change in between. Start
 * times never go back and a settled round stays settled. So if both ends of a stretch
 * are the same, nothing changes in between. Any other stretch is halved.
 *
 * @returns The blocks read, in ascending order.
 */
async function search(
  [first, last]: readonly [number, number],
  read: (block: number) => Promise<RoundAt>,
  { concurrency = CONCURRENCY, onProgress }: RoundsOptions,
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
      // An empty list would hide a wrong address.
      throw error;
    }
  } finally {
    // After a failed read, the remaining ones are not sent.
    stop.abort();
  }
  return points.sort((one, other) => one.block - other.block);
}

function* joinRounds(
  points: readonly RoundAt[],
): Generator<SeenRound, void, undefined> {
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
    // The first block does not show when its round was settled.
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

/** Reads the round of a block; none if the contract fails. */
function roundReader(
  client: VaultReader,
  last: number,
): (block: number) => Promise<RoundAt> {
  let named: Promise<VaultError> | undefined;
  return async (block) => {
    try {
      const blockTag = block;
      const round = await client.read("getLatestRoundInfo", [], { blockTag });
      // A factory may return zeros before its first round.
      const isEmpty = Object.values(round).every(
        (value) => value === 0n || value === false,
      );
      return { block, round: isEmpty ? undefined : round };
    } catch (error) {
      if (VaultError.isVaultError(error) && error.kind === "chain") {
        return { block, round: undefined, error };
      }
      if (
        VaultError.isVaultError(error) &&
        error.code === "VAULT_ARCHIVE_NODE_NEEDED"
      ) {
        named ??= nameOldestState(client, error, block, last);
        throw await named;
      }
      throw error;
    }
  };
}

/** Adds the oldest block whose state the node can read. */
async function nameOldestState(
  { rpc }: VaultReader,
  refusal: VaultError,
  block: number,
  last: number,
): Promise<VaultError> {
  const patient = rpc.withRetries(fewRetries);
  const hasState = async (number: number): Promise<boolean> =>
    await getBalance(patient, ZeroAddress, number).then(
      () => true,
      fallbackTo(false, isFinalRefusal),
    );
  if ((await hasState(block)) || !(await hasState(last))) {
    return refusal;
  }
  // A node that prunes has the state of every block from some block on.
  const oldest = await halve(block, last, hasState);
  const found = ` The oldest block whose state could be read is ${oldest}: `;
  return vaultError(
    "VAULT_ARCHIVE_NODE_NEEDED",
    {
      ...{ network: rpc.network, block },
      problem: String(refusal.details["problem"]),
      hint: `${found}pass \`fromBlock\` ${oldest} for the rounds since then.`,
      cliHint: `${found}pass --from-block ${oldest} for the rounds since then.`,
    },
    refusal,
  );
}

async function parseRange(
  client: VaultReader,
  { fromBlock = 0, toBlock = "latest", concurrency }: RoundsOptions,
): Promise<readonly [first: number, last: PinnedBlock]> {
  for (const [where, tag] of Object.entries({ fromBlock, toBlock })) {
    parseBlockTag(tag, where);
    requireFixedBlock(tag, where);
  }
  parseCount(concurrency, "concurrency");
  const { rpc, block } = client.readContext({ blockTag: toBlock });
  const [first, last] = await Promise.all([
    typeof fromBlock === "string"
      ? client.block(fromBlock).then(({ number }) => number)
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

/**
 * Searches by halves for the block at which something changes for good.
 *
 * @param before A block before the change.
 * @param after A later block, after it.
 * @returns The first block after the change.
 */
export async function halve(
  before: number,
  after: number,
  hasChanged: (block: number) => Promise<boolean>,
): Promise<number> {
  let [low, high] = [before, after];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    [low, high] = (await hasChanged(middle)) ? [low, middle] : [middle, high];
  }
  return high;
}

const SELECTOR_DIGITS = 8;

/** First hex digits of the calls that settle: the vault's own, and the guard's. */
function settlingCalls(): readonly string[] {
  return [
    encodeCall("settleAll", []).data,
    id("settle(address,address,uint256,uint256,bool,bool,address[])"),
  ].map((data) => data.slice(2, 2 + SELECTOR_DIGITS));
}

/**
 * True if a transaction of the block settled the vault: it succeeded, and calls
 * `settleAll` itself or has the call in its data, as those of a Safe or a guard. A call
 * that a contract makes by itself is not seen.
 */
export async function hasSettlement(
  vault: VaultReader,
  block: number,
): Promise<boolean> {
  const located = await vault
    .addressOf("vault", "settleAll")
    .catch(fallbackTo(undefined, isNotConfigured));
  if (located === undefined) {
    return false;
  }
  const address = located.address.slice(2).toLowerCase();
  const calls = settlingCalls();
  const suspects = (await getTransactions(vault.rpc, block)).filter(
    ({ to, data }) =>
      calls.some((call) => data.includes(call)) &&
      (to === `0x${address}` || data.includes(address)),
  );
  const receipts = await Promise.all(
    suspects.map(async ({ hash }) => await getReceipt(vault.rpc, hash)),
  );
  // A receipt without status proves nothing.
  return receipts.some((receipt) => receipt?.succeeded === true);
}
