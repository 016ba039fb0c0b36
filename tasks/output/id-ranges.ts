import { groupDigits } from "./format-value.js";

/**
 * Ids in ascending order, kept as ranges so that a million of them in a row
 * take no memory; beyond a number of ranges they are only counted.
 */
export class IdRanges {
  readonly #ranges: Array<{ readonly first: bigint; last: bigint }> = [];
  #count = 0;
  #omitted = 0;

  public get count(): number {
    return this.#count;
  }

  public add(id: bigint): void {
    this.#count += 1;
    const latest = this.#ranges.at(-1);
    if (latest?.last === id - 1n) {
      latest.last = id;
    } else if (this.#ranges.length < MAX_RANGES) {
      this.#ranges.push({ first: id, last: id });
    } else {
      this.#omitted += 1;
    }
  }

  /** As in `3, 7-9 and 12 more`. */
  public describe(): string {
    const listed = this.#ranges
      .map(({ first, last }) =>
        first === last ? `${first}` : `${first}-${last}`,
      )
      .join(", ");
    return this.#omitted === 0
      ? listed
      : `${listed} and ${groupDigits(String(this.#omitted))} more`;
  }
}

const MAX_RANGES = 20;
