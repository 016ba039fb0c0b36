import { VaultError, vaultError } from "../../errors.js";
import type { LocatedAddress } from "../addresses.js";
import { decodeAnswer } from "../answer.js";
import { parseBlockTag } from "../inputs.js";
import { invalidResponse, requestRpc } from "../rpc.js";
import { callLens, encodeReadOrders } from "../lens/lens.js";
import type { LensContext } from "../lens/lens.js";
import { entryAnswer } from "../lens/lens-answer.js";
import type { LensAnswer, LensEntry } from "../lens/lens-answer.js";
import { viewOf } from "../lens/words.js";
import type { VaultClient } from "../vault-client.js";
import type { ChunkSize } from "./chunk-size.js";
import { decodeOrder } from "./decode-order.js";
import type { IdRange, ListedOrder } from "./read-orders.js";

/** What a scan reads with. */
export interface OrderReaderParts {
  readonly client: VaultClient;
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

/** Reads ranges of orders at one block, in pieces that the node can bear. */
export class OrderReader {
  readonly #parts: OrderReaderParts;

  constructor(parts: OrderReaderParts) {
    this.#parts = parts;
  }

  /**
   * Reads every order of a range.
   *
   * @throws VaultError if the node does not answer, or the contract has no code
   */
  public async read({ first, last }: IdRange): Promise<ListedOrder[]> {
    const { lens, signal, chunkSize } = this.#parts;
    const orders: ListedOrder[] = [];
    let next = first;
    while (next <= last) {
      signal.throwIfAborted();
      const left = Number(last - next + 1n);
      const found =
        lens === undefined
          ? [await this.#readAlone(next)]
          : await this.#readChunk(
              lens,
              next,
              Math.min(left, chunkSize.current),
            );
      for (const order of found) {
        orders.push(order);
      }
      next += BigInt(found.length);
    }
    return orders;
  }

  /** @returns As many orders as could be read at once; none after a failure. */
  async #readChunk(
    lens: LensContext,
    firstId: bigint,
    count: number,
  ): Promise<readonly ListedOrder[]> {
    const { target, chunkSize } = this.#parts;
    let answer: LensAnswer;
    try {
      answer = await callLens(
        lens,
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
        return [await this.#readAlone(firstId)];
      }
      chunkSize.failed(count);
      return [];
    }
    if (answer.entries.length < count) {
      chunkSize.limitedTo(answer.entries.length);
    } else {
      chunkSize.succeeded(count);
    }
    return await this.#decode(answer, firstId);
  }

  async #decode(answer: LensAnswer, firstId: bigint): Promise<ListedOrder[]> {
    const { bytes, entries } = answer;
    const view = viewOf(bytes);
    const orders: ListedOrder[] = [];
    let orderID = firstId;
    for (const entry of entries) {
      const order =
        entry.status === "returned"
          ? decodeOrder(bytes, view, entry.start, entry.end)
          : undefined;
      orders.push(
        order === undefined
          ? await this.#explain(answer, entry, orderID)
          : { orderID, ...order },
      );
      orderID += 1n;
    }
    return orders;
  }

  /** What an entry is that is no order as documented. */
  async #explain(
    answer: LensAnswer,
    entry: LensEntry,
    orderID: bigint,
  ): Promise<ListedOrder> {
    if (entry.status === "unknown") {
      return await this.#readAlone(orderID);
    }
    const { client, target, pinned } = this.#parts;
    try {
      decodeAnswer({
        call: { operation: "getOrderInfo", role: "trading" },
        target,
        network: client.networkName,
        blockTag: parseBlockTag(pinned.blockTag),
        answer: entryAnswer(answer, entry),
        hasCode: entry.hasCode,
      });
    } catch (error) {
      return { orderID, error: errorOfOrder(error) };
    }
    throw vaultError("VAULT_INTERNAL", {
      problem: `the two decoders disagree about order ${orderID}`,
    });
  }

  /** Reads one order with a call of its own. */
  async #readAlone(orderID: bigint): Promise<ListedOrder> {
    const { client, pinned } = this.#parts;
    try {
      return { orderID, ...(await client.getOrderInfo(orderID, pinned)) };
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
    await requestRpc(client.provider, client.networkName, "eth_getBalance", [
      target.address,
      parseBlockTag(pinned.blockTag),
    ]);
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
