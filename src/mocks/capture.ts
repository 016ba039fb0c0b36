import { readFile } from "node:fs/promises";

import { deepMerge } from "@nomicfoundation/hardhat-utils/lang";

import {
  checkOptions,
  optional,
  parseUint,
  requireFixedBlock,
} from "../client/inputs.js";
import type { BlockTag, OptionsOf } from "../client/inputs.js";
import {
  failedReading,
  isFailedReading,
  takePinnedSnapshot,
} from "../client/read-at-block.js";
import type { VaultClient } from "../client/vault-client.js";
import { VaultError, invalidArgument, vaultError } from "../errors.js";
import { reasonOf, requireRegularFile } from "../files/project-file.js";
import { asRecord, toJsonValue } from "../json.js";
import { get, set, standaloneQueries } from "../protocol/index.js";
import type {
  CalMarginsParameters,
  ReadOperationName,
} from "../protocol/index.js";
import { quoteForeignText } from "../foreign-text.js";
import { requireSameBranch } from "../rpc/blocks.js";
import type { ScriptedFailure } from "./failure.js";
import { scenarios } from "./scenarios.js";
import {
  checkChanges,
  checkList,
  marginTerms,
  orderQueries,
  partlyChanged,
} from "./state.js";
import type { MockState } from "./types.js";

const captureOptions = {
  /** Ids of the orders to record. Default: none. */
  orders: optional<ReadonlyArray<bigint | number>>(),
  /**
   * Terms whose margins to record, with those of the round. A replay reverts for any
   * other terms.
   */
  margins: optional<readonly CalMarginsParameters[]>(),
  /** Block to record. Default: `latest`. `pending` is refused: its values are not fixed. */
  blockTag: optional<BlockTag>(),
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
  const ids = orders.map((id) => parseUint(id, "orders"));
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

/** @throws VaultError VAULT_INVALID_FIXTURE */
export async function readFixture(file: string): Promise<MockState> {
  try {
    await requireRegularFile(file);
    return await fixtureState(JSON.parse(await readFile(file, "utf8")));
  } catch (error) {
    const problem = VaultError.isVaultError(error)
      ? error.shortMessage.replace(/\.$/u, "")
      : reasonOf(error);
    const args = { file, problem: quoteForeignText(problem) };
    throw vaultError("VAULT_INVALID_FIXTURE", args, error);
  }
}

/** Checks a fixture: the keys of overrides, and `{ error }` for a reading that failed. */
async function fixtureState(json: unknown): Promise<MockState> {
  const {
    format,
    version,
    chainId: _id,
    block: _block,
    ...values
  } = asRecord(json);
  if (format !== "hardhat-vault/fixture" || version !== 1) {
    throw invalidArgument(
      "format",
      "it is not hardhat-vault/fixture version 1",
    );
  }
  const failures: ScriptedFailure[] = [];
  /** Returns the answer; undefined for a failure, which the mock repeats. */
  const answerIn = (
    operation: ReadOperationName,
    args: readonly unknown[],
    recorded: unknown,
  ): unknown => {
    const { error } = asRecord(recorded);
    if (error === undefined) {
      return recorded;
    }
    const { code, revertData } = asRecord(error);
    const reason =
      typeof revertData === "string"
        ? { data: revertData }
        : `recorded failure: ${String(code)}`;
    // the arguments are those of the operation
    failures.push({ operation, args, reason } as ScriptedFailure);
    return undefined;
  };
  const { orders = {}, margins = [] } = values;
  for (const query of [...standaloneQueries, ...orderQueries(orders)]) {
    const { operation, args, path } = query;
    const recorded = get(values, path);
    if (recorded === undefined) {
      throw invalidArgument(path.join("."), "it is missing");
    }
    set(values, path, answerIn(operation, args, recorded));
  }
  const changes = checkChanges({
    ...values,
    margins: checkList(margins, "margins").filter((each, index) => {
      const { maxVolume, APY, endTime, ...result } = asRecord(each);
      const terms = { maxVolume, APY, endTime };
      const args = [marginTerms.parse(terms, { path: ["margins", index] })];
      return answerIn("calMargins", args, result) !== undefined;
    }),
    failures,
  });
  const [incomplete] = partlyChanged(changes);
  if (incomplete !== undefined) {
    const place = incomplete.path.join(".");
    throw invalidArgument(place, "some of its values are missing");
  }
  const empty = scenarios["empty-vault"](0n);
  const state = deepMerge(
    // An order that was not captured must not look empty.
    { ...empty, unknownOrders: "revert" },
    changes,
  );
  const { strikePrice, settledPrice, settledAmount, settled } = state.round;
  return {
    ...state,
    // An unsettled round has no settlement to record, but may have a price.
    settlement: {
      ...state.settlement,
      settledPrice: settledPrice === 0n ? strikePrice : settledPrice,
      settledAmount: settled
        ? settledAmount
        : BigInt(Object.keys(state.orders).length),
    },
  };
}
