import { option } from "./options.js";
import type { OptionsOf } from "./options.js";
import { readOptions } from "./reader.js";

/** Progress of `orders()` or `rounds()`. */
export interface ScanProgress {
  /** Ids or blocks read so far, listed or not. */
  readonly done: number;
  /** Ids or blocks to read; grows while more are found. */
  readonly total: number;
}

export const scanOptions = {
  ...readOptions,
  /** Called after further ids or blocks were read. */
  onProgress: option<(progress: ScanProgress) => void>(),
};

/** Options of `orders()` and `rounds()`. */
export interface ScanOptions extends OptionsOf<typeof scanOptions> {}
