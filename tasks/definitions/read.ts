import { enumWords } from "../../src/protocol/enums.js";
import type { Field } from "../../src/protocol/operations.js";
import {
  amount,
  flag,
  integer,
  oneOf,
  option,
  percent,
  positional,
  requiredOption,
  time,
} from "./options.js";
import type { Option, Options } from "./options.js";
import { describeTask, ofReads } from "./shared.js";
import type { Task } from "./shared.js";

/** The task of an operation, with an option for each input. */
export function readTask(
  description: string,
  inputs: readonly Field[],
): Task<typeof ofReads & Options> {
  const isScaled = inputs.some(({ unit }) => /^(?:token|percent)$/u.test(unit));
  return describeTask(description, {
    ...ofReads,
    ...(isScaled && { raw: flag("Show and take unscaled integers") }),
    ...Object.fromEntries(
      inputs.map((field) => [field.option ?? field.name, inputOption(field)]),
    ),
  });
}

function inputOption({ unit, label }: Field): Option<unknown> {
  switch (unit) {
    case "contractType":
      return option(oneOf(enumWords.contractType), label, { default: "all" });
    case "timestamp":
      return requiredOption(time, label);
    case "token":
      return requiredOption(amount, label);
    case "percent":
      return requiredOption(percent, label);
    case "none":
      return positional(integer, label);
    default:
      return requiredOption(integer, label);
  }
}
