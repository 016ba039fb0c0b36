import { assertInvariant } from "../src/errors.js";
import { enumWords } from "../src/protocol/enums.js";
import type { Field } from "../src/protocol/operations.js";
import {
  amount,
  flag,
  integer,
  oneOf,
  option,
  percent,
  positional,
  time,
} from "./options.js";
import type { Option, Options } from "./options.js";
import { ofReads } from "./shared-options.js";

/** The options of the task of an operation: one for each input. */
export function readOptions(
  inputs: readonly Field[],
): typeof ofReads & Options {
  const isScaled = inputs.some(({ unit }) => /^(?:token|percent)$/u.test(unit));
  return {
    ...ofReads,
    ...(isScaled && { raw: flag("Show and take unscaled integers") }),
    ...Object.fromEntries(
      inputs.map((field): [string, Option<unknown>] => {
        const name = field.option ?? field.name;
        assertInvariant(
          !Object.hasOwn(ofReads, name),
          `an operation's input is named like the option ${name}`,
        );
        return [name, inputOption(field)];
      }),
    ),
  };
}

function inputOption({ unit, label }: Field): Option<unknown> {
  switch (unit) {
    case "contractType":
      return option(oneOf(enumWords.contractType), label, { default: "all" });
    case "timestamp":
      return option(time, label, { required: true });
    case "token":
      return option(amount, label, { required: true });
    case "percent":
      return option(percent, label, { required: true });
    case "none":
      return positional(integer, label);
    default:
      return option(integer, label, { required: true });
  }
}
