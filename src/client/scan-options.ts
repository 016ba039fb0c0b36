import type { OptionNames } from "./option-names.js";
import { readOptionNames } from "./reader.js";
import type { ReadOptions } from "./reader.js";

/** Progress of `orders()` or `rounds()`. */
export interface ScanProgress {
  /** Ids or blocks read so far, listed or not. */
  readonly done: number;
  /** Ids or blocks to read; grows while more are found. */
  readonly total: number;
}

/** Options of `orders()` and `rounds()`. */
export interface ScanOptions extends ReadOptions {
  /** Called after further ids or blocks were read. */
  readonly onProgress?: ((progress: ScanProgress) => void) | undefined;
}

export const scanOptionNames: OptionNames<ScanOptions> = {
  ...readOptionNames,
  onProgress: true,
};
