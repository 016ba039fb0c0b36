import { MaxUint256, getBytes } from "ethers";
import { z } from "zod";

import { answerOf } from "./protocol/index.js";
import type { OperationName, WireType } from "./protocol/index.js";

// How files of this package record the values of the wire, as `toJsonValue()`
// writes them.

/** Of a value that is recorded in another form. */
export type Schema<Value = unknown> = z.ZodType<Value, z.ZodTypeDef, unknown>;

/** What this machine counts: blocks, seconds, nonces, chains. */
export const recordedCount = z.number().int().nonnegative();

export const recordedHex = z
  .string()
  .regex(/^0x(?:[0-9a-f]{2})*$/iu, "expected 0x hex data");

/** Its checksum is not checked: that takes 0.15 s for ten thousand. */
export const recordedAddress = z
  .string()
  .regex(/^0x[0-9a-f]{40}$/iu, "expected an address");

const NO_INTEGER = "expected a whole number as a decimal string";

export const recordedInteger = z
  .string({ message: NO_INTEGER })
  .regex(/^(?:0|[1-9][0-9]{0,77})$/u, NO_INTEGER)
  .transform((digits, { addIssue }) => {
    const integer = BigInt(digits);
    if (integer > MaxUint256) {
      addIssue({ code: "custom", message: "above 2^256 - 1" });
    }
    return integer;
  });

const recordedValues = {
  uint256: recordedInteger,
  uint8: recordedCount.max(255),
  bool: z.boolean(),
  // Text, or its bytes where they are not UTF-8.
  string: z.union([
    z.string({ message: "expected a text, or its bytes as 0x hex data" }),
    z
      .object({ bytes: recordedHex })
      .strict()
      .transform(({ bytes }) => getBytes(bytes)),
  ]),
  address: recordedAddress.toLowerCase(),
} as const satisfies Record<WireType, Schema>;

/** What an operation answers, by its fields in the table of operations. */
export function recordedAnswer(operation: OperationName): Schema {
  return recordedFields(
    answerOf(operation, ({ type }) => recordedValues[type]),
  );
}

/** The schema itself, or that of an object with a schema for each field. */
export function recordedFields(place: unknown): Schema {
  return place instanceof z.ZodType
    ? // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- whatever it makes, which instanceof leaves open
      (place as Schema)
    : z.object(Object(place)).strict();
}

/**
 * Reads a file's text.
 *
 * @param describe Says what is wrong with its values.
 * @param invalid Makes the error of a file that cannot be used.
 */
export function parseRecorded<Value>(
  text: string,
  schema: Schema<Value>,
  describe: (issues: readonly z.ZodIssue[]) => string,
  invalid: (problem: string, cause: unknown) => Error,
): Value {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw invalid("it is not JSON", error);
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success) {
    throw invalid(describe(parsed.error.issues), parsed.error);
  }
  return parsed.data;
}
