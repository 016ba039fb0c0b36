import type { Field } from "../src/protocol/operations.js";
import type { Unit } from "../src/protocol/units.js";

// Loaded with the tasks' definitions, by every run of Hardhat.

const forms: { readonly [Name in Unit]?: string } = {
  contractType: ": call or put; both unless given",
  token: ", in tokens",
  percent: ", in percent",
  timestamp: ": ISO date, +7d (from the chain's clock) or Unix seconds",
};

/** What an operation's argument is, and the form in which it is typed. */
export function describeArgument({ label, unit }: Field): string {
  return `${label}${forms[unit] ?? ""}`;
}

/** True if the operation is read for every value where none is given. */
export function isOptional({ unit }: Field): boolean {
  return unit === "contractType";
}
