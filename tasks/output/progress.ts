import { SingleBar } from "cli-progress";

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
};

const hidden: Progress = {
  update: () => undefined,
  hide: () => undefined,
};

/**
 * A bar with rate and time left, on a terminal; nothing anywhere else.
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
  const bar = new SingleBar({
    stream,
    format: `{bar} {percentage} %  {value} of {total} ${unit}  {rate}/s  {left} left`,
    barCompleteChar: "█",
    barIncompleteChar: "░",
    barsize: 24,
    clearOnComplete: true,
    // The cursor stays: Ctrl-C would leave the terminal without one.
  });
  const startedAt = now();
  let isShown = false;
  return {
    update(done, total = expected) {
      const rate = (done / Math.max(1, now() - startedAt)) * 1_000;
      const payload = {
        rate: Math.round(rate),
        left: formatDuration(
          BigInt(Math.ceil((total - done) / Math.max(rate, 1e-9))),
        ),
      };
      if (isShown) {
        bar.setTotal(total);
        bar.update(done, payload);
      } else {
        bar.start(total, done, payload);
        isShown = true;
      }
    },
    hide() {
      if (isShown) {
        bar.stop();
        isShown = false;
      }
    },
  };
}
