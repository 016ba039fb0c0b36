import { isFailedReading, isNotConfigured } from "../client/failed-reading.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import { get } from "../protocol/index.js";
import { requireVault } from "./assertion.js";
import type { Verdict } from "./assertion.js";
import { parseExpectedReadings, valuePaths } from "./expected-readings.js";
import type { ExpectedChange } from "./expected-readings.js";
import { readAroundTransaction } from "./sent-transaction.js";

/** One value before and after the transaction. */
interface Comparison {
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

interface ExpectedComparison extends Comparison {
  readonly change: ExpectedChange;
}

/**
 * Checks that a transaction changed readings.
 *
 * @param expected Undefined if any change will do.
 */
export async function checkReadings(
  vault: unknown,
  transaction: unknown,
  expected: unknown,
): Promise<Verdict> {
  const readable = requireVault(vault);
  const changes =
    expected === undefined ? undefined : parseExpectedReadings(expected);
  const readings = await readAroundTransaction(
    readable,
    transaction,
    async (options) => valuesOf(await readable.snapshot(options)),
  );
  if (readings === undefined) {
    return {
      failure:
        "expected readings to change, but no transaction was sent: the settlement had nothing to do",
    };
  }
  const { hash, before, after } = readings;
  const compare = (path: string): Comparison => ({
    path,
    before: valueAt(before, path),
    after: valueAt(after, path),
  });
  if (changes !== undefined) {
    return checkChanges(
      hash,
      changes.map((change) => ({ ...compare(change.path), change })),
    );
  }
  // A contract without an address is left out; any other failure is thrown,
  // since nothing can be said then.
  const compared = [...before.keys()]
    .filter((path) =>
      [before, after].some((values) => !isAbsent(values.get(path))),
    )
    .map(compare);
  const changed = compared.filter((value) => value.before !== value.after);
  return changed.length === 0
    ? {
        failure: `expected transaction ${hash} to change a reading of the vault, but all ${compared.length} values are as before`,
      }
    : {
        negatedFailure: `expected transaction ${hash} to change no reading of the vault, but it did:${list(changed.map(describeChange))}`,
      };
}

function checkChanges(
  hash: string,
  compared: readonly ExpectedComparison[],
): Verdict {
  const problems = compared.flatMap((value) => problemOf(value) ?? []);
  const happened = compared.filter((value) => problemOf(value) === undefined);
  return {
    failure:
      problems.length === 0
        ? undefined
        : `expected transaction ${hash} to change readings otherwise:${list(problems)}`,
    negatedFailure:
      happened.length === 0
        ? undefined
        : `expected transaction ${hash} not to change readings so, but it did:${list(happened.map(describeChange))}`,
    // Every named reading, as it should be and as it is.
    expected: Object.fromEntries(
      compared.map((value) => [value.path, targetOf(value)]),
    ),
    actual: Object.fromEntries(
      compared.map(({ path, after }) => [path, after]),
    ),
  };
}

/** The values of a snapshot, or the failure of its reading, by their paths. */
function valuesOf(snapshot: VaultSnapshot): ReadonlyMap<string, unknown> {
  return new Map(
    valuePaths.map((path) => {
      const steps = path.map((_name, index) =>
        get(snapshot, path.slice(0, index + 1)),
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
function problemOf(value: ExpectedComparison): string | undefined {
  const { path, before, after, change } = value;
  const { from, to, by } = change;
  if (
    before !== after &&
    after === targetOf(value) &&
    (from === undefined || before === from)
  ) {
    return undefined;
  }
  const wanted =
    by !== undefined
      ? `by ${by > 0n ? "+" : ""}${by}`
      : `${from === undefined ? "" : `from ${from} `}to ${String(to)}`;
  const found =
    before === after
      ? `is ${String(before)} as before`
      : `changed ${String(before)} → ${String(after)}`;
  return `${path}: expected a change ${wanted}, but it ${found}`;
}

/** The value that an expected change leads to. */
function targetOf({ before, change: { by, to } }: ExpectedComparison): unknown {
  return by !== undefined && typeof before === "bigint" ? before + by : to;
}

function describeChange({ path, before, after }: Comparison): string {
  return `${path}: ${String(before)} → ${String(after)}`;
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `\n  ${line}`).join("");
}
