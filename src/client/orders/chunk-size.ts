/**
 * How many orders to ask for at once: halved by a failure, doubled again by
 * success. Each failure doubles how many successes it takes, so that a node
 * with a fixed limit is not driven into it over and over.
 */
export class ChunkSize {
  readonly #max: number;
  #size: number;
  #patience = 1;
  #successes = 0;

  constructor(initial: number, max: number) {
    this.#max = max;
    this.#size = Math.min(initial, max);
  }

  public get current(): number {
    return this.#size;
  }

  /** A request for that many orders was answered in full. */
  public succeeded(count: number): void {
    if (count < this.#size) {
      return;
    }
    this.#successes += 1;
    if (this.#successes >= this.#patience) {
      this.#size = Math.min(this.#max, this.#size * 2);
      this.#successes = 0;
    }
  }

  /** Of those asked for, only so many fitted into the gas of one call. */
  public limitedTo(count: number): void {
    this.#size = Math.max(1, Math.min(this.#size, count));
    this.#successes = 0;
  }

  /**
   * A request for that many orders failed. Those that were under way with it
   * and fail as well say nothing new.
   */
  public failed(count: number): void {
    this.#successes = 0;
    const half = Math.max(1, Math.floor(count / 2));
    if (half < this.#size) {
      this.#size = half;
      this.#patience = Math.min(MAX_PATIENCE, this.#patience * 2);
    }
  }
}

const MAX_PATIENCE = 64;
