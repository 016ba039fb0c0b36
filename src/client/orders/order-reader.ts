import { VaultError } from "../../errors.js";
import type { VaultOrder } from "../../protocol/index.js";
import { getBalance } from "../../rpc/accounts.js";
import type { PinnedBlock } from "../../rpc/block-id.js";
import type { CallResult } from "../../rpc/calls.js";
import { isReorganised } from "../../rpc/pinned-block.js";
import { fewRetries } from "../../rpc/retry.js";
import type { LocatedAddress } from "../addresses.js";
import { decodeOrThrow, encodeCall } from "../codec.js";
import {
  callLens,
  encodeReadCalls,
  encodeReadOrders,
  entryAnswer,
} from "../lens/lens.js";
import type { LensAnswer, LensEntry } from "../lens/lens.js";
import { requestAtBlock } from "../missing-state.js";
import type { VaultReader } from "../reader.js";
import type { ListedOrder } from "./types.js";

const call = { operation: "getOrderInfo", role: "trading" } as const;

/** Scattered ids share a call's gas equally, and some nodes allow little gas. */
const MAX_SCATTERED = 100;

/**
 * Reads orders at one block. A failed request halves `chunkSize`; a single order is a
 * plain call.
 */
export class OrderReader {
  constructor(
    private readonly client: VaultReader,
    private readonly target: LocatedAddress,
    private readonly block: PinnedBlock,
    private chunkSize: number,
    private readonly concurrency: number,
  ) {}

  /**
   * Reads orders in chunks, each to be iterated once. A chunk is decoded while it is
   * iterated, because its bytes take a fraction of the memory of its orders. Whenever an
   * answer comes, the next chunk is requested, up to `concurrency` at a time.
   *
   * @param onLast Called once the last chunk is requested.
   * @throws VaultError if the node does not answer; VAULT_REORGED; VAULT_NO_CODE, also
   * while a chunk is iterated
   */
  public async *read(
    ids: Iterable<bigint>,
    onLast?: () => void,
  ): AsyncGenerator<Iterable<ListedOrder>, void, undefined> {
    const chunks = this.#chunksOf(ids);
    const { concurrency } = this;
    const requested: Array<Promise<Iterable<ListedOrder>>> = [];
    let underWay = 0;
    let tellLast: typeof onLast;
    const requestMore = (): void => {
      // Answers that wait for the reader are bounded, too.
      while (underWay < concurrency && requested.length < 2 * concurrency - 1) {
        const { value: chunk } = chunks.next();
        if (chunk === undefined) {
          tellLast?.();
          tellLast = undefined;
          return;
        }
        underWay += 1;
        tellLast = onLast;
        const orders = this.#readChunk(chunk);
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

  /** Each chunk has the `chunkSize` of the moment when it is requested. */
  *#chunksOf(
    ids: Iterable<bigint>,
  ): Generator<readonly bigint[], void, undefined> {
    let chunk: bigint[] = [];
    let isRow = true;
    for (const id of ids) {
      const [first = id] = chunk;
      isRow &&= id === first + BigInt(chunk.length);
      if (
        chunk.length >= this.chunkSize ||
        (!isRow && chunk.length >= MAX_SCATTERED)
      ) {
        yield chunk;
        chunk = [];
        isRow = true;
      }
      chunk.push(id);
    }
    if (chunk.length > 0) {
      yield chunk;
    }
  }

  async #readChunk(ids: readonly bigint[]): Promise<Iterable<ListedOrder>> {
    const parts: Array<Iterable<ListedOrder>> = [];
    let done = 0;
    while (done < ids.length) {
      const batch = ids.slice(done, done + this.chunkSize);
      const [id = 0n] = batch;
      const answer =
        batch.length === 1 ? undefined : await this.#tryLens(batch);
      if (batch.length === 1) {
        parts.push([await this.#readAlone(id)]);
        done += 1;
      } else if (answer === undefined) {
        // Requests that were sent together and all fail halve it only once.
        this.chunkSize = Math.min(this.chunkSize, Math.floor(batch.length / 2));
      } else {
        const failed = await this.#readFailed(answer, batch);
        parts.push(this.#decodeAll(answer, batch, failed));
        done += answer.entries.length;
      }
    }
    return concat(parts);
  }

  /** @returns Undefined if the lens fails but the node answers. */
  async #tryLens(ids: readonly bigint[]): Promise<LensAnswer | undefined> {
    const context = this.client.readContext({ blockTag: this.block.number });
    const rpc = context.rpc.withRetries(fewRetries);
    try {
      const answer = await callLens({ ...context, rpc }, this.#encode(ids));
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

  /** Consecutive ids are sent as a range, and each takes the gas it needs. */
  #encode(ids: readonly bigint[]): string {
    const { address } = this.target;
    const [first = 0n] = ids;
    return ids.every((id, index) => id === first + BigInt(index))
      ? encodeReadOrders(address, first, ids.length)
      : encodeReadCalls(
          ids.map((id) => ({
            target: address,
            data: encodeCall(call.operation, [id]).data,
          })),
        );
  }

  async #readFailed(
    answer: LensAnswer,
    ids: readonly bigint[],
  ): Promise<ReadonlyMap<LensEntry, ListedOrder>> {
    const failed = new Map<LensEntry, ListedOrder>();
    for (const [index, entry] of answer.entries.entries()) {
      if (entry.status !== "returned") {
        const id = ids[index] ?? 0n;
        const given = entryAnswer(answer, entry);
        failed.set(
          entry,
          "reverted" in given
            ? this.#decode(
                { reverted: await this.client.explain(given.reverted) },
                entry,
                id,
              )
            : await this.#readAlone(id),
        );
      }
    }
    return failed;
  }

  *#decodeAll(
    answer: LensAnswer,
    ids: readonly bigint[],
    failed: ReadonlyMap<LensEntry, ListedOrder>,
  ): Generator<ListedOrder, void, undefined> {
    for (const [index, entry] of answer.entries.entries()) {
      yield (
        failed.get(entry) ??
        this.#decode(entryAnswer(answer, entry), entry, ids[index] ?? 0n)
      );
    }
  }

  #decode(
    answer: CallResult,
    { hasCode }: LensEntry,
    orderID: bigint,
  ): ListedOrder {
    try {
      const order = decodeOrThrow({
        call,
        target: this.target,
        network: this.client.networkName,
        block: this.block,
        answer,
        lacksCode: !hasCode,
      });
      // the decoder follows the table entry that makes the type
      return { orderID, ...(order as VaultOrder) };
    } catch (error) {
      return { orderID, error: errorOfOrder(error) };
    }
  }

  async #readAlone(orderID: bigint): Promise<ListedOrder> {
    const { number: blockTag } = this.block;
    try {
      const order = await this.client.read(call.operation, [orderID], {
        blockTag,
      });
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
