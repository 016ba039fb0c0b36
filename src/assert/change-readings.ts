import { isFailedReading, isNotConfigured } from "../client/failed-reading.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import { readingAt } from "../protocol/index.js";
import type { Assertion } from "./assertion.js";
import { parseExpectedReadings, valuePaths } from "./expected-readings.js";
import type { ExpectedChange } from "./expected-readings.js";
import { readAroundTransaction } from "./sent-transaction.js";

/** One value before and after the transaction. */
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
    async (options) => valuesOf(await readable.snapshot(options)),
  );
  if (readings === undefined) {
    return;
  }
  const { hash, before, after } = readings;
  const compare = (path: string): Comparison => ({
    path,
    before: valueAt(before, path),
    after: valueAt(after, path),
  });
  if (changes !== undefined) {
    checkChanges(
      assertion,
      hash,
      changes.map((change) => ({ ...compare(change.path), change })),
    );
    return;
  }
  // A contract without an address is left out; any other failure is thrown,
  // since nothing can be said then.
  const compared = [...before.keys()]
    .filter((path) =>
      [before, after].some((values) => !isAbsent(values.get(path))),
    )
    .map(compare);
  const changed = compared.filter((value) => value.before !== value.after);
  assertion.check(
    changed.length > 0,
    () =>
      `expected transaction ${hash} to change a reading of the vault, but all ${compared.length} values are as before`,
    () =>
      `expected transaction ${hash} to change no reading of the vault, but it did:${list(changed.map(describeChange))}`,
  );
}

function checkChanges(
  assertion: Assertion,
  hash: string,
  compared: ReadonlyArray<Comparison & { readonly change: ExpectedChange }>,
): void {
  const happened = compared.filter((value) => problemOf(value) === undefined);
  assertion.check(
    assertion.negated
      ? happened.length > 0
      : happened.length === compared.length,
    () =>
      `expected transaction ${hash} to change readings otherwise:${list(compared.flatMap((value) => problemOf(value) ?? []))}`,
    () =>
      `expected transaction ${hash} not to change readings so, but it did:${list(happened.map(describeChange))}`,
    // Every named reading, as it should be and as it is.
    () => ({
      expected: Object.fromEntries(
        compared.map(({ path, before, change: { by, to } }) => [
          path,
          by !== undefined && typeof before === "bigint" ? before + by : to,
        ]),
      ),
      actual: Object.fromEntries(
        compared.map(({ path, after }) => [path, after]),
      ),
    }),
  );
}

/** The values of a snapshot, or the failure of its reading, by their paths. */
function valuesOf(snapshot: VaultSnapshot): ReadonlyMap<string, unknown> {
  return new Map(
    valuePaths.map((path) => {
      const steps = path.map((_name, index) =>
        readingAt(snapshot, path.slice(0, index + 1)),
      );
      return [path.join("."), steps.find(isFailedReading) ?? steps.at(-1)];
    }),
  );
}

function isAbsent(value: unknown): boolean {
  return isFailedReading(value) && isNotConfigured(value.error);
}

/** @throws VaultError if the reading itself failed */
function valueAt(values: ReadonlyMap<string, unknown>, path: string): unknown {
  const value = values.get(path);
  if (isFailedReading(value)) {
    throw value.error;
  }
  return value;
}

/** Why an expected change did not happen. */
function problemOf({
  path,
  before,
  after,
  change: { from, to, by },
}: Comparison & { readonly change: ExpectedChange }): string | undefined {
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
