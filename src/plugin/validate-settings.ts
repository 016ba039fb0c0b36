import type { HardhatUserConfigValidationError } from "hardhat/types/hooks";
import { z } from "zod";

import { asRecord } from "../json.js";
import { byRole, displayDecimalsKeys } from "../protocol/index.js";

// Hardhat has loaded zod by then, for its own settings.

/** With more, 10^decimals exceeds uint256. */
const MAX_DECIMALS = 77;

/** Part of file names, on disks that may ignore case. */
const INSTANCE_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/u;

function isHexAddress(value: unknown): boolean {
  return typeof value === "string" && /^0x[0-9a-fA-F]{40}$/u.test(value);
}

function isAddress(value: unknown): boolean {
  const { _type: type, name } = asRecord(value);
  return typeof value === "string"
    ? isHexAddress(value)
    : type === "ConfigurationVariable" && typeof name === "string";
}

const address = z
  .custom(
    isAddress,
    "expected an address (0x and 40 hex digits) or a configuration variable",
  )
  .optional();

const wei = z.bigint().positive().optional();
const count = z.number().int().safe().min(1);
const decimals = z.number().int().min(0).max(MAX_DECIMALS).optional();

const settings = z
  .object({
    contracts: z
      .object(byRole(() => address))
      .strict()
      .optional(),
    guard: z
      .custom(
        (value) => value === false || isAddress(value),
        "expected an address (0x and 40 hex digits), a configuration variable, or false",
      )
      .optional(),
    maxFeePerGasLimit: wei,
    maxPriorityFeePerGasLimit: wei,
    timeBeforeBumpingFees: count.optional(),
    maxFeeBumps: z.number().int().safe().min(0).optional(),
    confirmations: count.optional(),
    maxHeadAge: z
      .custom(
        (value) => value === false || count.safeParse(value).success,
        "expected a whole number of seconds from 1 up, or false",
      )
      .optional(),
    tokens: z
      .array(z.custom(isHexAddress, "expected 0x and 40 hex digits"))
      .optional(),
    tokenDecimals: decimals,
    displayDecimals: z
      .object(
        Object.fromEntries(displayDecimalsKeys.map((key) => [key, decimals])),
      )
      .strict()
      .optional(),
  })
  .strict();

/**
 * Refuses a tip above the whole price, which no transaction may offer, and fees that are
 * raised without a limit. An instance inherits the limit of its network.
 */
function checkFees(value: unknown, { addIssue }: z.RefinementCtx): void {
  const network = asRecord(value);
  const check = (own: unknown, path: readonly string[]): void => {
    const {
      maxFeePerGasLimit: limit = network["maxFeePerGasLimit"],
      maxPriorityFeePerGasLimit: tip,
      timeBeforeBumpingFees,
    } = asRecord(own);
    const refuse = (name: string, message: string): void => {
      addIssue({ code: "custom", path: [...path, name], message });
    };
    if (typeof limit === "bigint" && typeof tip === "bigint" && tip > limit) {
      refuse("maxPriorityFeePerGasLimit", "may not exceed maxFeePerGasLimit");
    }
    if (timeBeforeBumpingFees !== undefined && limit === undefined) {
      refuse(
        "timeBeforeBumpingFees",
        "needs maxFeePerGasLimit, up to which fees are raised",
      );
    }
  };
  check(network, []);
  for (const [name, one] of Object.entries(asRecord(network["instances"]))) {
    check(one, ["instances", name]);
  }
}

const instanceName = z
  .string()
  .regex(
    INSTANCE_NAME,
    "expected the name of an instance: lower-case letters, digits, - and _",
  );

const networkSettings = settings
  .extend({ instances: z.record(instanceName, settings).optional() })
  .superRefine(checkFees);

/**
 * Validates `networks.<name>.vault`, except checksums and the values of configuration
 * variables.
 */
export function validateVaultSettings(
  vault: unknown,
  path: readonly string[],
): HardhatUserConfigValidationError[] {
  const { error } = networkSettings.safeParse(vault);
  return (error?.issues ?? []).map(({ path: inner, message }) => ({
    path: [...path, ...inner],
    message,
  }));
}
