import type { Buffer } from "node:buffer";

import pLimit from "p-limit";

import { VaultError } from "../../errors.js";
import { getBalance } from "../../rpc/accounts.js";
import { isReorganised } from "../../rpc/pinned-block.js";
import { fewRetries } from "../../rpc/retry.js";
import { invalidOpcode } from "../../rpc/revert-reason.js";
import type { LocatedAddress } from "../addresses.js";
import type { VaultOrder } from "../../protocol/index.js";
import {
  ADDRESS_SIZE,
  addressAt,
  answerError,
  decodeOutputs,
  encodeCall,
} from "../codec.js";
import { explainAnswer } from "../error-abis.js";
import {
  PACKED_SIZE,
  callLens,
  canRunLens,
  encodeReadOrders,
  entryAnswer,
  gasUsedBy,
  isRun,
} from "../lens/lens.js";
import type { LensAnswer, LensEntry } from "../lens/lens.js";
import { requestAtBlock } from "../missing-state.js";
import { readCall } from "../reader.js";
import type { Context } from "../reader.js";
import { viewOf } from "../words.js";
import { FAILED_IDS_AT_END, isFailedOrder } from "./types.js";
import type { FailedOrder, ListedOrder, Order } from "./types.js";

const getOrderInfo = { operation: "getOrderInfo", role: "trading" } as const;

/** Requests at the same time, if each is for one order. */
export const ALONE = 16;

/**
 * An id that used up so much is behind the end of an array: to store an order takes eight
 * times the gas of reading it, and a transaction has 16.7 million at most (EIP-7825).
 */
const SURELY_ENOUGH_GAS = 2_500_000;

/** Undefined: an id of an open range that is surely unknown. */
export type Found = Order | Failed;
export type Failed = FailedOrder | undefined;

/** Decoded when it is handed out: its bytes take a fraction of the memory. */
type Packed = () => Order;

export interface Chunk {
  /** To be iterated once. In an open range fewer than ids, if the list ends in the chunk. */
  readonly orders: Iterable<Found>;
  readonly count: number;
  /** The fewest that the gas of a request allowed; undefined if it sufficed. */
  readonly allowed: number | undefined;
  /** Half of what the node refused; undefined if it refused nothing. */
  readonly most: number | undefined;
}

export function isFailed(order: Found): order is Failed {
  return order === undefined || isFailedOrder(order);
}

/** Reads orders at one block. */
export class OrderReader {
  readonly #alone: ReturnType<typeof pLimit>;

  /** @param isOpen True if the list ends at a run of failed ids. */
  constructor(
    private readonly context: Context,
    private readonly target: LocatedAddress,
    private readonly isOpen: boolean,
    concurrency = ALONE,
  ) {
    this.#alone = pLimit(concurrency);
  }

  /**
   * Reads orders in one request; in several if its gas does not suffice for all, and in
   * halves if the node refuses it.
   *
   * @throws VaultError if the node does not answer; VAULT_REORGED; VAULT_NO_CODE
   */
  public async read(ids: readonly bigint[]): Promise<Chunk> {
    const orders: Array<Found | Packed> = [];
    let size = ids.length;
    let allowed: number | undefined;
    let most: number | undefined;
    while (orders.length < ids.length && !this.#isOver(orders)) {
      const asked = ids.slice(orders.length, orders.length + size);
      const found = await this.#readSome(asked);
      if (found === undefined) {
        most = Math.floor(asked.length / 2);
        size = most;
        continue;
      }
      orders.push(...found);
      if (found.length < asked.length) {
        allowed = Math.min(found.length, allowed ?? Infinity);
        size = found.length;
      } else {
        size = Math.min(most ?? ids.length, 2 * size);
      }
    }
    return { orders: unpackAll(orders), count: orders.length, allowed, most };
  }

  #isOver(orders: ReadonlyArray<Found | Packed>): boolean {
    return (
      this.isOpen &&
      orders.length >= FAILED_IDS_AT_END &&
      orders
        .slice(-FAILED_IDS_AT_END)
        .every((order) => typeof order !== "function" && isFailed(order))
    );
  }

  /** @returns The first ones, at least one; undefined if the node refuses so many. */
  async #readSome(
    ids: readonly bigint[],
  ): Promise<ReadonlyArray<Found | Packed> | undefined> {
    const { context, target } = this;
    const { rpc, from } = context;
    // At the caller's address, the lens would replace the trading contract.
    const isPlain = rpc.node.runsLens === false || from === target.address;
    if (isPlain || ids.length === 1) {
      const first = ids.slice(0, ALONE);
      return await Promise.all(
        first.map(async (id) => await this.readAlone(id)),
      );
    }
    let answer: LensAnswer;
    try {
      const data = encodeReadOrders(target.address, ids);
      const patient = rpc.withRetries(fewRetries);
      answer = await callLens({ ...context, rpc: patient }, data);
      const { length } = answer.entries;
      if (length === 0 || length > ids.length) {
        throw rpc
          .parser("eth_call")
          .invalid(`${length} orders for ${ids.length} ids`);
      }
    } catch (error) {
      await this.#assertNodeAnswers(error);
      await canRunLens(rpc, from);
      return undefined;
    }
    return await this.#ordersIn(answer, ids);
  }

  async #ordersIn(
    answer: LensAnswer,
    ids: readonly bigint[],
  ): Promise<ReadonlyArray<Found | Packed>> {
    const { entries, bytes } = answer;
    const end = entries.findLastIndex(({ status }) => status !== "usedUp") + 1;
    const behind = await this.#behind(answer, ids, end);
    // Of an open range, so many by themselves show if it ends.
    const isShort = this.isOpen && behind === undefined;
    const taken = isShort ? end + FAILED_IDS_AT_END : entries.length;
    const view = viewOf(bytes);
    const orders: Array<Found | Packed> = [];
    const others: Array<Promise<void>> = [];
    for (const [index, entry] of entries.slice(0, taken).entries()) {
      const orderID = ids[index] ?? 0n;
      if (entry.status === "packed") {
        orders.push(() => unpack(bytes, view, entry, orderID));
      } else if (index >= end && behind !== undefined) {
        const { error } = behind;
        orders.push(error === undefined ? undefined : { orderID, error });
      } else {
        orders.push(undefined);
        const read = this.#readOther(answer, entry, orderID);
        others.push(
          read.then((order) => {
            orders[index] = order;
          }),
        );
      }
    }
    await Promise.all(others);
    return orders;
  }

  /**
   * Settles a long run of ids at the end of an answer that used up their share of its
   * gas, so that none has to be asked for alone.
   *
   * @returns Their error; without one, they are surely unknown. Undefined if each has to
   * be asked for.
   */
  async #behind(
    answer: LensAnswer,
    ids: readonly bigint[],
    end: number,
  ): Promise<{ readonly error?: VaultError } | undefined> {
    const tail = ids.slice(end, answer.entries.length);
    const entry = answer.entries[end];
    if (
      entry === undefined ||
      tail.length < FAILED_IDS_AT_END ||
      !isRun(tail)
    ) {
      return undefined;
    }
    if (this.isOpen && gasUsedBy(answer, entry) >= SURELY_ENOUGH_GAS) {
      return {};
    }
    const [first, last] = await Promise.all(
      [tail.at(0), tail.at(-1)].map(async (id = 0n) => {
        const order = await this.#readUsedUp(id);
        return isFailedOrder(order) &&
          order.error.code === "VAULT_CALL_REVERTED"
          ? order.error
          : undefined;
      }),
    );
    return first !== undefined &&
      first.details["reason"] === last?.details["reason"]
      ? { error: first }
      : undefined;
  }

  async #readOther(
    answer: LensAnswer,
    entry: LensEntry,
    orderID: bigint,
  ): Promise<ListedOrder> {
    if (entry.status === "tooLong") {
      return await this.readAlone(orderID);
    }
    if (entry.status === "usedUp") {
      return await this.#readUsedUp(orderID);
    }
    const { block, errorAbisOf, rpc } = this.context;
    const given = entryAnswer(answer, entry);
    const decoded =
      "data" in given
        ? decodeOutputs(getOrderInfo.operation, given.data)
        : undefined;
    if (decoded !== undefined && "value" in decoded) {
      return toOrder(orderID, decoded.value);
    }
    const answered = {
      call: getOrderInfo,
      target: this.target,
      network: rpc.network,
      block,
      answer: await explainAnswer(given, errorAbisOf, rpc.hide),
      lacksCode: !entry.hasCode,
    };
    const error = answerError(answered, decoded?.problem);
    return { orderID, error: errorOfOrder(error) };
  }

  /** Reads an order that used up its gas, with more of it. */
  async #readUsedUp(orderID: bigint): Promise<ListedOrder> {
    const order = await this.readAlone(orderID);
    const isEmptyResult =
      isFailedOrder(order) &&
      order.error.code === "VAULT_RETURN_DATA_MALFORMED" &&
      // As decodeOutputs() describes it.
      String(order.error.details["problem"]).startsWith("0 bytes ");
    const reverted = invalidOpcode("invalid opcode");
    if (!isEmptyResult || reverted === undefined) {
      return order;
    }
    // The network returns a failed call as a result without data.
    const { block, rpc } = this.context;
    const error = answerError({
      call: getOrderInfo,
      target: this.target,
      network: rpc.network,
      block,
      answer: { reverted },
      lacksCode: false,
    });
    return { orderID, error };
  }

  /** Reads an order by a plain call, with all gas that the node allows. */
  public async readAlone(orderID: bigint): Promise<ListedOrder> {
    const { context, target } = this;
    const call = encodeCall(getOrderInfo.operation, [orderID]);
    try {
      const order = await this.#alone(
        async () => await readCall(context, call, target),
      );
      return toOrder(orderID, order);
    } catch (thrown) {
      const error = errorOfOrder(thrown);
      if (error.kind === "rpc") {
        await this.#assertNodeAnswers(error);
      }
      return { orderID, error };
    }
  }

  /**
   * Separates a request that is too large from a node that is gone, by a small request
   * for state of the same block.
   *
   * @throws VaultError if the node does not answer
   */
  async #assertNodeAnswers(error: unknown): Promise<void> {
    if (
      !VaultError.isVaultError(error) ||
      error.kind !== "rpc" ||
      error.code === "VAULT_ARCHIVE_NODE_NEEDED" ||
      isReorganised(error)
    ) {
      throw error;
    }
    const { rpc, block: pin } = this.context;
    const { address } = this.target;
    await requestAtBlock(
      rpc,
      pin,
      async (block) => await getBalance(rpc, address, block),
    );
  }
}

function toOrder(orderID: bigint, values: unknown): Order {
  // the decoder follows the table entry that makes the type
  return { orderID, ...(values as VaultOrder) };
}

function* unpackAll(
  orders: Iterable<Found | Packed>,
): Generator<Found, void, undefined> {
  for (const order of orders) {
    yield typeof order === "function" ? order() : order;
  }
}

/** Reads an order as `PACKED` in contracts/lens/VaultLens.sol tells. */
function unpack(
  bytes: Buffer,
  view: DataView,
  { start, end }: LensEntry,
  orderID: bigint,
): Order {
  const holder = end - PACKED_SIZE;
  let next = holder + ADDRESS_SIZE;
  const amount = (): bigint => {
    const high = view.getUint32(next);
    const low = view.getBigUint64(next + 4);
    next += 12;
    return high === 0 ? low : (BigInt(high) << 64n) | low;
  };
  return {
    orderID,
    exType: bytes.toString("utf8", start, holder),
    holder: addressAt(bytes, holder),
    number: amount(),
    exFee: amount(),
    lockFee: amount(),
    newLockFee: amount(),
    openPrice: amount(),
    marginAmount: amount(),
    marginFee: amount(),
    startTime: amount(),
    closePrice: amount(),
    contractType: view.getUint8(end - 2),
    state: view.getUint8(end - 1),
  };
}

/** Returns the error of a single order; throws an error of the whole scan. */
function errorOfOrder(error: unknown): VaultError {
  if (
    !VaultError.isVaultError(error) ||
    error.code === "VAULT_NO_CODE" ||
    isReorganised(error) ||
    (error.kind !== "chain" && error.kind !== "rpc")
  ) {
    throw error;
  }
  return error;
}
