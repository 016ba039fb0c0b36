import { groupDigits } from "../../src/protocol/units.js";
import { formatDuration } from "./format-value.js";

/** Shows how far a long task has come. */
export interface Progress {
  /** @param total Of how much by now, where it is another than at first. */
  readonly update: (far: {
    readonly done: number;
    readonly total?: number;
  }) => void;
  /** Takes the bar off the terminal until the next update. */
  readonly hide: () => void;
}

/**
 * Starts to show that on a terminal: as a bar with rate and time left; now and
 * then as a line on one that is dumb; nowhere else.
 *
 * @param expected How much there is to do, and of what.
 */
export type StartProgress = (expected: {
  readonly total: number;
  readonly unit: string;
}) => Progress;

/** Columns that a bar with all there is to tell needs. */
const ROOM_FOR_ALL = 80;

/** A bar, how far it has come, how fast, and how long the rest will take. */
export function renderBar(
  done: number,
  total: number,
  unit: string,
  {
    elapsed,
    isLimited,
    columns = ROOM_FOR_ALL,
  }: {
    /** Milliseconds. */
    readonly elapsed: number;
    /** The node limits how often it is asked. */
    readonly isLimited: boolean;
    readonly columns: number | undefined;
  },
): string {
  const isNarrow = columns < ROOM_FOR_ALL;
  const size = isNarrow ? 8 : 24;
  const share = total === 0 ? 1 : Math.min(done / total, 1);
  const rate = (done / Math.max(1, elapsed)) * 1_000;
  const left = Math.ceil((total - done) / Math.max(rate, 1e-9));
  return [
    `${"█".repeat(Math.round(share * size)).padEnd(size, "░")} ${Math.floor(100 * share)} %`,
    describeDone(done, total, unit),
    ...(isLimited
      ? ["waiting for the rate limit"]
      : [
          ...(isNarrow ? [] : [`${groupDigits(String(Math.round(rate)))}/s`]),
          `${formatDuration(BigInt(left))} left`,
        ]),
  ].join("  ");
}

/** As in `10,000 of 20,000 orders`. */
export function describeDone(
  done: number,
  total: number,
  unit: string,
): string {
  return `${groupDigits(String(done))} of ${groupDigits(String(total))} ${unit}`;
}
