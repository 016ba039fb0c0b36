import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import { readOrders } from "../client/orders/read-orders.js";
import { isFailedReading } from "../client/failed-reading.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import type { FailedReading } from "../client/failed-reading.js";
import type { VaultHost } from "../host.js";
import { VaultError } from "../errors.js";
import {
  operationEntry,
  readingAt,
  standaloneReadings,
} from "../protocol/index.js";
import type {
  OperationName,
  VaultOrder,
  VaultRound,
} from "../protocol/index.js";
import { readBalances } from "./balances.js";
import type { Balance, BalanceSubjects } from "./balances.js";
import type { ReadingChange, ReadingValue } from "./types.js";

/** What is compared. */
export interface StateSubjects extends BalanceSubjects {
  readonly orderIDs: readonly bigint[];
}

/** All that is compared, at one block. */
export interface ChainState {
  readonly readings: Readings;
  readonly balances: readonly Balance[];
}

/** All readings of a vault at one block, and the orders that were named. */
export interface Readings {
  readonly snapshot: VaultSnapshot;
  readonly orders: ReadonlyArray<VaultOrder | FailedReading>;
}

/**
 * Reads all that is compared, at one block.
 *
 * @throws VaultError where the node fails; a contract that does is a reading
 */
export async function readState(
  vault: VaultHost,
  blockNumber: number,
  subjects: StateSubjects,
): Promise<ChainState> {
  const { provider, networkName } = vault;
  const [readings, balances] = await Promise.all([
    takeReadings(vault, subjects.orderIDs, blockNumber),
    readBalances(
      { provider, networkName, blockTag: numberToHexString(blockNumber) },
      subjects,
    ),
  ]);
  const failure = nodeFailureOf(readings);
  if (failure !== undefined) {
    throw failure;
  }
  return { readings, balances };
}

/** @throws VaultError if the block itself cannot be read */
async function takeReadings(
  vault: VaultHost,
  orderIDs: readonly bigint[],
  blockTag: number,
): Promise<Readings> {
  const [snapshot, orders] = await Promise.all([
    vault.snapshot({ blockTag }),
    takeOrders(vault, orderIDs, blockTag),
  ]);
  return { snapshot, orders };
}

/** Up to a hundred in one request; where none can be read, each has failed. */
async function takeOrders(
  vault: VaultHost,
  ids: readonly bigint[],
  blockTag: number,
): Promise<Readings["orders"]> {
  if (ids.length === 0) {
    return [];
  }
  const orders: Array<VaultOrder | FailedReading> = [];
  try {
    for await (const order of readOrders(vault, { ids, blockTag })) {
      orders.push(order);
    }
    return orders;
  } catch (error) {
    if (!VaultError.isVaultError(error) || error.kind === "bug") {
      throw error;
    }
    return ids.map(() => ({ error }));
  }
}

/** The round, or undefined where it cannot be read. */
export function roundOf({ snapshot }: Readings): VaultRound | undefined {
  return isFailedReading(snapshot.round) ? undefined : snapshot.round;
}

/** How nodes say that the contract's code itself failed, without a revert. */
const executionFailure =
  /out of ?gas|opcode|EVM error|stack (?:under|over)flow|jump|instruction/iu;

/** The first failure that is not the contracts' but the node's. */
function nodeFailureOf({ snapshot, orders }: Readings): VaultError | undefined {
  return [
    ...standaloneReadings.map(({ path }) => readingAt(snapshot, path)),
    ...orders,
  ]
    .flatMap((value) => (isFailedReading(value) ? [value.error] : []))
    .find(
      ({ kind, code, details }) =>
        kind === "rpc" &&
        !(
          code === "VAULT_RPC_ERROR" &&
          executionFailure.test(String(details["problem"]))
        ),
    );
}

/** Every field that differs, in the order of the operations, orders last. */
export function compareReadings(
  before: Readings,
  after: Readings,
  orderIDs: readonly bigint[],
): readonly ReadingChange[] {
  return [
    ...standaloneReadings.flatMap(({ operation, path }) =>
      compareValues(
        operation,
        path.join("."),
        readingAt(before.snapshot, path),
        readingAt(after.snapshot, path),
      ),
    ),
    ...orderIDs.flatMap((orderID, index) =>
      compareValues(
        "getOrderInfo",
        `orders.${orderID}`,
        before.orders[index],
        after.orders[index],
      ),
    ),
  ];
}

/** The fields of one reading that differ. */
export function compareValues(
  operation: OperationName,
  reading: string,
  before: unknown,
  after: unknown,
): readonly ReadingChange[] {
  if (isFailedReading(before) || isFailedReading(after)) {
    const [codeBefore, codeAfter] = [codeOf(before), codeOf(after)];
    return codeBefore === codeAfter
      ? []
      : [{ reading, field: "error", before: codeBefore, after: codeAfter }];
  }
  return operationEntry(operation).outputs.flatMap(({ name }) => {
    const [one, other] = [fieldOf(before, name), fieldOf(after, name)];
    return one === other
      ? []
      : [{ reading, field: name, before: one, after: other }];
  });
}

function codeOf(value: unknown): string | null {
  return isFailedReading(value) ? value.error.code : null;
}

/** A reading of one field is its bare value; see OperationResult. */
function fieldOf(value: unknown, field: string): ReadingValue {
  const inner: unknown =
    typeof value === "object" && value !== null
      ? Object.entries(value).find(([name]) => name === field)?.[1]
      : value;
  switch (typeof inner) {
    case "bigint":
    case "number":
    case "boolean":
    case "string":
      return inner;
    default:
      return null;
  }
}
