import { placesOf, standaloneQueries } from "../protocol/index.js";
import type { StandaloneReadings } from "../protocol/index.js";
import { NoVerdict } from "./assertion.js";

// Conditions in brackets, or `boolean` would be taken apart: `true` and `false`.

/**
 * What a reading changed to: the new value, both values, or (for an integer)
 * the difference.
 */
export type ExpectedValue<Value> = [Value] extends [bigint]
  ? | bigint
    | number
    | { readonly from: bigint | number; readonly to: bigint | number }
    | { readonly by: bigint | number }
  : Value | { readonly from: Value; readonly to: Value };

type Expected<Value> = [Value] extends [bigint | number | boolean | string]
  ? ExpectedValue<Value>
  : { readonly [Key in keyof Value]?: Expected<Value[Key]> };

/** Expected changes, laid out as a snapshot is. */
export type ExpectedReadings = Expected<StandaloneReadings>;

/** One expected change. */
export interface ExpectedChange {
  /** Where the value stands in a snapshot, as in `round.settled`. */
  readonly path: string;
  readonly from?: bigint | boolean;
  readonly to?: bigint | boolean;
  readonly by?: bigint;
}

/** Where a snapshot has single values. */
export const valuePaths: ReadonlyArray<readonly string[]> = standaloneQueries
  .flatMap(placesOf)
  .map(({ path }) => path);

const valuePathNames: ReadonlySet<string> = new Set(
  valuePaths.map((path) => path.join(".")),
);

/**
 * Reads what a test expects.
 *
 * @throws NoVerdict naming a reading that does not exist, or a value that is
 * none: a typing mistake must never make an assertion pass
 */
export function parseExpectedReadings(
  expected: unknown,
): readonly ExpectedChange[] {
  const changes = parseLevel(expected, []);
  if (changes.length === 0) {
    throw new NoVerdict("no reading is named");
  }
  return changes;
}

function parseLevel(
  expected: unknown,
  place: readonly string[],
): readonly ExpectedChange[] {
  const path = place.join(".");
  if (valuePathNames.has(path)) {
    return [parseValue(expected, path)];
  }
  const isLevel = valuePaths.some((names) =>
    place.every((name, index) => names[index] === name),
  );
  if (!isLevel) {
    throw new NoVerdict(
      `there is no reading ${path}; there are ${[...valuePathNames].join(", ")}`,
    );
  }
  if (typeof expected !== "object" || expected === null) {
    throw new NoVerdict(
      `${path === "" ? "the expected readings" : path} must be an object of readings`,
    );
  }
  return Object.entries(expected).flatMap(([name, value]) =>
    parseLevel(value, [...place, name]),
  );
}

function parseValue(expected: unknown, path: string): ExpectedChange {
  if (typeof expected !== "object" || expected === null) {
    return { path, to: scalar(expected, path) };
  }
  const keys = Object.keys(expected).sort().join();
  if (keys === "from,to" && "from" in expected && "to" in expected) {
    return {
      path,
      from: scalar(expected.from, path),
      to: scalar(expected.to, path),
    };
  }
  if (keys === "by" && "by" in expected) {
    const by = scalar(expected.by, path);
    if (typeof by === "bigint" && by !== 0n) {
      return { path, by };
    }
  }
  throw new NoVerdict(
    `${path} must be a value, { from, to }, or { by } with an integer that is not 0`,
  );
}

function scalar(value: unknown, path: string): bigint | boolean {
  if (typeof value === "bigint" || typeof value === "boolean") {
    return value;
  }
  if (typeof value === "number" && Number.isSafeInteger(value)) {
    return BigInt(value);
  }
  throw new NoVerdict(
    `${path} is compared with ${typeof value} ${String(value)}; give an integer or a boolean`,
  );
}
