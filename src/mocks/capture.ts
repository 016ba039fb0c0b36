import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";
import { AbiCoder } from "ethers";
import pMap from "p-map";

import { encodeCall } from "../client/codec.js";
import { patient } from "../rpc/patient.js";
import { RevertedCall, requestRpc } from "../rpc/request.js";
import { failedReading, isFailedReading } from "../client/failed-reading.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import { set, get, standaloneQueries } from "../protocol/index.js";
import type {
  CalMarginsParameters,
  ReadOperationName,
} from "../protocol/index.js";
import { toJsonValue } from "../json.js";
import { requireFixedBlock } from "../client/inputs.js";
import type { BlockTag } from "../client/inputs.js";
import type { MockHost } from "./types.js";

/** What to capture beside the readings that need no argument. */
export interface CaptureOptions {
  /** Ids of orders. */
  readonly orders?: readonly bigint[] | undefined;
  /** Any but `pending`, which names another block with every transaction. */
  readonly blockTag?: BlockTag | undefined;
}

/** A fixture as its file has it: `JSON.stringify` writes it. */
export interface CapturedFixture {
  readonly format: "hardhat-vault/fixture";
  readonly version: 1;
  readonly chainId: number;
  readonly block: { readonly number: number; readonly timestamp: number };
  readonly [reading: string]: unknown;
}

/** What a capture gives: the fixture, and how much of it failed. */
export interface Capture {
  readonly fixture: CapturedFixture;
  readonly orders: number;
  /** Readings and orders that the contracts refused, recorded as such. */
  readonly failed: number;
}

const CONCURRENT_ORDERS = 16;

/**
 * Records every reading of a vault at one block. What the contracts refuse is
 * recorded as a failure; what the network or the configuration refuses is one
 * of the capture.
 *
 * The file has no URLs, names or accounts in it but the orders' holders: only
 * what anybody can read on the chain.
 *
 * @throws VaultError VAULT_INVALID_ARGUMENT for the pending block, and that of a
 * reading that failed for another reason than the contract
 *
 * @example
 * ```ts
 * const { fixture, orders, failed } = await capture(vault, { orders: [1n] });
 * [fixture["volume"], orders, failed];
 * // [ '420000000000000000000', 1, 0 ]
 * ```
 */
export async function capture(
  vault: MockHost,
  { orders = [], blockTag }: CaptureOptions = {},
): Promise<Capture> {
  requireFixedBlock(blockTag, "blockTag");
  const snapshot = await vault.snapshot({ blockTag });
  const { chainId, block } = snapshot;
  let failed = 0;

  /** The call's answer as it is, at the capture's block. */
  const call = async (
    operation: ReadOperationName,
    args: readonly unknown[],
  ): Promise<unknown> => {
    const { provider, networkName } = vault;
    const { from } = vault.readContext({});
    const { role, data } = encodeCall(operation, args);
    const { address } = await vault.addressOf(role);
    const asked = patient(provider, networkName);
    return await requestRpc(asked, networkName, "eth_call", [
      { from, to: address, data },
      numberToHexString(block.number),
    ]);
  };

  /** A value as the file has it. */
  const record = async (
    operation: ReadOperationName,
    args: readonly unknown[],
    value: unknown,
  ): Promise<unknown> => {
    if (!isFailedReading(value)) {
      return toJsonValue(value);
    }
    const { code, kind } = value.error;
    if (kind !== "chain") {
      throw value.error;
    }
    failed += 1;
    // The error has the reason as a text; a replay needs the bytes.
    const answer =
      code === "VAULT_CALL_REVERTED" ? await call(operation, args) : undefined;
    return {
      error:
        answer instanceof RevertedCall
          ? { code, revertData: answer.reason.data.toLowerCase() }
          : { code },
    };
  };

  /**
   * An order as the file has it. A text that holds U+FFFD was probably not
   * UTF-8 on the chain: then its bytes are recorded.
   */
  const recordOrder = async (orderID: bigint): Promise<unknown> => {
    const order = await vault
      .read("getOrderInfo", [orderID], { blockTag: block.number })
      .catch(failedReading);
    if (isFailedReading(order) || !order.exType.includes("\ufffd")) {
      return await record("getOrderInfo", [orderID], order);
    }
    const answer = await call("getOrderInfo", [orderID]);
    // The text is the first value, and is encoded as bytes are.
    const bytes: unknown =
      typeof answer === "string"
        ? AbiCoder.defaultAbiCoder().decode(["bytes"], answer)[0]
        : undefined;
    return toJsonValue({ ...order, exType: { bytes } });
  };

  const readings: Record<string, unknown> = {};
  for (const { operation, args, path } of standaloneQueries) {
    const value = get(snapshot, path);
    set(readings, path, await record(operation, args, value));
  }
  const terms = nextRoundOf(snapshot);
  const margins = await vault
    .read("calMargins", [terms], { blockTag: block.number })
    .catch(failedReading);
  readings["margins"] = await record("calMargins", [terms], margins);
  const recordedOrders = await pMap(
    orders,
    async (id) => [id, await recordOrder(id)] as const,
    { concurrency: CONCURRENT_ORDERS },
  );
  return {
    fixture: {
      format: "hardhat-vault/fixture",
      version: 1,
      chainId,
      block: { number: block.number, timestamp: block.timestamp },
      ...readings,
      orders: Object.fromEntries(recordedOrders),
    },
    orders: orders.length,
    failed,
  };
}

/** The terms that the latest round has, or of a round that has none. */
function nextRoundOf({ round }: VaultSnapshot): CalMarginsParameters {
  return isFailedReading(round)
    ? { maxVolume: 0n, APY: 0n, endTime: 0n }
    : { maxVolume: round.maxVolume, APY: round.APY, endTime: round.endTime };
}
