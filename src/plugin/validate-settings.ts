import type { HardhatUserConfigValidationError } from "hardhat/types/hooks";
import { z } from "zod";

import { asRecord } from "../json.js";
import { byRole, displayDecimalsKeys } from "../protocol/index.js";

// Hardhat has loaded zod by then, for its own settings.

/** With more, 10^decimals exceeds uint256. */
const MAX_DECIMALS = 77;

/** Part of file names, on disks that may ignore case. */
const INSTANCE_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/u;

const NO_OBJECT = "expected an object";

/** An object with these optional properties and no others. */
function objectOf<Shape extends z.ZodRawShape>(what: string, shape: Shape) {
  const known = Object.keys(shape).join(", ");
  return z
    .object(shape, {
      errorMap: (issue) => ({
        message:
          issue.code === "unrecognized_keys"
            ? `unknown ${what} ${issue.keys.map((key) => JSON.stringify(key)).join(", ")}; the ${what}s are ${known}`
            : NO_OBJECT,
      }),
    })
    .strict();
}

const setting = (isRight: (value: unknown) => boolean, message: string) =>
  z.custom(isRight, message).optional();

function isHexAddress(value: unknown): boolean {
  return typeof value === "string" && /^0x[0-9a-fA-F]{40}$/u.test(value);
}

function isAddress(value: unknown): boolean {
  const { _type: type, name } = asRecord(value);
  return typeof value === "string"
    ? isHexAddress(value)
    : type === "ConfigurationVariable" && typeof name === "string";
}

const wei = setting(
  (value) => typeof value === "bigint" && value > 0n,
  "expected a positive bigint in wei, such as 50_000_000_000n",
);

const isWholeNumber =
  (least: number, most = Number.MAX_SAFE_INTEGER) =>
  (value: unknown): boolean =>
    Number.isInteger(value) && Number(value) >= least && Number(value) <= most;

const address = setting(
  isAddress,
  "expected an address (0x and 40 hex digits) or a configuration variable",
);

const decimals = setting(
  isWholeNumber(0, MAX_DECIMALS),
  `expected a whole number from 0 to ${MAX_DECIMALS}`,
);

const settings = objectOf("setting", {
  contracts: objectOf(
    "contract",
    byRole(() => address),
  ).optional(),
  guard: setting(
    (value) => value === false || isAddress(value),
    "expected an address (0x and 40 hex digits), a configuration variable, or false",
  ),
  maxFeePerGasLimit: wei,
  maxPriorityFeePerGasLimit: wei,
  timeBeforeBumpingFees: setting(
    isWholeNumber(1),
    "expected a whole number of milliseconds from 1 up",
  ),
  maxFeeBumps: setting(isWholeNumber(0), "expected a whole number from 0 up"),
  confirmations: setting(isWholeNumber(1), "expected a whole number from 1 up"),
  maxHeadAge: setting(
    (value) => value === false || isWholeNumber(1)(value),
    "expected a whole number of seconds from 1 up, or false",
  ),
  tokens: setting(
    (value) => Array.isArray(value) && value.every((one) => isHexAddress(one)),
    "expected a list of addresses (0x and 40 hex digits), which may be empty",
  ),
  tokenDecimals: decimals,
  displayDecimals: objectOf(
    "value of unknown scale",
    Object.fromEntries(displayDecimalsKeys.map((key) => [key, decimals])),
  ).optional(),
});

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

const networkSettings = objectOf("setting", {
  ...settings.shape,
  instances: z
    .record(
      z
        .string()
        .regex(
          INSTANCE_NAME,
          "expected the name of an instance: lower-case letters, digits, - and _",
        ),
      settings,
      { message: NO_OBJECT },
    )
    .optional(),
}).superRefine(checkFees);

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
