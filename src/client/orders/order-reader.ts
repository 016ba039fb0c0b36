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

/** What a scan reads with. */
export interface OrderReaderParts {
  readonly client: VaultReader;
  /** The trading contract. */
  readonly target: LocatedAddress;
  /** Whether an order need not be a call of its own. */
  readonly usesLens: boolean;
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

/** Reads orders at one block, in pieces that the node can bear. */
export class OrderReader {
  constructor(private readonly parts: OrderReaderParts) {}

  /**
   * Reads the orders of these ids.
   *
   * @returns Pieces whose orders, one after the other, are those of the ids.
   * @throws VaultError if the node does not answer, or the contract has no code
   */
  public async read(ids: readonly bigint[]): Promise<readonly OrdersPiece[]> {
    const { usesLens, signal, chunkSize } = this.parts;
    const pieces: OrdersPiece[] = [];
    let at = 0;
    while (at < ids.length) {
      signal.throwIfAborted();
      const chunk = ids.slice(at, at + chunkSize.current);
      const piece = usesLens
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
    const { client, pinned, chunkSize } = this.parts;
    const { provider, networkName: network } = client;
    const count = ids.length;
    let answer: LensAnswer;
    try {
      answer = await callLens(
        {
          provider: count === 1 ? provider : lessPatient(provider),
          network,
          from: pinned.from,
          blockTag: toQuantity(pinned.blockTag),
        },
        this.#encode(ids),
      );
      const { length } = answer.entries;
      if (length === 0 || length > count) {
        throw invalidResponse(
          network,
          "eth_call",
          `${length} orders where at most ${count} were asked for`,
        );
      }
    } catch (error) {
      await this.#assertNodeAnswers(error);
      if (count === 1) {
        return await this.#readFirst(ids);
      }
      chunkSize.failed(count);
      return undefined;
    }
    if (answer.entries.length < count) {
      chunkSize.limitedTo(answer.entries.length);
    } else {
      chunkSize.succeeded(count);
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
              ? new RevertedCall(await client.explain(reverted.reason))
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
    const { address } = this.parts.target;
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
    const { client, target, pinned } = this.parts;
    try {
      const order = decodeAnswer({
        call: { operation: "getOrderInfo", role: "trading" },
        target,
        network: client.networkName,
        blockTag: toQuantity(pinned.blockTag),
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
    const { client, pinned } = this.parts;
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
    const { client, target, pinned, signal } = this.parts;
    if (!VaultError.isVaultError(error) || error.kind !== "rpc") {
      throw error;
    }
    signal.throwIfAborted();
    await client.chain.balance(target.address, pinned.blockTag);
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
