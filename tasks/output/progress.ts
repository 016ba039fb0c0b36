// What a CommonJS module exports by name is not all found.
import cliProgress from "cli-progress";

import { groupDigits } from "./format-value.js";
import { watchRateLimit } from "./rate-limit.js";
import { formatDuration } from "./time.js";

/** How far a long task has come. */
export interface Progress {
  /** @param total Of how much by now, where it is another than at first. */
  update(done: number, total?: number): void;
  /** Takes the bar off the terminal until the next update. */
  hide(): void;
}

export type ProgressStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  /** Told that a bar takes the last line, and that it left it. */
  readonly bar?:
    { readonly hold: () => void; readonly release: () => void } | undefined;
};

/** Columns that a bar with all there is to tell needs. */
const ROOM_FOR_ALL = 80;

/** How often a terminal that cannot go back in a line is told. */
const LINE_INTERVAL_MS = 2_000;

const hidden: Progress = {
  update: () => undefined,
  hide: () => undefined,
};

/**
 * A bar with rate and time left, on a terminal; now and then a line on one that
 * is dumb; nothing anywhere else.
 *
 * @param stream Undefined for no bar at all.
 * @param total How much there is to do.
 * @param now Milliseconds, for the rate.
 */
export function startProgress(
  stream: ProgressStream | undefined,
  { total: expected, unit }: { readonly total: number; readonly unit: string },
  now: () => number = Date.now,
): Progress {
  if (stream?.isTTY !== true) {
    return hidden;
  }
  if (process.env["TERM"] === "dumb") {
    return showLines(stream, unit, expected, now);
  }
  const isNarrow = (stream.columns ?? ROOM_FOR_ALL) < ROOM_FOR_ALL;
  const limit = watchRateLimit(now);
  const format = `{bar} {percentage} %  {value} of {total} ${unit}`;
  const bar = new cliProgress.SingleBar({
    stream,
    // Drawn again and again, also where nothing comes.
    format: (options, params, payload) =>
      cliProgress.Format.Formatter(
        {
          ...options,
          format: limit.isReached
            ? `${format}  waiting for the rate limit`
            : `${format}${isNarrow ? "" : "  {rate}/s"}  {left} left`,
        },
        params,
        payload,
      ),
    formatValue: (value) => groupDigits(String(value)),
    barCompleteChar: "█",
    barIncompleteChar: "░",
    barsize: isNarrow ? 8 : 24,
    clearOnComplete: true,
    // The cursor stays: Ctrl-C would leave the terminal without one.
  });
  const startedAt = now();
  let isShown = false;
  return {
    update(done, total = expected) {
      const rate = (done / Math.max(1, now() - startedAt)) * 1_000;
      const payload = {
        rate: groupDigits(String(Math.round(rate))),
        left: formatDuration(
          BigInt(Math.ceil((total - done) / Math.max(rate, 1e-9))),
        ),
      };
      if (isShown) {
        bar.setTotal(total);
        bar.update(done, payload);
      } else {
        limit.start();
        stream.bar?.hold();
        bar.start(total, done, payload);
        isShown = true;
      }
    },
    hide() {
      limit.stop();
      if (isShown) {
        bar.stop();
        stream.bar?.release();
        isShown = false;
      }
    },
  };
}

function showLines(
  stream: NodeJS.WritableStream,
  unit: string,
  expected: number,
  now: () => number,
): Progress {
  let toldAt = now();
  return {
    ...hidden,
    update(done, total = expected) {
      if (now() - toldAt >= LINE_INTERVAL_MS) {
        toldAt = now();
        stream.write(
          `${groupDigits(String(done))} of ${groupDigits(String(total))} ${unit}\n`,
        );
      }
    },
  };
}
