import pLimit from "p-limit";

import { VaultError } from "../../errors.js";
import { operationEntry } from "../../protocol/index.js";
import { getBalance } from "../../rpc/accounts.js";
import type { PinnedBlock } from "../../rpc/block-id.js";
import type { CallResult } from "../../rpc/calls.js";
import { isReorganised } from "../../rpc/pinned-block.js";
import { fewRetries } from "../../rpc/retry.js";
import type { LocatedAddress } from "../addresses.js";
import { answerError, decodeOutputs } from "../codec.js";
import {
  callLens,
  encodeReadOrders,
  entryAnswer,
  isRun,
} from "../lens/lens.js";
import type { LensAnswer, LensEntry } from "../lens/lens.js";
import { requestAtBlock } from "../missing-state.js";
import type { VaultReader } from "../reader.js";
import { viewOf } from "../words.js";
import { isFailedOrder } from "./types.js";
import type { FailedOrder, ListedOrder, Order } from "./types.js";

const call = { operation: "getOrderInfo", role: "trading" } as const;

/** To set the fields of a copy leaves less garbage than to add them one by one. */
const NO_VALUES: Readonly<Record<string, unknown>> = Object.fromEntries(
  [
    "orderID",
    ...operationEntry(call.operation).outputs.map(({ name }) => name),
  ].map((name) => [name, undefined]),
);

/** Requests at the same time, if each is for one order. */
export const ALONE = 16;

/** An id that used up its share of a request's gas: unknown, or a large order. */
export interface UsedUpOrder {
  readonly orderID: bigint;
  readonly isUsedUp: true;
}

export type FoundOrder = ListedOrder | UsedUpOrder;

export function isUsedUp(order: FoundOrder): order is UsedUpOrder {
  return "isUsedUp" in order;
}

/**
 * What happens to ids that used up their share: `none` asks for none of them, `each` for
 * each of them by itself, and `end`, if those behind the last answer of a request are a
 * long run of ids, only for the first and the last one: if both revert alike, so do the others.
 */
export type Asking = "none" | "each" | "end";

export interface ReaderLimits {
  readonly chunkSize: number;
  readonly concurrency: number;
  /** True if more requests may be made at the same time for smaller chunks. */
  readonly isFlexible: boolean;
}

/**
 * Reads orders at one block. A failed request halves the size of chunks; a single order is
 * a plain call.
 */
export class OrderReader {
  /** As large as the node has answered so far. */
  #largestChunk: number;
  /** As large as the gas of a request may allow. */
  #chunkSize: number;
  /** As many orders as the gas of a request allowed last. */
  #allowed = Infinity;
  readonly #alone: ReturnType<typeof pLimit>;

  constructor(
    private readonly client: VaultReader,
    private readonly target: LocatedAddress,
    private readonly block: PinnedBlock,
    private readonly limits: ReaderLimits,
  ) {
    const { chunkSize, concurrency, isFlexible } = limits;
    this.#largestChunk = chunkSize;
    this.#chunkSize = chunkSize;
    this.#alone = pLimit(isFlexible ? ALONE : concurrency);
  }

  /** As many orders are under way as with chunks of full size. */
  get #concurrency(): number {
    const { concurrency, isFlexible } = this.limits;
    const size = Math.min(this.#chunkSize, this.#allowed);
    const smaller = this.#largestChunk / size;
    return isFlexible && smaller > 1
      ? Math.min(ALONE, Math.ceil(concurrency * smaller))
      : concurrency;
  }

  /**
   * Reads orders in chunks, each to be iterated once. A chunk is decoded while it is
   * iterated, because its bytes take a fraction of the memory of its orders. Whenever an
   * answer comes, the next chunk is requested, up to `concurrency` at a time.
   *
   * @param asking With `none`, ids may be {@link UsedUpOrder}s.
   * @param onLast Called once the last chunk is requested.
   * @throws VaultError if the node does not answer; VAULT_REORGED; VAULT_NO_CODE, also
   * while a chunk is iterated
   */
  public read(
    ids: Iterable<bigint>,
    asking: "none",
    onLast?: () => void,
  ): AsyncGenerator<Iterable<FoundOrder>, void, undefined>;
  public read(
    ids: Iterable<bigint>,
    asking: "each" | "end",
    onLast?: () => void,
  ): AsyncGenerator<Iterable<ListedOrder>, void, undefined>;
  public async *read(
    ids: Iterable<bigint>,
    asking: Asking,
    onLast?: () => void,
  ): AsyncGenerator<Iterable<FoundOrder>, void, undefined> {
    const chunks = this.#chunksOf(ids);
    const requested: Array<Promise<Iterable<FoundOrder>>> = [];
    let underWay = 0;
    let tellLast: typeof onLast;
    const requestMore = (): void => {
      // Answers that wait for the reader count, too: V8 keeps what survives a collection.
      while (
        underWay < this.#concurrency &&
        requested.length < this.#concurrency
      ) {
        const { value: chunk } = chunks.next();
        if (chunk === undefined) {
          tellLast?.();
          tellLast = undefined;
          return;
        }
        underWay += 1;
        tellLast = onLast;
        const orders = this.#readChunk(chunk, asking).then(concat);
        const whenAnswered = (): void => {
          underWay -= 1;
          requestMore();
        };
        // A failure is thrown in its turn, or never if the reader has left.
        orders.then(whenAnswered, () => undefined);
        requested.push(orders);
      }
    };
    requestMore();
    let next = requested.shift();
    while (next !== undefined) {
      const orders = await next;
      requestMore();
      yield orders;
      next = requested.shift();
    }
  }

  /** Each chunk has the size of the moment when it is requested. */
  *#chunksOf(
    ids: Iterable<bigint>,
  ): Generator<readonly bigint[], void, undefined> {
    let chunk: bigint[] = [];
    for (const id of ids) {
      if (chunk.length >= this.#chunkSize) {
        yield chunk;
        chunk = [];
      }
      chunk.push(id);
    }
    if (chunk.length > 0) {
      yield chunk;
    }
  }

  async #readChunk(
    ids: readonly bigint[],
    asking: Asking,
  ): Promise<ReadonlyArray<Iterable<FoundOrder>>> {
    const [id = 0n] = ids;
    if (ids.length === 1) {
      return [[await this.readAlone(id)]];
    }
    const answer = await this.#tryLens(ids);
    if (answer === undefined) {
      const half = Math.floor(ids.length / 2);
      // Requests that were sent together and all fail halve it only once.
      this.#largestChunk = Math.min(this.#largestChunk, half);
      this.#chunkSize = Math.min(this.#chunkSize, half);
      return [
        ...(await this.#readChunk(ids.slice(0, half), asking)),
        ...(await this.#readChunk(ids.slice(half), asking)),
      ];
    }
    const { length } = answer.entries;
    this.#adaptChunkSize(length, ids.length);
    const [found, rest] = await Promise.all([
      this.#readFailed(answer, ids, asking),
      this.#readRest(ids.slice(length), asking),
    ]);
    return [this.#decodeAll(answer, ids, found), ...rest];
  }

  /** A request asks for as many orders as the gas of the ones before allowed. */
  #adaptChunkSize(answered: number, asked: number): void {
    if (answered < asked || answered > this.#allowed) {
      this.#allowed = answered;
    }
    if (answered < asked) {
      this.#chunkSize = Math.min(this.#chunkSize, answered);
    } else if (asked >= this.#chunkSize) {
      this.#chunkSize = Math.min(this.#largestChunk, 2 * this.#chunkSize);
    }
  }

  /** Reads what the gas of a request did not allow. */
  async #readRest(
    ids: readonly bigint[],
    asking: Asking,
  ): Promise<ReadonlyArray<Iterable<FoundOrder>>> {
    const parts: Array<Promise<ReadonlyArray<Iterable<FoundOrder>>>> = [];
    for (const chunk of this.#chunksOf(ids)) {
      const part = this.#readChunk(chunk, asking);
      parts.push(part);
      if (!this.limits.isFlexible) {
        await part;
      }
    }
    return (await Promise.all(parts)).flat();
  }

  /** @returns Undefined if the lens fails but the node answers. */
  async #tryLens(ids: readonly bigint[]): Promise<LensAnswer | undefined> {
    const context = this.client.readContext({ blockTag: this.block.number });
    const rpc = context.rpc.withRetries(fewRetries);
    try {
      const answer = await callLens(
        { ...context, rpc },
        encodeReadOrders(this.target.address, ids),
      );
      const { length } = answer.entries;
      if (length === 0 || length > ids.length) {
        throw rpc
          .parser("eth_call")
          .invalid(`${length} orders for ${ids.length} ids`);
      }
      return answer;
    } catch (error) {
      await this.#assertNodeAnswers(error);
      return undefined;
    }
  }

  /** @returns The orders that are not decoded from the answer, by their entries. */
  async #readFailed(
    answer: LensAnswer,
    ids: readonly bigint[],
    asking: Asking,
  ): Promise<ReadonlyMap<LensEntry, FoundOrder>> {
    const { entries } = answer;
    const end = entries.findLastIndex(({ status }) => status !== "usedUp") + 1;
    const tail = ids.slice(end, entries.length);
    const settled =
      asking === "end" && tail.length > ALONE && isRun(tail)
        ? await this.#readEnds(tail)
        : undefined;
    const failed = new Map<LensEntry, FoundOrder>();
    const read = async (entry: LensEntry, index: number): Promise<void> => {
      const orderID = ids[index] ?? 0n;
      if (entry.status === "reverted") {
        failed.set(entry, await this.#explain(answer, entry, orderID));
      } else if (entry.status === "usedUp" && asking === "none") {
        failed.set(entry, { orderID, isUsedUp: true });
      } else {
        const error = index < end ? undefined : settled;
        failed.set(
          entry,
          error === undefined
            ? await this.readAlone(orderID)
            : { orderID, error },
        );
      }
    };
    const reads: Array<Promise<void>> = [];
    entries.forEach((entry, index) => {
      // Most are: a promise for each order would be more than its bytes.
      if (entry.status !== "returned") {
        reads.push(read(entry, index));
      }
    });
    await Promise.all(reads);
    return failed;
  }

  /** @returns The revert of the first of these ids, if the last one reverts alike. */
  async #readEnds(ids: readonly bigint[]): Promise<VaultError | undefined> {
    const [first, last] = await Promise.all(
      [ids.at(0), ids.at(-1)].map(async (id = 0n) => {
        const order = await this.readAlone(id);
        return isFailedOrder(order) &&
          order.error.code === "VAULT_CALL_REVERTED"
          ? order.error
          : undefined;
      }),
    );
    return first?.details["reason"] === last?.details["reason"]
      ? first
      : undefined;
  }

  async #explain(
    answer: LensAnswer,
    entry: LensEntry,
    orderID: bigint,
  ): Promise<FailedOrder> {
    const given = entryAnswer(answer, entry);
    const explained =
      "reverted" in given
        ? { reverted: await this.client.explain(given.reverted) }
        : given;
    return this.#toFailed(explained, entry, orderID);
  }

  *#decodeAll(
    answer: LensAnswer,
    ids: readonly bigint[],
    failed: ReadonlyMap<LensEntry, FoundOrder>,
  ): Generator<FoundOrder, void, undefined> {
    const view = viewOf(answer.bytes);
    let index = 0;
    for (const entry of answer.entries) {
      const orderID = ids[index] ?? 0n;
      yield failed.get(entry) ?? this.#decode(answer, view, entry, orderID);
      index += 1;
    }
  }

  /**
   * Decodes an order in the answer's own bytes: a buffer and a view for each order take 5 % of
   * a scan.
   */
  #decode(
    answer: LensAnswer,
    view: DataView,
    entry: LensEntry,
    orderID: bigint,
  ): ListedOrder {
    const { start, end } = entry;
    const decoded = decodeOutputs(
      call.operation,
      answer.bytes,
      { view, start, end },
      { ...NO_VALUES, orderID },
    );
    return "value" in decoded
      ? // the decoder follows the table entry that makes the type
        (decoded.value as Order)
      : this.#toFailed(
          entryAnswer(answer, entry),
          entry,
          orderID,
          decoded.problem,
        );
  }

  /** @param problem Why the order cannot be decoded, unless it reverted. */
  #toFailed(
    answer: CallResult,
    { hasCode }: LensEntry,
    orderID: bigint,
    problem?: string,
  ): FailedOrder {
    const answered = {
      call,
      target: this.target,
      network: this.client.networkName,
      block: this.block,
      answer,
      lacksCode: !hasCode,
    };
    return { orderID, error: errorOfOrder(answerError(answered, problem)) };
  }

  /** Reads an order by a plain call, with all gas that the node allows. */
  public async readAlone(orderID: bigint): Promise<ListedOrder> {
    const { number: blockTag } = this.block;
    try {
      const order = await this.#alone(
        async () =>
          await this.client.read(call.operation, [orderID], { blockTag }),
      );
      return { orderID, ...order };
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
    const { rpc } = this.client;
    const { address } = this.target;
    await requestAtBlock(
      rpc,
      this.block,
      async (block) => await getBalance(rpc, address, block),
    );
  }
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

function* concat<Item>(
  parts: Iterable<Iterable<Item>>,
): Generator<Item, void, undefined> {
  for (const part of parts) {
    yield* part;
  }
}
