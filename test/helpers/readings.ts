import { get, set, standaloneQueries } from "../../src/protocol/index.js";
import type { StandaloneReadings } from "../../src/client/index.js";
import { answerOf } from "./zero-answer.js";

/** Readings without arguments that a contract of this role answers, by path. */
export const pathsOf = (...roles: readonly string[]): readonly string[] =>
  standaloneQueries
    .filter(({ role }) => roles.length === 0 || roles.includes(role))
    .map(({ path }) => path.join("."));

/**
 * Readings that a test writes down, and values for what else the operations table has, so
 * that another operation leaves the test as it is.
 */
export function withOtherReadings<Known extends object>(
  known: Known,
  other: bigint | object,
): Known & StandaloneReadings {
  const readings = Object.assign<Record<string, unknown>, Known>({}, known);
  for (const { operation, path } of standaloneQueries) {
    if (get(known, path) === undefined) {
      const value =
        typeof other === "bigint" ? answerOf(operation, () => other) : other;
      set(readings, path, value);
    }
  }
  // each query of the table has a reading
  return readings as Known & StandaloneReadings;
}
