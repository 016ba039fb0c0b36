import { isAddress } from "@nomicfoundation/hardhat-utils/eth";
import { isValidChecksumAddress } from "@nomicfoundation/hardhat-utils/eth";
import {
  conditionalUnionType,
  configurationVariableSchema,
  validateUserConfigZodType,
} from "@nomicfoundation/hardhat-zod-utils";
import type { HardhatUserConfigValidationError } from "hardhat/types/hooks";
import { z } from "zod";

import { byRole, contractRoleNames } from "../protocol/contracts.js";
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
  contracts: z
    .object(
      byRole(() => addressSchema.optional()),
      { errorMap: namingUnknownKeys("contract", contractRoleNames) },
    )
    .strict()
    .optional(),
  tokenDecimals: decimalsSchema.optional(),
  displayDecimals: z
    .object(
      Object.fromEntries(
        displayDecimalsKeys.map((key) => [key, decimalsSchema.optional()]),
      ),
      {
        errorMap: namingUnknownKeys(
          "value of unknown scale",
          displayDecimalsKeys,
        ),
      },
    )
    .strict()
    .optional(),
};

/** It becomes part of file names, on disks that may ignore case. */
const instanceName = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/u, {
  message:
    "expected the name of an instance: lower-case letters, digits, - and _",
});

const vaultSchema = settingsSchema({
  ...instanceSettings,
  instances: z
    .record(instanceName, settingsSchema(instanceSettings))
    .optional(),
});

function settingsSchema<Shape extends z.ZodRawShape>(
  shape: Shape,
): z.ZodObject<Shape, "strict"> {
  return z
    .object(shape, {
      errorMap: namingUnknownKeys("setting", Object.keys(shape)),
    })
    .strict();
}

/** Zod's own text for unknown keys does not say which ones there are. */
function namingUnknownKeys(
  what: string,
  known: readonly string[],
): z.ZodErrorMap {
  return (issue, { defaultError }) => ({
    message:
      issue.code === "unrecognized_keys"
        ? `unknown ${what} ${issue.keys.map((key) => JSON.stringify(key)).join(", ")}; the ${what}s are ${known.join(", ")}`
        : defaultError,
  });
}

/**
 * Checks `networks.<networkName>.vault`. The value of a configuration variable
 * can only be checked when it is read.
 *
 * @returns The mistakes, each with its path from the root of the configuration.
 */
export async function validateVaultNetworkUserConfig(
  networkName: string,
  vault: unknown,
): Promise<HardhatUserConfigValidationError[]> {
  const errors = validateUserConfigZodType(
    { networks: { [networkName]: { vault } } },
    z.object({
      networks: z.object({ [networkName]: z.object({ vault: vaultSchema }) }),
    }),
  );
  if (errors.length > 0) {
    return errors;
  }
  const { contracts, instances } = vaultSchema.parse(vault);
  const sets: ReadonlyArray<readonly [path: string[], contracts: object]> = [
    [[], contracts ?? {}],
    ...Object.entries(instances ?? {}).map(
      ([name, instance]): [string[], object] => [
        ["instances", name],
        instance.contracts ?? {},
      ],
    ),
  ];
  for (const [path, addresses] of sets) {
    for (const [role, address] of Object.entries(addresses)) {
      if (await hasWrongChecksum(address)) {
        errors.push({
          path: ["networks", networkName, "vault", ...path, "contracts", role],
          message: `the checksum of the address ${String(address)} is wrong`,
        });
      }
    }
  }
  return errors;
}

async function hasWrongChecksum(address: unknown): Promise<boolean> {
  return (
    typeof address === "string" &&
    /[a-f]/u.test(address) &&
    /[A-F]/u.test(address) &&
    !(await isValidChecksumAddress(address))
  );
}
