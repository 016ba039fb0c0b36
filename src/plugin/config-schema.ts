import {
  isAddress,
  isValidChecksumAddress,
} from "@nomicfoundation/hardhat-utils/eth";
import {
  conditionalUnionType,
  configurationVariableSchema,
  validateUserConfigZodType,
} from "@nomicfoundation/hardhat-zod-utils";
import type { HardhatUserConfigValidationError } from "hardhat/types/hooks";
import { z } from "zod";

import { asRecord } from "../json.js";
import { byRole } from "../protocol/contracts.js";
import { displayDecimalsKeys } from "../protocol/display-decimals.js";

/** More decimals than any token has; above it, 10^decimals exceeds uint256. */
const MAX_DECIMALS = 77;

const addressSchema = conditionalUnionType(
  [
    [
      (value) => typeof value === "string",
      z.string().refine(isAddress, {
        message: "expected an address: 0x and 40 hex digits",
      }),
    ],
    [
      (value) => typeof value === "object" && value !== null,
      configurationVariableSchema,
    ],
  ],
  "expected an address or a configuration variable",
);

const decimalsSchema = z.number().int().min(0).max(MAX_DECIMALS);

const instanceSettings = {
  contracts: strictObject(
    "contract",
    byRole(() => addressSchema.optional()),
  ).optional(),
  tokenDecimals: decimalsSchema.optional(),
  displayDecimals: strictObject(
    "value of unknown scale",
    Object.fromEntries(
      displayDecimalsKeys.map((key) => [key, decimalsSchema.optional()]),
    ),
  ).optional(),
};

/** It becomes part of file names, on disks that may ignore case. */
const instanceName = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/u, {
  message:
    "expected the name of an instance: lower-case letters, digits, - and _",
});

const vaultSchema = strictObject("setting", {
  ...instanceSettings,
  instances: z
    .record(instanceName, strictObject("setting", instanceSettings))
    .optional(),
});

/** Zod's own text for unknown keys does not say which ones there are. */
function strictObject<Shape extends z.ZodRawShape>(
  what: string,
  shape: Shape,
): z.ZodObject<Shape, "strict"> {
  const known = Object.keys(shape).join(", ");
  return z
    .object(shape, {
      errorMap: (issue, { defaultError }) => ({
        message:
          issue.code === "unrecognized_keys"
            ? `unknown ${what} ${issue.keys.map((key) => JSON.stringify(key)).join(", ")}; the ${what}s are ${known}`
            : defaultError,
      }),
    })
    .strict();
}

/**
 * Checks `networks.<networkName>.vault`, but for the values of configuration
 * variables, which are checked when they are first used.
 *
 * @returns The mistakes, each with its path from the root of the configuration.
 */
export async function validateVaultNetworkUserConfig(
  networkName: string,
  vault: unknown,
): Promise<HardhatUserConfigValidationError[]> {
  return [
    ...validateUserConfigZodType(
      { networks: { [networkName]: { vault } } },
      z.object({
        networks: z.object({ [networkName]: z.object({ vault: vaultSchema }) }),
      }),
    ),
    ...(await findWrongChecksums(["networks", networkName, "vault"], vault)),
  ];
}

async function findWrongChecksums(
  path: readonly string[],
  settings: unknown,
): Promise<HardhatUserConfigValidationError[]> {
  const { contracts, instances } = asRecord(settings);
  const errors: HardhatUserConfigValidationError[] = [];
  for (const [role, address] of Object.entries(asRecord(contracts))) {
    // Only an address in mixed case has a checksum. Others cost no hashing,
    // which takes 20 ms at a start.
    if (
      isAddress(address) &&
      /[a-f]/u.test(address) &&
      /[A-F]/u.test(address) &&
      !(await isValidChecksumAddress(address))
    ) {
      errors.push({
        path: [...path, "contracts", role],
        message: `the checksum of ${address} is wrong: a digit is mistyped, or give it in lower case`,
      });
    }
  }
  for (const [name, instance] of Object.entries(asRecord(instances))) {
    errors.push(
      ...(await findWrongChecksums([...path, "instances", name], instance)),
    );
  }
  return errors;
}
