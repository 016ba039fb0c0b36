import { invalidArgument } from "../errors.js";
import { describeInput } from "./inputs.js";

/**
 * The names of all options of a type, as keys. They stand next to the type: the
 * compiler refuses a missing name and one that the type lacks.
 */
export type OptionNames<Options extends object> = Readonly<
  Record<keyof Options & string, true>
>;

/**
 * Refuses a misspelt option, which would be ignored.
 *
 * @param where Names the function in errors.
 * @throws VaultError VAULT_INVALID_ARGUMENT
 */
export function checkOptionNames<Options extends object>(
  where: string,
  options: Options | null | undefined,
  names: OptionNames<Options>,
): void {
  if (options === undefined) {
    return;
  }
  const known = Object.keys(names).join(", ");
  if (
    typeof options !== "object" ||
    options === null ||
    Array.isArray(options)
  ) {
    throw invalidArgument(
      where,
      `an object with options is needed, got ${describeInput(options)}; the options are ${known}`,
    );
  }
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(names, name)) {
      throw invalidArgument(
        where,
        `${describeInput(name)} is not an option; the options are ${known}`,
      );
    }
  }
}
