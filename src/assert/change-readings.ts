import { isFailedReading, isNotConfigured } from "../client/failed-reading.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import { readingAt } from "../protocol/index.js";
import type { Assertion } from "./assertion.js";
import { parseExpectedReadings, valuePaths } from "./expected-readings.js";
import type { ExpectedChange } from "./expected-readings.js";
import { readAroundTransaction } from "./sent-transaction.js";

/** The values of one place before and after the transaction. */
interface Comparison {
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

/**
 * Asserts that a transaction changed readings.
 *
 * @param expected Undefined if any change will do.
 */
export async function compareReadings(
  assertion: Assertion,
  vault: unknown,
  expected: unknown,
): Promise<void> {
  const readable = assertion.requireVault(vault);
  const changes =
    expected === undefined
      ? undefined
      : assertion.parse(() => parseExpectedReadings(expected));
  const readings = await readAroundTransaction(
    assertion,
    readable,
    "expected readings to change, but no transaction was sent: the settlement had nothing to do",
    async (options) => await readable.snapshot(options),
  );
  if (readings === undefined) {
    return;
  }
  const { hash, before, after } = readings;
  if (changes === undefined) {
    checkAnyChange(assertion, hash, compareAll(before, after));
    return;
  }
  const compared = changes.map((change) => {
    const comparison = compareOne(before, after, change.path.split("."));
    return { change, comparison, problem: problemOf(change, comparison) };
  });
  const happened = compared.filter(({ problem }) => problem === undefined);
  assertion.check(
    assertion.negated
      ? happened.length > 0
      : happened.length === compared.length,
    () =>
      `expected transaction ${hash} to change readings otherwise:${list(compared.flatMap(({ problem }) => problem ?? []))}`,
    () =>
      `expected transaction ${hash} not to change readings so, but it did:${list(happened.map(({ comparison }) => describeChange(comparison)))}`,
    // Every named reading, as it should be and as it is.
    () => ({
      expected: Object.fromEntries(
        compared.map(({ change: { path, by, to }, comparison }) => [
          path,
          by !== undefined && typeof comparison.before === "bigint"
            ? comparison.before + by
            : to,
        ]),
      ),
      actual: Object.fromEntries(
        compared.map(({ comparison }) => [comparison.path, comparison.after]),
      ),
    }),
  );
}

function checkAnyChange(
  assertion: Assertion,
  hash: string,
  comparisons: readonly Comparison[],
): void {
  const changes = comparisons.filter(({ before, after }) => before !== after);
  assertion.check(
    changes.length > 0,
    () =>
      `expected transaction ${hash} to change a reading of the vault, but all ${comparisons.length} values are as before`,
    () =>
      `expected transaction ${hash} to change no reading of the vault, but it did:${list(changes.map(describeChange))}`,
  );
}

/**
 * Every value of two snapshots. A contract without an address is left out in
 * both; any other failure is thrown, since nothing can be said then.
 */
function compareAll(
  before: VaultSnapshot,
  after: VaultSnapshot,
): readonly Comparison[] {
  const isPresent = (reading: unknown): boolean =>
    !isFailedReading(reading) || !isNotConfigured(reading.error);
  return valuePaths
    .filter((path) =>
      [before, after].some((each) => isPresent(valueOrFailure(each, path))),
    )
    .map((path) => compareOne(before, after, path));
}

/** @throws VaultError where the reading itself failed */
function compareOne(
  before: VaultSnapshot,
  after: VaultSnapshot,
  path: readonly string[],
): Comparison {
  const valueIn = (snapshot: VaultSnapshot): unknown => {
    const reading = valueOrFailure(snapshot, path);
    if (isFailedReading(reading)) {
      throw reading.error;
    }
    return reading;
  };
  return {
    path: path.join("."),
    before: valueIn(before),
    after: valueIn(after),
  };
}

/** What stands at a path, or the failure on the way there. */
function valueOrFailure(
  snapshot: VaultSnapshot,
  path: readonly string[],
): unknown {
  const steps = path.map((_name, index) =>
    readingAt(snapshot, path.slice(0, index + 1)),
  );
  return steps.find(isFailedReading) ?? steps.at(-1);
}

/** Why an expected change did not happen. */
function problemOf(
  { path, from, to, by }: ExpectedChange,
  { before, after }: Comparison,
): string | undefined {
  const wanted = by === undefined ? String(to) : `${by > 0n ? "+" : ""}${by}`;
  if (before === after) {
    return `${path}: expected a change ${by === undefined ? "to" : "by"} ${wanted}, but it is ${String(after)} as before`;
  }
  if (by !== undefined) {
    const difference =
      typeof before === "bigint" && typeof after === "bigint"
        ? after - before
        : undefined;
    return difference === by
      ? undefined
      : `${path}: expected a change by ${wanted}, but it changed by ${String(difference)} (${String(before)} → ${String(after)})`;
  }
  const isAsExpected = after === to && (from === undefined || before === from);
  return isAsExpected
    ? undefined
    : `${path}: expected ${from === undefined ? "" : `${String(from)} → `}${wanted}, but it changed ${String(before)} → ${String(after)}`;
}

function describeChange({ path, before, after }: Comparison): string {
  return `${path}: ${String(before)} → ${String(after)}`;
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `\n  ${line}`).join("");
}
