import { isObject } from "@nomicfoundation/hardhat-utils/lang";
import type { HardhatUserConfigValidationError } from "hardhat/types/hooks";

import { asRecord } from "../json.js";
import { byRole } from "../protocol/contracts.js";
import { displayDecimalsKeys } from "../protocol/display-decimals.js";

// Without zod, which took 30 ms of every start of Hardhat.

/** With more, 10^decimals exceeds uint256. */
const MAX_DECIMALS = 77;

/** Part of file names, on disks that may ignore case. */
const INSTANCE_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/u;

type Path = readonly string[];
type Mistakes = HardhatUserConfigValidationError[];
type Validate = (value: unknown, path: Path) => Mistakes;

const mistake = (path: Path, message: string): Mistakes => [
  { path: [...path], message },
];

/** Accepts an object with these optional properties and no others. */
function objectOf(
  what: string,
  properties: Readonly<Record<string, Validate>>,
): Validate {
  return (value, path) => {
    if (!isObject(value)) {
      return mistake(path, "expected an object");
    }
    const unknown = Object.keys(value).filter(
      (key) => !Object.hasOwn(properties, key),
    );
    return [
      ...(unknown.length === 0
        ? []
        : mistake(
            path,
            `unknown ${what} ${unknown.map((key) => JSON.stringify(key)).join(", ")}; the ${what}s are ${Object.keys(properties).join(", ")}`,
          )),
      ...Object.entries(properties).flatMap(([key, validate]) =>
        value[key] === undefined ? [] : validate(value[key], [...path, key]),
      ),
    ];
  };
}

function isAddress(value: unknown): value is string {
  return typeof value === "string" && /^0x[0-9a-fA-F]{40}$/u.test(value);
}

const validateAddress: Validate = (value, path) => {
  const { _type: type, name } = asRecord(value);
  return isAddress(value) ||
    (type === "ConfigurationVariable" && typeof name === "string")
    ? []
    : mistake(
        path,
        "expected an address (0x and 40 hex digits) or a configuration variable",
      );
};

const validateDecimals: Validate = (value, path) =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_DECIMALS
    ? []
    : mistake(path, `expected a whole number from 0 to ${MAX_DECIMALS}`);

const validateGuard: Validate = (value, path) =>
  value === false || validateAddress(value, path).length === 0
    ? []
    : mistake(
        path,
        "expected an address (0x and 40 hex digits), a configuration variable, or false",
      );

const validateWei: Validate = (value, path) =>
  typeof value === "bigint" && value > 0n
    ? []
    : mistake(
        path,
        "expected a positive bigint in wei, such as 50_000_000_000n",
      );

const wholeNumber =
  (least: number, unit: string): Validate =>
  (value, path) =>
    Number.isSafeInteger(value) && Number(value) >= least
      ? []
      : mistake(path, `expected a whole number ${unit}from ${least} up`);

const validateHeadAge: Validate = (value, path) =>
  value === false || (Number.isSafeInteger(value) && Number(value) > 0)
    ? []
    : mistake(path, "expected a whole number of seconds from 1 up, or false");

const settings = {
  contracts: objectOf(
    "contract",
    byRole(() => validateAddress),
  ),
  guard: validateGuard,
  maxFeePerGasLimit: validateWei,
  maxPriorityFeePerGasLimit: validateWei,
  timeBeforeBumpingFees: wholeNumber(1, "of milliseconds "),
  maxFeeBumps: wholeNumber(0, ""),
  maxHeadAge: validateHeadAge,
  tokenDecimals: validateDecimals,
  displayDecimals: objectOf(
    "value of unknown scale",
    Object.fromEntries(
      displayDecimalsKeys.map((key) => [key, validateDecimals]),
    ),
  ),
};

const validateFields = objectOf("setting", settings);

/** Also refuses a tip above the whole price, which no transaction may offer. */
const validateInstance: Validate = (value, path) => [
  ...validateFields(value, path),
  ...findTipAboveFee(value, path),
];

function findTipAboveFee(value: unknown, path: Path): Mistakes {
  const { maxFeePerGasLimit: fee, maxPriorityFeePerGasLimit: tip } =
    asRecord(value);
  return typeof fee === "bigint" && typeof tip === "bigint" && tip > fee
    ? mistake(
        [...path, "maxPriorityFeePerGasLimit"],
        "may not exceed maxFeePerGasLimit",
      )
    : [];
}

const validateInstances: Validate = (value, path) =>
  isObject(value)
    ? Object.entries(value).flatMap(([name, instance]) =>
        INSTANCE_NAME.test(name)
          ? validateInstance(instance, [...path, name])
          : mistake(
              [...path, name],
              "expected the name of an instance: lower-case letters, digits, - and _",
            ),
      )
    : mistake(path, "expected an object");

const validateNetworkFields = objectOf("setting", {
  ...settings,
  instances: validateInstances,
});

/**
 * Validates `networks.<name>.vault`, except checksums and the values of configuration
 * variables.
 */
export function validateVaultSettings(vault: unknown, path: Path): Mistakes {
  return [
    ...validateNetworkFields(vault, path),
    ...findTipAboveFee(vault, path),
  ];
}
