import { toQuantity } from "ethers";

import { VaultError } from "../../errors.js";
import type { VaultOrder } from "../../protocol/index.js";
import type { LocatedAddress } from "../addresses.js";
import { decodeAnswer } from "../answer.js";
import { Chain } from "../../rpc/node.js";
import { lessPatient } from "../../rpc/patient.js";
import { invalidResponse } from "../../rpc/request.js";
import { callLens, encodeReadOrders } from "../lens/lens.js";
import type { LensContext } from "../lens/lens.js";
import { entryAnswer, releaseAnswer } from "../lens/lens-answer.js";
import type { LensAnswer, LensEntry } from "../lens/lens-answer.js";
import type { VaultReader } from "../reader.js";
import type { ChunkSize } from "./chunk-size.js";
import type { IdRange, ListedOrder } from "./types.js";

/** What a scan reads with. */
export interface OrderReaderParts {
  readonly client: VaultReader;
  /** The trading contract. */
  readonly target: LocatedAddress;
  /** Undefined where every order has to be a call of its own. */
  readonly lens: LensContext | undefined;
  readonly pinned: {
    readonly from: string;
    readonly blockTag: number;
  };
  readonly chunkSize: ChunkSize;
  /** Once aborted, no further request is made. */
  readonly signal: AbortSignal;
}

/** What one request brought. */
export interface OrdersPiece {
  readonly count: number;
  /**
   * To be gone through once. Orders are decoded as they are asked for: what
   * waits for a slow consumer is bytes, a fraction of the objects in size.
   *
   * @throws VaultError VAULT_NO_CODE
   */
  readonly orders: Iterable<ListedOrder>;
}

/** Reads ranges of orders at one block, in pieces that the node can bear. */
export class OrderReader {
  readonly #parts: OrderReaderParts;

  constructor(parts: OrderReaderParts) {
    this.#parts = parts;
  }

  /**
   * Reads every order of a range.
   *
   * @returns Pieces whose orders, one after the other, are the range's.
   * @throws VaultError if the node does not answer, or the contract has no code
   */
  public async read({ first, last }: IdRange): Promise<readonly OrdersPiece[]> {
    const { lens, signal, chunkSize } = this.#parts;
    const pieces: OrdersPiece[] = [];
    let next = first;
    while (next <= last) {
      signal.throwIfAborted();
      const left = Number(last - next + 1n);
      const piece =
        lens === undefined
          ? { count: 1, orders: [await this.#readAlone(next)] }
          : await this.#readChunk(
              lens,
              next,
              Math.min(left, chunkSize.current),
            );
      if (piece !== undefined) {
        pieces.push(piece);
        next += BigInt(piece.count);
      }
    }
    return pieces;
  }

  /** Reads as many orders as can be read at once; undefined after a failure. */
  async #readChunk(
    lens: LensContext,
    firstId: bigint,
    count: number,
  ): Promise<OrdersPiece | undefined> {
    const { target, chunkSize } = this.#parts;
    let answer: LensAnswer;
    try {
      answer = await callLens(
        count === 1 ? lens : { ...lens, provider: lessPatient(lens.provider) },
        encodeReadOrders(target.address, firstId, count),
      );
      const { length } = answer.entries;
      if (length === 0 || length > count) {
        throw invalidResponse(
          lens.network,
          "eth_call",
          `${length} orders where at most ${count} were asked for`,
        );
      }
    } catch (error) {
      await this.#assertNodeAnswers(error);
      if (count === 1) {
        return { count: 1, orders: [await this.#readAlone(firstId)] };
      }
      chunkSize.failed(count);
      return undefined;
    }
    if (answer.entries.length < count) {
      chunkSize.limitedTo(answer.entries.length);
    } else {
      chunkSize.succeeded(count);
    }
    const readAlone = new Map<LensEntry, ListedOrder>();
    for (const [index, entry] of answer.entries.entries()) {
      if (entry.status === "unknown") {
        readAlone.set(entry, await this.#readAlone(firstId + BigInt(index)));
      }
    }
    return {
      count: answer.entries.length,
      orders: this.#decode(answer, firstId, readAlone),
    };
  }

  /** @param readAlone The orders of those entries that the lens gave up. */
  *#decode(
    answer: LensAnswer,
    firstId: bigint,
    readAlone: ReadonlyMap<LensEntry, ListedOrder>,
  ): Generator<ListedOrder, void, undefined> {
    let orderID = firstId;
    for (const entry of answer.entries) {
      yield readAlone.get(entry) ?? this.#decodeEntry(answer, entry, orderID);
      orderID += 1n;
    }
    releaseAnswer(answer);
  }

  #decodeEntry(
    answer: LensAnswer,
    entry: LensEntry,
    orderID: bigint,
  ): ListedOrder {
    const { client, target, pinned } = this.#parts;
    try {
      const order = decodeAnswer({
        call: { operation: "getOrderInfo", role: "trading" },
        target,
        network: client.networkName,
        blockTag: toQuantity(pinned.blockTag),
        answer: entryAnswer(answer, entry),
        hasCode: entry.hasCode,
      });
      // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the decoder follows the table entry that makes the type
      return { orderID, ...(order as VaultOrder) };
    } catch (error) {
      return { orderID, error: errorOfOrder(error) };
    }
  }

  /** Reads one order with a call of its own. */
  async #readAlone(orderID: bigint): Promise<ListedOrder> {
    const { client, pinned } = this.#parts;
    try {
      return {
        orderID,
        ...(await client.read("getOrderInfo", [orderID], pinned)),
      };
    } catch (error) {
      const ofOrder = errorOfOrder(error);
      if (ofOrder.kind === "rpc") {
        await this.#assertNodeAnswers(ofOrder);
      }
      return { orderID, error: ofOrder };
    }
  }

  /**
   * Is it too much to ask, or is the node gone? It is asked for something small
   * that needs the same block's state.
   *
   * @throws VaultError what failed, unless the node answers
   */
  async #assertNodeAnswers(error: unknown): Promise<void> {
    const { client, target, pinned, signal } = this.#parts;
    if (!VaultError.isVaultError(error) || error.kind !== "rpc") {
      throw error;
    }
    signal.throwIfAborted();
    await new Chain(client.provider, client.networkName).balance(
      target.address,
      pinned.blockTag,
    );
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
