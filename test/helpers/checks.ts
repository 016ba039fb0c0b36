import { expect } from "chai";

import type { Check } from "../../src/plugin/check.js";

/** Name and status of each check. */
export const outline = (checks: readonly Check[]): readonly string[] =>
  checks.map(({ name, status }) => `${name} ${status}`);

/** The check of that name. */
export function named(checks: readonly Check[], name: string): Check {
  return (
    checks.find((check) => check.name === name) ??
    expect.fail(`${name} is none of ${outline(checks).join()}`)
  );
}
