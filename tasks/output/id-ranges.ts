import { isEmptyOrder, isFailedOrder } from "../../src/client/index.js";
import type { ListedOrder, Order } from "../../src/client/index.js";
import type { VaultError } from "../../src/errors.js";
import { groupDigits } from "../../src/protocol/units.js";
import { describeCount } from "./format-value.js";
import type { Style } from "./style.js";

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

/** What a listing held, and which ids were no orders. */
export class Tally {
  public readonly empty = new IdRanges();
  public readonly failed = new IdRanges();
  public listed = 0;
  #firstError: VaultError | undefined;

  public get isNotable(): boolean {
    return this.empty.count > 0 || this.failed.count > 0;
  }

  /** @returns Whether it is an order. */
  public add(order: ListedOrder): order is Order {
    this.listed += 1;
    if (isFailedOrder(order)) {
      this.failed.add(order.orderID);
      this.#firstError ??= order.error;
      return false;
    }
    if (isEmptyOrder(order)) {
      this.empty.add(order.orderID);
      return false;
    }
    return true;
  }

  public async *count(
    orders: AsyncIterable<ListedOrder>,
  ): AsyncGenerator<ListedOrder, void, undefined> {
    for await (const order of orders) {
      this.add(order);
      yield order;
    }
  }

  /** @param isListed Every id has a row of its own, or one with its like. */
  public describe(style: Style, isListed: boolean): string {
    const { empty, failed } = this;
    const orders = this.listed - empty.count - failed.count;
    const show = (ids: IdRanges): string =>
      isListed ? describeCount(ids.count, "id") : ids.describe();
    return [
      `${describeCount(orders, "order")}.`,
      ...(empty.count === 0
        ? []
        : [`Empty, with every value zero: ${show(empty)}.`]),
      ...(this.#firstError === undefined
        ? []
        : [
            style.bad(`Failed: ${show(failed)}.`),
            `The first of these: ${this.#firstError.shortMessage}`,
          ]),
    ].join("\n");
  }
}
