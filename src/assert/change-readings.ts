import { isFailedReading } from "../client/failed-reading.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import { readingAt } from "../protocol/index.js";
import { parseExpectedReadings, valuePaths } from "./expected-readings.js";
import type { ExpectedChange } from "./expected-readings.js";
import type { Difference, Assertion } from "./assertion.js";
import type { ReadableVault } from "./readable-vault.js";
import { requireAloneInBlock, waitForTransaction } from "./sent-transaction.js";

/**
 * What a test expects of readings.
 *
 * @returns Undefined where any change will do.
 */
export function parseExpected(
  assertion: Assertion,
  expected: unknown,
  name: string,
): readonly ExpectedChange[] | undefined {
  if (expected === undefined) {
    return undefined;
  }
  try {
    return parseExpectedReadings(expected);
  } catch (error) {
    return assertion.fail(
      `${name}() cannot use what is expected: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** The values of one place before and after the transaction. */
interface Comparison {
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** Asserts that a transaction changed readings. */
export async function compareReadings(
  assertion: Assertion,
  vault: ReadableVault,
  expected: readonly ExpectedChange[] | undefined,
): Promise<void> {
  const transaction = await waitForTransaction(assertion, vault);
  if (transaction === undefined) {
    assertion.check(
      false,
      () =>
        "expected readings to change, but no transaction was sent: the settlement had nothing to do",
      () => "",
    );
    return;
  }
  const { hash, blockNumber } = transaction;
  await requireAloneInBlock(assertion, vault, transaction);
  const [before, after] = await Promise.all([
    vault.snapshot({ blockTag: blockNumber - 1 }),
    vault.snapshot({ blockTag: blockNumber }),
  ]);
  if (expected === undefined) {
    checkAnyChange(assertion, hash, compareAll(before, after));
    return;
  }
  const compared = expected.map((change) => {
    const comparison = compareOne(before, after, change.path.split("."));
    return { change, comparison, problem: problemOf(change, comparison) };
  });
  if (assertion.negated) {
    const happened = compared.filter(({ problem }) => problem === undefined);
    if (happened.length > 0) {
      assertion.fail(
        `expected transaction ${hash} not to change readings so, but it did:${list(happened.map(({ comparison }) => describeChange(comparison)))}`,
      );
    }
    return;
  }
  const problems = compared.flatMap(({ problem }) => problem ?? []);
  if (problems.length > 0) {
    assertion.fail(
      `expected transaction ${hash} to change readings otherwise:${list(problems)}`,
      differenceOf(compared),
    );
  }
}

/** Every named reading, as it should be and as it is. */
function differenceOf(
  compared: ReadonlyArray<{
    readonly change: ExpectedChange;
    readonly comparison: Comparison;
  }>,
): Difference {
  const expected: Record<string, unknown> = {};
  const actual: Record<string, unknown> = {};
  for (const { change, comparison } of compared) {
    const { path, before, after } = comparison;
    expected[path] =
      change.by !== undefined && typeof before === "bigint"
        ? before + change.by
        : change.to;
    actual[path] = after;
  }
  return { expected, actual };
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
  return valuePaths
    .filter(
      (path) =>
        !(isNotConfigured(before, path) && isNotConfigured(after, path)),
    )
    .map((path) => compareOne(before, after, path));
}

function isNotConfigured(
  snapshot: VaultSnapshot,
  path: readonly string[],
): boolean {
  const failure = walk(snapshot, path).find(isFailedReading);
  return failure?.error.code === "VAULT_CONTRACT_NOT_CONFIGURED";
}

function compareOne(
  before: VaultSnapshot,
  after: VaultSnapshot,
  path: readonly string[],
): Comparison {
  return {
    path: path.join("."),
    before: valueAt(before, path),
    after: valueAt(after, path),
  };
}

/** @throws VaultError where the reading itself failed */
function valueAt(snapshot: VaultSnapshot, path: readonly string[]): unknown {
  const steps = walk(snapshot, path);
  const failure = steps.find(isFailedReading);
  if (failure !== undefined) {
    throw failure.error;
  }
  return steps.at(-1);
}

/** What stands at each step of a path, as far as it leads. */
function walk(
  snapshot: VaultSnapshot,
  path: readonly string[],
): readonly unknown[] {
  return path.map((_name, index) =>
    readingAt(snapshot, path.slice(0, index + 1)),
  );
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
