import { toQuantity } from "ethers";
import { pMapIterable } from "p-map";

import { VaultError } from "../../errors.js";
import type { VaultOrder } from "../../protocol/index.js";
import { orAbort } from "../../rpc/deadline.js";
import { fewRetries } from "../../rpc/retry.js";
import type { CallResult } from "../../rpc/rpc-client.js";
import type { LocatedAddress } from "../addresses.js";
import { decodeAnswer } from "../answer.js";
import { encodeCall } from "../codec.js";
import {
  callLens,
  encodeReadCalls,
  encodeReadOrders,
  entryAnswer,
  releaseAnswer,
} from "../lens/lens.js";
import type { LensAnswer, LensEntry } from "../lens/lens.js";
import type { VaultReader } from "../reader.js";
import type { ListedOrder } from "./types.js";

const call = { operation: "getOrderInfo", role: "trading" } as const;

/**
 * Ids that are not in a row share the gas of a call equally, and some nodes have
 * little of it.
 */
const MAX_SCATTERED = 100;

/**
 * Reads orders at one block, in requests that the node can bear: `chunkSize` is
 * halved when one fails, and an order alone is a plain call.
 */
export class OrderReader {
  constructor(
    private readonly client: VaultReader,
    private readonly target: LocatedAddress,
    private readonly pinned: {
      readonly from: string;
      readonly blockTag: number;
    },
    private chunkSize: number,
    private readonly concurrency: number,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * Reads the orders of these ids, in chunks, each to be gone through once: they are
   * decoded as they are asked for, so what waits for a slow consumer is bytes, a
   * fraction of the objects in size.
   *
   * @throws VaultError if the node does not answer; VAULT_NO_CODE, also while the
   * orders of a chunk are gone through
   */
  public read(ids: Iterable<bigint>): AsyncIterable<Iterable<ListedOrder>> {
    return pMapIterable(
      this.#chunksOf(ids),
      async (chunk) => await orAbort(this.#readChunk(chunk), this.signal),
      { concurrency: this.concurrency },
    );
  }

  /** Cuts ids into chunks, each as large as is right when it is asked for. */
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
      this.signal.throwIfAborted();
      const asked = ids.slice(done, done + this.chunkSize);
      const [id = 0n] = asked;
      const answer =
        asked.length === 1 ? undefined : await this.#askLens(asked);
      if (asked.length === 1) {
        parts.push([await this.#readAlone(id)]);
        done += 1;
      } else if (answer === undefined) {
        // Those that were under way together and fail as well say nothing new.
        this.chunkSize = Math.min(this.chunkSize, Math.floor(asked.length / 2));
      } else {
        const failed = await this.#readFailed(answer, asked);
        parts.push(this.#decodeAll(answer, asked, failed));
        done += answer.entries.length;
      }
    }
    return concat(parts);
  }

  /** @returns Undefined if the node answers, but not this. */
  async #askLens(ids: readonly bigint[]): Promise<LensAnswer | undefined> {
    const context = this.client.readContext(this.pinned);
    const rpc = context.rpc.withRetries(fewRetries);
    try {
      const answer = await callLens({ ...context, rpc }, this.#encode(ids));
      const { length } = answer.entries;
      if (length === 0 || length > ids.length) {
        throw rpc
          .parser("eth_call")
          .invalid(
            `${length} orders where at most ${ids.length} were asked for`,
          );
      }
      return answer;
    } catch (error) {
      await this.#assertNodeAnswers(error);
      return undefined;
    }
  }

  /** Ids in a row need not be sent, and share the gas by what they need. */
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

  /** Reads by themselves the orders that the lens could not tell. */
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
    releaseAnswer(answer);
  }

  #decode(
    answer: CallResult,
    { hasCode }: LensEntry,
    orderID: bigint,
  ): ListedOrder {
    try {
      const order = decodeAnswer({
        call,
        target: this.target,
        network: this.client.networkName,
        blockTag: toQuantity(this.pinned.blockTag),
        answer,
        hasCode,
      });
      // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the decoder follows the table entry that makes the type
      return { orderID, ...(order as VaultOrder) };
    } catch (error) {
      return { orderID, error: errorOfOrder(error) };
    }
  }

  async #readAlone(orderID: bigint): Promise<ListedOrder> {
    try {
      const order = await this.client.read(
        call.operation,
        [orderID],
        this.pinned,
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
   * Is it too much to ask, or is the node gone? It is asked for something small
   * that needs the same block's state.
   *
   * @throws VaultError what failed, unless the node answers
   */
  async #assertNodeAnswers(error: unknown): Promise<void> {
    if (!VaultError.isVaultError(error) || error.kind !== "rpc") {
      throw error;
    }
    this.signal.throwIfAborted();
    await this.client.rpc.balance(this.target.address, this.pinned.blockTag);
  }
}

/** The error if it is that of one order; one of the whole scan is thrown. */
function errorOfOrder(error: unknown): VaultError {
  if (
    !VaultError.isVaultError(error) ||
    error.code === "VAULT_NO_CODE" ||
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
