import { Buffer } from "node:buffer";

import { AbiCoder, ParamType, dataSlice } from "ethers";
import type { ErrorFragment, FunctionFragment } from "ethers";

/** Values by their names, nested as in the ABI. */
export type Values = Readonly<Record<string, unknown>>;

export interface DecodedArguments {
  readonly values: Values;
  /** The bytes behind the encoding, 0x hex. */
  readonly trailing?: string;
}

/**
 * Decodes what follows the four bytes of a call or of a custom error.
 *
 * @returns Undefined if the bytes do not begin with a canonical encoding.
 */
export function decodeArguments(
  { inputs }: ErrorFragment | FunctionFragment,
  data: string,
  names: readonly string[] = inputs.map(nameOf),
): DecodedArguments | undefined {
  const coder = AbiCoder.defaultAbiCoder();
  // Of a string that is not UTF-8, ethers would make an error.
  const types = inputs.map((input) =>
    ParamType.from(input.format("full").replaceAll(/\bstring\b/gu, "bytes")),
  );
  const encoded = dataSlice(data, 4);
  try {
    const values: readonly unknown[] = coder.decode(types, encoded).toArray();
    const canonical = coder.encode(types, [...values]);
    if (!encoded.startsWith(canonical)) {
      return undefined;
    }
    const trailing = encoded.slice(canonical.length);
    return {
      values: Object.fromEntries(
        inputs.map((input, index) => [
          names[index] ?? nameOf(input, index),
          toPlain(input, values[index]),
        ]),
      ),
      ...(trailing === "" ? {} : { trailing: `0x${trailing}` }),
    };
  } catch {
    return undefined;
  }
}

/** Never a bare number, which an object would put before all others. */
function nameOf({ name }: ParamType, index: number): string {
  return name === "" ? `_${index}` : name;
}

/** A decoded value without what ethers adds, its texts as far as they are UTF-8. */
function toPlain(type: ParamType, value: unknown): unknown {
  if (type.isArray() || type.isTuple()) {
    const items: readonly unknown[] = Array.isArray(value) ? value : [];
    return type.isArray()
      ? items.map((item) => toPlain(type.arrayChildren, item))
      : Object.fromEntries(
          type.components.map((component, index) => [
            nameOf(component, index),
            toPlain(component, items[index]),
          ]),
        );
  }
  return type.baseType === "string"
    ? Buffer.from(String(value).slice(2), "hex").toString("utf8")
    : value;
}
