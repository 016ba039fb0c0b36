import type { Buffer } from "node:buffer";

import { toQuantity } from "ethers";

import { VaultError } from "../../errors.js";
import type { VaultOrder } from "../../protocol/index.js";
import type { LocatedAddress } from "../addresses.js";
import { decodeAnswer } from "../answer.js";
import { encodeCall } from "../codec.js";
import { lessPatient } from "../../rpc/patient.js";
import { invalidResponse } from "../../rpc/errors.js";
import { RevertedCall } from "../../rpc/request.js";
import { callLens, encodeReadCalls, encodeReadOrders } from "../lens/lens.js";
import { entryAnswer, releaseAnswer } from "../lens/lens-answer.js";
import type { LensAnswer, LensEntry } from "../lens/lens-answer.js";
import type { VaultReader } from "../reader.js";
import type { ChunkSize } from "./chunk-size.js";
import type { ListedOrder } from "./types.js";

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

/** Reads orders at one block, in pieces that the node can bear. */
export class OrderReader {
  /**
   * @param target The trading contract.
   * @param usesLens Whether an order need not be a call of its own.
   * @param signal Once aborted, no further request is made.
   */
  constructor(
    private readonly client: VaultReader,
    private readonly target: LocatedAddress,
    private readonly usesLens: boolean,
    private readonly pinned: {
      readonly from: string;
      readonly blockTag: number;
    },
    private readonly chunkSize: ChunkSize,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * Reads the orders of these ids.
   *
   * @returns Pieces whose orders, one after the other, are those of the ids.
   * @throws VaultError if the node does not answer, or the contract has no code
   */
  public async read(ids: readonly bigint[]): Promise<readonly OrdersPiece[]> {
    const pieces: OrdersPiece[] = [];
    let at = 0;
    while (at < ids.length) {
      this.signal.throwIfAborted();
      const chunk = ids.slice(at, at + this.chunkSize.current);
      const piece = this.usesLens
        ? await this.#readChunk(chunk)
        : await this.#readFirst(chunk);
      if (piece !== undefined) {
        pieces.push(piece);
        at += piece.count;
      }
    }
    return pieces;
  }

  /** Reads as many orders as can be read at once; undefined after a failure. */
  async #readChunk(ids: readonly bigint[]): Promise<OrdersPiece | undefined> {
    const context = this.client.readContext(this.pinned);
    const count = ids.length;
    let answer: LensAnswer;
    try {
      answer = await callLens(
        count === 1
          ? context
          : { ...context, provider: lessPatient(context.provider) },
        this.#encode(ids),
      );
      const { length } = answer.entries;
      if (length === 0 || length > count) {
        throw invalidResponse(
          context.network,
          "eth_call",
          `${length} orders where at most ${count} were asked for`,
        );
      }
    } catch (error) {
      await this.#assertNodeAnswers(error);
      if (count === 1) {
        return await this.#readFirst(ids);
      }
      this.chunkSize.failed(count);
      return undefined;
    }
    if (answer.entries.length < count) {
      this.chunkSize.limitedTo(answer.entries.length);
    } else {
      this.chunkSize.succeeded(count);
    }
    const known = new Map<LensEntry, ListedOrder>();
    const idsRead = ids.values();
    for (const entry of answer.entries) {
      const { value: id = 0n } = idsRead.next();
      if (entry.status === "unknown") {
        known.set(entry, await this.#readAlone(id));
      } else if (entry.status === "reverted") {
        const reverted = entryAnswer(answer, entry);
        known.set(
          entry,
          this.#decode(
            reverted instanceof RevertedCall
              ? new RevertedCall(await this.client.explain(reverted.reason))
              : reverted,
            entry,
            id,
          ),
        );
      }
    }
    return {
      count: answer.entries.length,
      orders: this.#decodeAll(answer, ids, known),
    };
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
            data: encodeCall("getOrderInfo", [id]).data,
          })),
        );
  }

  /** @param known Of those entries that could not be decoded as they are. */
  *#decodeAll(
    answer: LensAnswer,
    ids: readonly bigint[],
    known: ReadonlyMap<LensEntry, ListedOrder>,
  ): Generator<ListedOrder, void, undefined> {
    // The gas may have ended before all ids were read.
    const idsRead = ids.values();
    for (const entry of answer.entries) {
      const { value: id = 0n } = idsRead.next();
      yield (
        known.get(entry) ?? this.#decode(entryAnswer(answer, entry), entry, id)
      );
    }
    releaseAnswer(answer);
  }

  #decode(
    answer: Buffer | RevertedCall,
    { hasCode }: LensEntry,
    orderID: bigint,
  ): ListedOrder {
    try {
      const order = decodeAnswer({
        call: { operation: "getOrderInfo", role: "trading" },
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

  async #readFirst([id = 0n]: readonly bigint[]): Promise<OrdersPiece> {
    return { count: 1, orders: [await this.#readAlone(id)] };
  }

  /** Reads one order with a call of its own. */
  async #readAlone(orderID: bigint): Promise<ListedOrder> {
    try {
      return {
        orderID,
        ...(await this.client.read("getOrderInfo", [orderID], this.pinned)),
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
    if (!VaultError.isVaultError(error) || error.kind !== "rpc") {
      throw error;
    }
    this.signal.throwIfAborted();
    await this.client.chain.balance(this.target.address, this.pinned.blockTag);
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
