import { failedReading, isFailedReading } from "../client/failed-reading.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import type { VaultHost } from "../host.js";
import { assertInvariant } from "../errors.js";
import {
  operationEntry,
  readingAt,
  standaloneReadings,
} from "../protocol/index.js";
import type { OperationName, VaultRound } from "../protocol/index.js";
import { asRecord } from "../json.js";
import type { Balance, BalanceSubjects } from "./balances.js";
import type { ReadingChange, ReadingValue } from "./types.js";

/** What is compared. */
export interface StateSubjects extends BalanceSubjects {
  readonly orderIDs: readonly bigint[];
}

/** All that is compared, at one block. */
export interface ChainState {
  readonly chainId: number;
  readonly readings: Readings;
  readonly balances: readonly Balance[];
}

/**
 * What was read, or why it could not be, by name, as in `pools.public`: in the
 * order of the operations, orders last, as in `orders.7`.
 */
export type Readings = ReadonlyMap<string, unknown>;

/** The readings of a snapshot. */
export function readingsIn(snapshot: VaultSnapshot): Readings {
  return new Map(
    standaloneReadings.map(({ path }) => [
      path.join("."),
      readingAt(snapshot, path),
    ]),
  );
}

const ORDERS = "orders.";

/** How an order is named among {@link Readings}. */
export function orderName(orderID: bigint): string {
  return `${ORDERS}${orderID}`;
}

/** The round, or undefined where it cannot be read. */
export function roundOf({ readings }: ChainState): VaultRound | undefined {
  const round = readings.get("round");
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- what getLatestRoundInfo answers, if it does
  return isFailedReading(round) ? undefined : (round as VaultRound | undefined);
}

/** The round at a block, or undefined where it cannot be read. */
export async function readRound(
  vault: VaultHost,
  blockTag: number,
): Promise<VaultRound | undefined> {
  const round = await vault
    .getLatestRoundInfo({ blockTag })
    .catch(failedReading);
  return isFailedReading(round) ? undefined : round;
}

/** Every field that differs. */
export function changesBetween(
  before: Readings,
  after: Readings,
): readonly ReadingChange[] {
  return [...before].flatMap(([reading, value]) =>
    compareValues(reading, value, after.get(reading)),
  );
}

/** The operation that a reading is made by, by its name. */
export function operationOf(reading: string): OperationName {
  if (reading.startsWith(ORDERS)) {
    return "getOrderInfo";
  }
  const found = standaloneReadings.find(
    ({ path }) => path.join(".") === reading,
  );
  assertInvariant(found !== undefined, `no operation reads ${reading}`);
  return found.operation;
}

/** The fields of one reading that differ. */
function compareValues(
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
  return operationEntry(operationOf(reading)).outputs.flatMap(({ name }) => {
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
  const fields = asRecord(value);
  const own = Object.hasOwn(fields, field) ? fields[field] : undefined;
  const inner = fields === value ? own : value;
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
