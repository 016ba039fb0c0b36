import { MaxUint256 } from "ethers";

import type { VaultError } from "../../errors.js";
import { asRecord } from "../../json.js";
import { isFailed } from "./order-reader.js";
import type { Failed, Found, OrderReader } from "./order-reader.js";
import {
  FAILED_IDS_AT_END,
  UNKNOWN_IDS_AT_END,
  isEmptyOrder,
  isFailedOrder,
} from "./types.js";
import type { FailedOrder, ListedOrder } from "./types.js";

/**
 * No longer range with a last id is read. So far behind its first id, an open range has no
 * order.
 */
export const MOST_IDS = 2n ** 40n;

/** Follows a range to its end, and leaves out the unknown ids, which return zeros or fail. */
export class OpenRange {
  /** Ids up to the last order. */
  public length = 0;
  /** Set by a run of ids that fail, or by a longer one of ids that are no orders. */
  public isOver = false;
  /**
   * Set with it if the end is not known: by the first error if no id is answered, since a
   * contract that refuses to be read may have orders, and by an error of the node.
   */
  public error: VaultError | undefined;
  #isAnswered = false;
  #unknown = 0;
  /** The ids read last, if they failed. What is behind them shows what they are. */
  readonly #failed: Failed[] = [];
  #reasonOfUnknown: Promise<string> | undefined;

  constructor(
    private readonly reader: OrderReader,
    private readonly first: bigint,
  ) {}

  /** @param found The next ids. */
  public async add(found: Iterable<Found>): Promise<readonly ListedOrder[]> {
    const listed: ListedOrder[] = [];
    for (const order of found) {
      this.#unknown += 1;
      if (isFailed(order)) {
        this.#failed.push(order);
      } else {
        this.#isAnswered = true;
        if (this.#failed.length > 0) {
          listed.push(...(await this.takeFailed()));
        }
        const { orderID } = order;
        if (!isEmptyOrder(order)) {
          listed.push(order);
          this.#unknown = 0;
          this.length = Number(orderID - this.first + 1n);
        }
      }
      this.isOver =
        this.#failed.length === FAILED_IDS_AT_END ||
        this.#unknown === UNKNOWN_IDS_AT_END;
      if (this.isOver) {
        return [...listed, ...this.#takeLast()];
      }
    }
    return listed;
  }

  /** The ids before an answered one that fail otherwise than an id far behind the end. */
  public async takeFailed(): Promise<readonly FailedOrder[]> {
    const listed: FailedOrder[] = [];
    for (const order of this.#failed.splice(0)) {
      if (order !== undefined && !(await this.#isUnknown(order))) {
        listed.push(order);
      }
    }
    return listed;
  }

  async #isUnknown(order: FailedOrder): Promise<boolean> {
    const { kind } = asRecord(order.error.cause);
    // Without a reason, it may be an order that needs more gas, behind a proxy.
    if (order.error.code !== "VAULT_CALL_REVERTED" || kind === "none") {
      return false;
    }
    const far = this.first + MOST_IDS;
    this.#reasonOfUnknown ??= this.reader
      .readAlone(far < MaxUint256 ? far : MaxUint256)
      .then(reasonOf);
    return reasonOf(order) === (await this.#reasonOfUnknown);
  }

  /** The ids at the end that fail otherwise than the last one: too large an order. */
  #takeLast(): readonly FailedOrder[] {
    const [first] = this.#failed;
    const end = this.#failed.at(-1);
    const { kind } = asRecord(first?.error.cause);
    if (end?.error.kind === "rpc") {
      // The node refuses them: no answer of the contract ends the list.
      this.error = end.error;
    } else if (!this.#isAnswered && kind !== "invalid-opcode") {
      // An empty array has an invalid opcode for each id.
      this.error = first?.error;
    }
    if (this.error !== undefined) {
      return [];
    }
    const last = reasonOf(end);
    return this.#failed
      .filter((order) => order !== undefined)
      .filter((order) => reasonOf(order) !== last);
  }
}

/** Why an id failed, without figures, which name the id. Empty if it did not. */
function reasonOf(order: Found): string {
  if (order === undefined || !isFailedOrder(order)) {
    return "";
  }
  const { code, cause, details, shortMessage } = order.error;
  const selector = String(asRecord(cause)["data"]).slice(0, 10);
  const words = String(details["reason"] ?? shortMessage);
  return `${code} ${selector} ${words.replaceAll(/0x[0-9a-f]+|\d+/giu, "#")}`;
}
