import { toQuantity } from "ethers";

import { VaultError } from "../../errors.js";
import type { VaultOrder } from "../../protocol/index.js";
import type { LocatedAddress } from "../addresses.js";
import { decodeAnswer } from "../answer.js";
import { encodeCall } from "../codec.js";
import { fewRetries } from "../../rpc/retry.js";
import { invalidResponse } from "../../rpc/errors.js";
import type { CallResult } from "../../rpc/rpc-client.js";
import { callLens, encodeReadCalls, encodeReadOrders } from "../lens/lens.js";
import { entryAnswer, releaseAnswer } from "../lens/lens-answer.js";
import type { LensAnswer, LensEntry } from "../lens/lens-answer.js";
import type { VaultReader } from "../reader.js";
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
   * @param chunkSize Most orders in one request. It is halved when one fails.
   * @param usesLens Whether an order need not be a call of its own.
   * @param signal Once aborted, no further request is made.
   */
  constructor(
    private readonly client: VaultReader,
    private readonly target: LocatedAddress,
    public chunkSize: number,
    private readonly usesLens: boolean,
    private readonly pinned: {
      readonly from: string;
      readonly blockTag: number;
    },
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
      const piece = await this.#readChunk(ids.slice(at, at + this.chunkSize));
      if (piece !== undefined) {
        pieces.push(piece);
        at += piece.count;
      }
    }
    return pieces;
  }

  /**
   * Reads as many orders as fit into the gas of one call; undefined after a
   * failure.
   */
  async #readChunk(ids: readonly bigint[]): Promise<OrdersPiece | undefined> {
    const count = ids.length;
    const answer = this.usesLens ? await this.#askLens(ids) : undefined;
    if (answer === undefined) {
      if (count === 1) {
        const [id = 0n] = ids;
        return { count, orders: [await this.#readAlone(id)] };
      }
      // Those that were under way together and fail as well say nothing new.
      this.chunkSize = Math.min(this.chunkSize, Math.floor(count / 2));
      return undefined;
    }
    const known = new Map<LensEntry, ListedOrder>();
    let index = 0;
    for (const entry of answer.entries) {
      const id = ids[index++] ?? 0n;
      if (entry.status !== "returned") {
        const given = entryAnswer(answer, entry);
        known.set(
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
    return {
      count: answer.entries.length,
      orders: this.#decodeAll(answer, ids, known),
    };
  }

  /** @returns Undefined if the node answers, but not this. */
  async #askLens(ids: readonly bigint[]): Promise<LensAnswer | undefined> {
    const context = this.client.readContext(this.pinned);
    const { rpc } = context;
    const count = ids.length;
    try {
      const answer = await callLens(
        count === 1
          ? context
          : { ...context, rpc: rpc.withRetries(fewRetries) },
        this.#encode(ids),
      );
      const { length } = answer.entries;
      if (length === 0 || length > count) {
        throw invalidResponse(
          rpc.network,
          "eth_call",
          `${length} orders where at most ${count} were asked for`,
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
    let index = 0;
    for (const entry of answer.entries) {
      const id = ids[index++] ?? 0n;
      yield (
        known.get(entry) ?? this.#decode(entryAnswer(answer, entry), entry, id)
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
