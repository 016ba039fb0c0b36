import { isFailedReading } from "../client/failed-reading.js";
import type { LensFacts } from "../client/lens/simulation-lens.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import { operationEntry, get, standaloneQueries } from "../protocol/index.js";
import type { Field, VaultRound } from "../protocol/index.js";
import { asRecord } from "../json.js";
import { NATIVE } from "./tokens.js";
import type {
  BalanceChange,
  ReadingChange,
  ReadingValue,
  Transfer,
} from "./types.js";

export interface ChainState {
  readonly facts: LensFacts;
  readonly readings: Readings;
  readonly balances: readonly Balance[];
}

/** Values or failed readings by name. Example: `pools.public`, `orders.7`. */
export type Readings = ReadonlyMap<string, unknown>;

export interface Balance {
  readonly account: string;
  /** Address of an ERC-20 contract, or {@link NATIVE}. */
  readonly token: string;
  readonly amount: bigint;
}

export function readingsIn(snapshot: VaultSnapshot): Readings {
  return new Map(
    standaloneQueries.map(({ path }) => [path.join("."), get(snapshot, path)]),
  );
}

/** @returns Undefined if the round cannot be read. */
export function roundOf({ readings }: ChainState): VaultRound | undefined {
  const round = readings.get("round");
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the result type of getLatestRoundInfo
  return isFailedReading(round) ? undefined : (round as VaultRound | undefined);
}

export function fieldsOf(reading: string): readonly Field[] {
  const found = standaloneQueries.find(
    ({ path }) => path.join(".") === reading,
  );
  return operationEntry(found?.operation ?? "getOrderInfo").outputs;
}

export function changesBetween(
  before: Readings,
  after: Readings,
): readonly ReadingChange[] {
  return [...before].flatMap(([reading, value]) => {
    const other = after.get(reading);
    const isFailed = isFailedReading(value) || isFailedReading(other);
    const fields = isFailed
      ? ["error"]
      : fieldsOf(reading).map(({ name }) => name);
    const valueOf = isFailed ? codeOf : valueOfField;
    return fields
      .map((field) => ({
        reading,
        field,
        before: valueOf(value, field),
        after: valueOf(other, field),
      }))
      .filter((change) => change.before !== change.after);
  });
}

function codeOf(value: unknown): ReadingValue {
  return isFailedReading(value) ? value.error.code : null;
}

/** A result with one field is the bare value, not a record. */
function valueOfField(value: unknown, field: string): ReadingValue {
  const fields = asRecord(value);
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the decoder returns these types only
  return (fields === value ? fields[field] : value) as ReadingValue;
}

/** True if the transfers account for every change of a native balance. */
export function explainBalances(
  transfers: readonly Transfer[],
  before: readonly Balance[],
  after: readonly Balance[],
): boolean {
  return before.every(({ account, token, amount }, index) => {
    let expected = amount;
    for (const { from, to, ...moved } of transfers) {
      if (moved.token === NATIVE) {
        expected += to === account ? moved.amount : 0n;
        expected -= from === account ? moved.amount : 0n;
      }
    }
    return token !== NATIVE || after[index]?.amount === expected;
  });
}

/**
 * Lists the balances that differ, with the fee subtracted from the payer's.
 *
 * @param fee Null if it is not known, or more than the payer has.
 */
export function compareBalances(
  before: readonly Balance[],
  after: readonly Balance[],
  payer: string,
  fee: bigint | null,
): readonly BalanceChange[] {
  return before
    .map(({ account, token, amount }, index) => {
      const due = token === NATIVE && account === payer ? (fee ?? 0n) : 0n;
      const left = (after[index]?.amount ?? amount) - due;
      return { account, token, before: amount, after: left };
    })
    .filter((change) => change.before !== change.after);
}

export function nativeBalanceOf(
  { balances }: ChainState,
  account: string,
): bigint {
  const found = balances.find(
    (one) => one.account === account && one.token === NATIVE,
  );
  return found?.amount ?? 0n;
}

/** Most native transfers of which payments that failed are looked for. */
const MOST_TRANSFERS = 12;

/**
 * Finds the native transfers that did not happen: some nodes list a payment that fails
 * inside a call. Without them the balances are right.
 *
 * @returns Undefined unless there is exactly one such set.
 */
export function findFailedPayments(
  transfers: readonly Transfer[],
  before: readonly Balance[],
  after: readonly Balance[],
): ReadonlySet<Transfer> | undefined {
  const native = transfers.filter(({ token }) => token === NATIVE);
  if (native.length > MOST_TRANSFERS) {
    return undefined;
  }
  const found: Array<ReadonlySet<Transfer>> = [];
  for (let set = 1; set < 2 ** native.length; set += 1) {
    // Each bit of the number stands for a transfer.
    const failed = new Set(
      native.filter((_, index) => Math.floor(set / 2 ** index) % 2 === 1),
    );
    const others = native.filter((transfer) => !failed.has(transfer));
    if (explainBalances(others, before, after)) {
      found.push(failed);
    }
  }
  return found.length === 1 ? found[0] : undefined;
}

/** Says how the balances differ from the transfers; undefined if they do not. */
export function describeDifference(
  transfers: readonly Transfer[],
  before: readonly Balance[],
  after: readonly Balance[],
): string | undefined {
  const sums = { more: 0n, less: 0n };
  for (const [index, { account, token, amount }] of before.entries()) {
    if (token === NATIVE) {
      let listed = 0n;
      for (const { from, to, ...moved } of transfers) {
        if (moved.token === NATIVE) {
          listed += to === account ? moved.amount : 0n;
          listed -= from === account ? moved.amount : 0n;
        }
      }
      const real = (after[index]?.amount ?? amount) - amount;
      const isLess = listed < 0n ? real > listed : real < listed;
      const difference = real > listed ? real - listed : listed - real;
      sums[isLess ? "less" : "more"] += difference;
    }
  }
  const { more, less } = sums;
  if (more === 0n && less === 0n) {
    return undefined;
  }
  const ways = [
    more > 0n && "that more native currency moves, as when a contract destroys itself",
    less > 0n && "that less native currency moves, as when a payment inside fails",
  ].filter((way) => way !== false);
  return `The list of transfers is not right: balances show ${ways.join(", and ")}.`;
}
