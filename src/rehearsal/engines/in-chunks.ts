import pMap from "p-map";

import { EngineUnable } from "../question.js";
import type { WatchedReading } from "../watch-list.js";

/** Orders in one request at first. */
const FIRST_SIZE = 400;

/** With fewer, it is not the orders that are too many. */
const SMALLEST_SIZE = 25;

const CONCURRENCY = 4;

/**
 * Rehearses with some of the orders at a time, as many as the node's gas allows,
 * always the same settlement in the same block.
 *
 * @param run Throws a capped EngineUnable where they are too many.
 * @returns What each run answered, in the order of the orders; at least one.
 */
export async function inChunks<T>(
  orders: readonly WatchedReading[],
  run: (orders: readonly WatchedReading[]) => Promise<T>,
): Promise<readonly [T, ...T[]]> {
  for (let size = FIRST_SIZE; ; size = Math.floor(size / 2)) {
    try {
      // Whether it works at all, one request finds out.
      const first = await run(orders.slice(0, size));
      const starts = Array.from(
        { length: Math.max(Math.ceil(orders.length / size) - 1, 0) },
        (_, index) => (index + 1) * size,
      );
      const rest = await pMap(
        starts,
        async (start) => await run(orders.slice(start, start + size)),
        { concurrency: CONCURRENCY },
      );
      return [first, ...rest];
    } catch (error) {
      if (
        !(error instanceof EngineUnable && error.isCapped) ||
        Math.min(size, orders.length) <= SMALLEST_SIZE
      ) {
        throw error;
      }
    }
  }
}
