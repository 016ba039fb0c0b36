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

const settings = {
  contracts: objectOf(
    "contract",
    byRole(() => validateAddress),
  ),
  tokenDecimals: validateDecimals,
  displayDecimals: objectOf(
    "value of unknown scale",
    Object.fromEntries(
      displayDecimalsKeys.map((key) => [key, validateDecimals]),
    ),
  ),
};

const validateInstance = objectOf("setting", settings);

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

const validateSettings = objectOf("setting", {
  ...settings,
  instances: validateInstances,
});

/** Validates `networks.<name>.vault`, except the values of configuration variables. */
export async function validateVaultSettings(
  vault: unknown,
  path: Path,
): Promise<Mistakes> {
  const wrong = await findWrongChecksums(vault, path);
  return [...validateSettings(vault, path), ...wrong];
}

async function findWrongChecksums(
  vault: unknown,
  path: Path,
): Promise<Mistakes> {
  const { contracts, instances } = asRecord(vault);
  const mistakes: Mistakes = [];
  for (const [role, address] of Object.entries(asRecord(contracts))) {
    // Only mixed case has a checksum; loading the hash function takes 20 ms.
    if (isAddress(address) && /[a-f].*[A-F]|[A-F].*[a-f]/u.test(address)) {
      const { isValidChecksumAddress } =
        await import("@nomicfoundation/hardhat-utils/eth");
      if (!(await isValidChecksumAddress(address))) {
        mistakes.push({
          path: [...path, "contracts", role],
          message: `the checksum of ${address} is wrong: a digit is mistyped, or give it in lower case`,
        });
      }
    }
  }
  for (const [name, instance] of Object.entries(asRecord(instances))) {
    mistakes.push(
      ...(await findWrongChecksums(instance, [...path, "instances", name])),
    );
  }
  return mistakes;
}
