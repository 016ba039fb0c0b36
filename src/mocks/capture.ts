import {
  checkOptions,
  option,
  parseUint256,
  requireFixedBlock,
} from "../client/inputs.js";
import type { OptionsOf, BlockTag } from "../client/inputs.js";
import { failedReading, isFailedReading } from "../client/read-at-block.js";
import { takePinnedSnapshot } from "../client/snapshot.js";
import type { VaultClient } from "../client/vault-client.js";
import { asRecord, toJsonValue } from "../json.js";
import { get, set, standaloneQueries } from "../protocol/index.js";
import type { CalMarginsParameters } from "../protocol/index.js";
import { requireSameBranch } from "../rpc/blocks.js";

const captureOptions = {
  /** Ids of the orders to record. Default: none. */
  orders: option<ReadonlyArray<bigint | number>>(),
  /**
   * Terms whose margins to record, with those of the round. A replay reverts for any
   * other terms.
   */
  margins: option<readonly CalMarginsParameters[]>(),
  /** Block to record. Default: `latest`. `pending` is refused: its values are not fixed. */
  blockTag: option<BlockTag>(),
};

export interface CaptureOptions extends OptionsOf<typeof captureOptions> {}

/** The content of a fixture file, ready for `JSON.stringify`. */
export interface CapturedFixture {
  readonly format: "hardhat-vault/fixture";
  readonly version: 1;
  readonly chainId: number;
  readonly block: { readonly number: number; readonly timestamp: number };
  readonly [reading: string]: unknown;
}

export interface Capture {
  readonly fixture: CapturedFixture;
  /** Number of orders in the fixture. */
  readonly orders: number;
  /** Number of terms whose margins are in the fixture. */
  readonly margins: number;
  /** Number of readings, margins and orders that are recorded as failures. */
  readonly failed: number;
}

/**
 * Records every reading of a vault at one block, for
 * `deployMocks({ fixture })`. A reading that a contract reverts is recorded as a
 * failure. The fixture has public data of the chain only.
 *
 * @throws VaultError VAULT_INVALID_ARGUMENT for the pending block; VAULT_REORGED if the
 * chain replaced the block meanwhile; any error of a reading that is not caused by the
 * contract
 *
 * @example
 * ```ts
 * const { fixture, orders, failed } = await capture(vault, { orders: [1n] });
 * [fixture["volume"], orders, failed];
 * // [ '420000000000000000000', 1, 0 ]
 * ```
 */
export async function capture(
  vault: VaultClient,
  options: CaptureOptions = {},
): Promise<Capture> {
  checkOptions("capture()", options, captureOptions);
  const { orders = [], margins = [], blockTag } = options;
  const ids = orders.map((id) => parseUint256(id, "orders"));
  requireFixedBlock(blockTag, "blockTag");
  const { snapshot, pin } = await takePinnedSnapshot(vault, { blockTag });
  const { chainId, block, round } = snapshot;
  const pinned = { blockTag: pin };
  let failed = 0;
  /** Converts a value for the file; a replay of a failure needs the revert data. */
  const record = (value: unknown): unknown => {
    if (!isFailedReading(value)) {
      return toJsonValue(value);
    }
    const { code, kind, cause } = value.error;
    if (kind !== "chain") {
      throw value.error;
    }
    failed += 1;
    const revertData = String(asRecord(cause)["data"]).toLowerCase();
    const isRevert = code === "VAULT_CALL_REVERTED";
    return { error: isRevert ? { code, revertData } : { code } };
  };

  const readings: Record<string, unknown> = {};
  for (const { path } of standaloneQueries) {
    set(readings, path, record(get(snapshot, path)));
  }
  const allTerms = [...(isFailedReading(round) ? [] : [round]), ...margins];
  const recordedMargins: object[] = [];
  for (const { maxVolume, APY, endTime } of allTerms) {
    const terms = { maxVolume, APY, endTime };
    const result = await vault.calMargins(terms, pinned).catch(failedReading);
    recordedMargins.push({
      ...asRecord(toJsonValue(terms)),
      ...asRecord(record(result)),
    });
  }
  const recordedOrders: Record<string, unknown> = {};
  const found =
    ids.length === 0 ? [] : vault.orders({ ids: [...new Set(ids)], ...pinned });
  for await (const { orderID, ...order } of found) {
    recordedOrders[String(orderID)] = record(order);
  }
  await requireSameBranch(vault.rpc, pin);
  return {
    fixture: {
      format: "hardhat-vault/fixture",
      version: 1,
      chainId,
      block: { number: block.number, timestamp: block.timestamp },
      ...readings,
      margins: recordedMargins,
      orders: recordedOrders,
    },
    orders: Object.keys(recordedOrders).length,
    margins: recordedMargins.length,
    failed,
  };
}
