import type { Check } from "../../src/plugin/check.js";

/** Name and status of each check. */
export const outline = (checks: readonly Check[]): readonly string[] =>
  checks.map(({ name, status }) => `${name} ${status}`);

/** The check of that name. */
export function named(checks: readonly Check[], name: string): Check {
  const found = checks.find((check) => check.name === name);
  if (found === undefined) {
    throw new Error(`${name} is none of ${outline(checks).join()}`);
  }
  return found;
}
