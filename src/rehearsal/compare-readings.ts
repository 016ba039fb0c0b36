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
  OrderInfo,
  VaultRound,
} from "../protocol/index.js";
import type { ReadingChange, ReadingValue } from "./types.js";

/** All readings of a vault at one block, and the orders that were named. */
export interface Readings {
  readonly snapshot: VaultSnapshot;
  readonly orders: ReadonlyArray<OrderInfo | FailedReading>;
}

/** @throws VaultError if the block itself cannot be read */
export async function takeReadings(
  vault: VaultHost,
  orderIDs: readonly bigint[],
  blockTag: number,
): Promise<Readings> {
  const [snapshot, orders] = await Promise.all([
    vault.snapshot({ blockTag }),
    Promise.all(
      orderIDs.map(async (orderID) => {
        try {
          return await vault.getOrderInfo(orderID, { blockTag });
        } catch (error) {
          if (!VaultError.isVaultError(error) || error.kind === "bug") {
            throw error;
          }
          return { error };
        }
      }),
    ),
  ]);
  return { snapshot, orders };
}

/** The round, or undefined where it cannot be read. */
export function roundOf({ snapshot }: Readings): VaultRound | undefined {
  return isFailedReading(snapshot.round) ? undefined : snapshot.round;
}

/** How nodes say that the contract's code itself failed, without a revert. */
const executionFailure =
  /out of ?gas|opcode|EVM error|stack (?:under|over)flow|jump|instruction/iu;

/** The first failure that is not the contracts' but the node's. */
export function nodeFailureOf({
  snapshot,
  orders,
}: Readings): VaultError | undefined {
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

function compareValues(
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
