import { MaxUint256, getBytes, isAddress } from "ethers";
import { z } from "zod";

import { operationEntry } from "../protocol/index.js";
import type {
  OperationResult,
  ReadOperationName,
  WireType,
} from "../protocol/index.js";

/** Bytes in a JSON file of ours. */
export const recordedHex = z
  .string()
  .regex(/^0x(?:[0-9a-f]{2})*$/u, "expected 0x hex data, lower case");

/** A value of each wire type in a JSON file of ours. */
const recordedValues = {
  uint256: z
    .string()
    .regex(
      /^(?:0|[1-9][0-9]{0,77})$/u,
      "expected a whole number as a decimal string",
    )
    .transform(BigInt)
    .refine((value) => value <= MaxUint256, "above 2^256 - 1"),
  uint8: z.number().int().min(0).max(255),
  bool: z.boolean(),
  // Text, or its bytes where they are not UTF-8.
  string: z.union([
    z
      .object({ bytes: recordedHex })
      .strict()
      .transform(({ bytes }) => getBytes(bytes)),
    z.string(),
  ]),
  address: z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/u, "expected an address")
    .refine(isAddress, "its checksum is wrong"),
} as const satisfies Record<WireType, z.ZodTypeAny>;

/**
 * What an operation answers as a JSON file of ours has it, by the fields of the
 * operations table.
 */
export function recordedAnswer<
  Name extends ReadOperationName,
  Answer = OperationResult<Name>,
>(operation: Name): z.ZodType<Answer, z.ZodTypeDef, unknown> {
  const { outputs } = operationEntry(operation);
  const [only, ...others] = outputs.map(({ type }) => recordedValues[type]);
  const schema =
    only !== undefined && others.length === 0
      ? only
      : z
          .object(
            Object.fromEntries(
              outputs.map(({ name, type }) => [name, recordedValues[type]]),
            ),
          )
          .strict();
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the operations table has made both the schema and the type
  return schema as unknown as z.ZodType<Answer, z.ZodTypeDef, unknown>;
}
