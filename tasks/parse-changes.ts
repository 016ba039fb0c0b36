import { deepMerge } from "@nomicfoundation/hardhat-utils/lang";

import { describeInput } from "../src/client/inputs.js";
import { parseTime } from "../src/client/parse-time.js";
import { checkValue } from "../src/mocks/values.js";
import type { CheckedField } from "../src/mocks/values.js";
import { invalidArgument } from "../src/errors.js";
import { asRecord } from "../src/json.js";
import { answers, orderFields, settlementFields } from "../src/mocks/state.js";
import type { MockOverrides } from "../src/mocks/types.js";
import { placesOf } from "../src/protocol/index.js";

/** A typed value, for example `round.strikePrice=65000e18`. */
export interface Assignment {
  readonly path: string;
  readonly text: string;
}

export function parseAssignments(
  texts: readonly string[],
  example = "round.strikePrice=65000e18",
): readonly Assignment[] {
  const assignments = texts.map((each): Assignment => {
    const [, path, text] = /^([^=]+)=(.*)$/su.exec(each) ?? [];
    if (path === undefined || text === undefined) {
      throw invalidArgument(
        describeInput(each),
        `it is not path=value, as in ${example}`,
      );
    }
    return { path: path.replace(/^orders\.0+(?=[0-9])/u, "orders."), text };
  });
  for (const [index, { path }] of assignments.entries()) {
    const other = assignments
      .slice(0, index)
      .find(
        (earlier) =>
          `${path}.`.startsWith(`${earlier.path}.`) ||
          `${earlier.path}.`.startsWith(`${path}.`),
      );
    if (other !== undefined) {
      throw invalidArgument(
        describeInput(path),
        `it cannot be given together with ${describeInput(other.path)}: one would be lost`,
      );
    }
  }
  return assignments;
}

const fieldsByPath: ReadonlyMap<string, CheckedField> = new Map<
  string,
  CheckedField
>([
  ...answers
    .flatMap(placesOf)
    .map(({ path, field }) => [path.join("."), field] as const),
  ...settlementFields.map(
    (field) => [`settlement.${field.name}`, field] as const,
  ),
  ["missingOrdersRevert", { type: "bool", unit: "none" }],
]);

/** @param now Unix seconds; `+7d` counts from it. */
export function parseChanges(
  assignments: readonly Assignment[],
  now: number,
): MockOverrides {
  // The handle refuses unknown paths.
  let changes: object = {};
  for (const { path, text } of assignments) {
    const [group, , name] = path.split(".");
    if (path.split(".").includes("__proto__")) {
      // Merging would drop it.
      throw invalidArgument(path, "there is no such value");
    }
    const field =
      fieldsByPath.get(path) ??
      (group === "orders"
        ? orderFields.find((known) => known.name === name)
        : undefined);
    let change =
      field !== undefined
        ? parseField(field, path, text, now)
        : text === "none"
          ? null
          : text;
    for (const key of path.split(".").toReversed()) {
      change = { [key]: change };
    }
    changes = deepMerge(changes, asRecord(change));
  }
  return changes;
}

/** Parses an unscaled value; a time may also be a date or a duration. */
function parseField(
  field: CheckedField,
  where: string,
  text: string,
  now: number,
): unknown {
  const value =
    field.type === "uint256" && field.unit === "timestamp"
      ? parseTime(text, where, now)
      : text;
  return checkValue(field, value, where);
}
