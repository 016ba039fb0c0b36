import { inspect } from "node:util";

import { expect } from "chai";
import { MaxUint256 } from "ethers";

import { checkValue } from "../../src/mocks/values.js";
import type { CheckedField } from "../../src/mocks/values.js";
import { expectVaultError } from "../helpers/assertions.js";
import { SECOND } from "../helpers/names.js";

const plain = <T extends CheckedField["type"]>(type: T) =>
  ({ type, unit: "none" }) as const;
const state = { type: "uint8", unit: "orderState" } as const;
const flag = plain("bool");

describe("values of operations", () => {
  for (const [field, value, checked] of [
    [plain("uint256"), "1e3", 1_000n],
    [state, "closed", 2],
    // A contract may return an unlisted number.
    [state, "255", 255],
    [plain("uint8"), "0x1f", 31],
    [plain("address"), SECOND.toLowerCase(), SECOND],
    [flag, "false", false],
    [plain("string"), "0x41", "0x41"],
  ] as const) {
    it(`checkValue() takes ${inspect(value)} as ${field.type} ${field.unit}`, () => {
      expect(checkValue(field, value, "it")).to.deep.equal(checked);
    });
  }

  for (const [field, value, code] of [
    [plain("uint256"), MaxUint256 + 1n, "VAULT_INVALID_INTEGER"],
    [state, "shut", "VAULT_INVALID_ENUM"],
    [state, "256", "VAULT_INVALID_INTEGER"],
    [plain("address"), "0x12", "VAULT_INVALID_ADDRESS"],
    [flag, "yes", "VAULT_INVALID_ENUM"],
    [plain("string"), 7, "VAULT_INVALID_ARGUMENT"],
  ] as const) {
    it(`checkValue() throws ${code} for ${inspect(value)} as ${field.type} ${field.unit}`, async () => {
      await expectVaultError(() => checkValue(field, value, "it"), code);
    });
  }
});
