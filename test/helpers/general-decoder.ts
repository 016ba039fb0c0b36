import { AbiCoder, getBytes } from "ethers";

import { operations } from "../../src/client/index.js";
import type { ReadOperationName } from "../../src/client/index.js";

/**
 * The values of an answer by ethers' general coder, by name, where they encode
 * to the same bytes; else undefined.
 */
export function decodeGenerally(
  name: ReadOperationName,
  data: string,
): Readonly<Record<string, unknown>> | undefined {
  const { outputs } = operations[name];
  // ethers throws at strings that are not UTF-8; bytes are encoded alike.
  const types = outputs.map(({ type }) => (type === "string" ? "bytes" : type));
  const coder = AbiCoder.defaultAbiCoder();
  try {
    const values: unknown[] = coder.decode(types, data).toArray();
    return coder.encode(types, values) === data
      ? Object.fromEntries(
          outputs.map((field, index) => [
            field.name,
            toApiValue(field.type, values[index]),
          ]),
        )
      : undefined;
  } catch {
    return undefined;
  }
}

function toApiValue(type: string, value: unknown): unknown {
  switch (type) {
    case "uint8":
      return Number(value);
    case "string":
      return new TextDecoder("utf-8", { ignoreBOM: true }).decode(
        getBytes(String(value)),
      );
    default:
      return value;
  }
}
