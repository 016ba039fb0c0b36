import { MaxUint256, isHexString } from "ethers";
import { z } from "zod";

import type { Address, Hex, VaultRound } from "../protocol/index.js";

// Schemas of the values that `toJsonValue()` writes.

export type Schema<Value = unknown> = z.ZodType<Value, z.ZodTypeDef, unknown>;

/** A number of blocks or seconds, a chain id or a nonce. */
export const recordedCount = z.number().int().nonnegative();

export const recordedHex = z
  .string()
  .regex(/^0x(?:[0-9a-f]{2})*$/iu, "expected 0x hex data");

export const recordedHash = z
  .string()
  .refine((value): value is Hex => isHexString(value, 32), "expected a hash");

export const recordedAddress = z
  .string()
  .refine(
    (value): value is Address => isHexString(value, 20),
    "expected an address",
  );

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

export const recordedRound = z
  .object({
    strikePrice: recordedInteger,
    APY: recordedInteger,
    maxVolume: recordedInteger,
    filledVolume: recordedInteger,
    minDeposit: recordedInteger,
    startTime: recordedInteger,
    endTime: recordedInteger,
    settledPrice: recordedInteger,
    settledAmount: recordedInteger,
    settled: z.boolean(),
  } satisfies Readonly<Record<keyof VaultRound, Schema>>)
  .strict();
