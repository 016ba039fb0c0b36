import { expect } from "chai";

import type { Check } from "../../src/plugin/doctor.js";

export const outline = (checks: readonly Check[]): readonly string[] =>
  checks.map(({ name, status }) => `${name} ${status}`);

export function named(checks: readonly Check[], name: string): Check {
  return (
    checks.find((check) => check.name === name) ??
    expect.fail(`${name} is none of ${outline(checks).join()}`)
  );
}
