import { assertInvariant } from "../../src/errors.js";
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
): Task<ReadOptions> {
  const shared = describeTask(description, ofReads);
  const isScaled = inputs.some(({ unit }) => /^(?:token|percent)$/u.test(unit));
  const ofInputs = inputs.map((field): [string, Option<unknown>] => {
    const name = field.option ?? field.name;
    assertInvariant(
      !Object.hasOwn(shared.options, name),
      `an operation's input is named like the option ${name}`,
    );
    return [name, inputOption(field)];
  });
  return {
    description,
    options: {
      ...shared.options,
      ...(isScaled && { raw: flag("Show and take unscaled integers") }),
      ...Object.fromEntries(ofInputs),
    },
  };
}

type ReadOptions = typeof ofReads & Options;

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
