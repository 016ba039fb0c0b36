import { isAddress } from "@nomicfoundation/hardhat-utils/eth";
import { isValidChecksumAddress } from "@nomicfoundation/hardhat-utils/eth";
import {
  conditionalUnionType,
  configurationVariableSchema,
  validateUserConfigZodType,
} from "@nomicfoundation/hardhat-zod-utils";
import type { HardhatUserConfigValidationError } from "hardhat/types/hooks";
import { z } from "zod";

import { contractRoleNames } from "../protocol/contracts.js";

/** More decimals than any token has; above it, 10^decimals exceeds uint256. */
const MAX_TOKEN_DECIMALS = 77;

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

const vaultSchema = z
  .object(
    {
      contracts: z
        .object(
          Object.fromEntries(
            contractRoleNames.map((role) => [role, addressSchema.optional()]),
          ),
          {
            errorMap: namingUnknownKeys("contract", contractRoleNames),
          },
        )
        .strict()
        .optional(),
      tokenDecimals: z.number().int().min(0).max(MAX_TOKEN_DECIMALS).optional(),
    },
    { errorMap: namingUnknownKeys("setting", ["contracts", "tokenDecimals"]) },
  )
  .strict();

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
  const { contracts } = vaultSchema.parse(vault);
  for (const [role, address] of Object.entries(contracts ?? {})) {
    if (await hasWrongChecksum(address)) {
      errors.push({
        path: ["networks", networkName, "vault", "contracts", role],
        message: `the checksum of the address ${String(address)} is wrong`,
      });
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
