import { expect } from "chai";

import {
  firstOf,
  fixedAddresses,
  mockHint,
  requireAddress,
} from "../../src/client/contracts.js";
import type { VaultErrorCode } from "../../src/errors.js";
import { expectVaultError } from "../helpers/assertions.js";
import { SECOND, THIRD } from "../helpers/names.js";

describe("addresses of a client", () => {
  const context = { operation: "a read", network: "live" };

  for (const [source, isMock] of [
    ["deployMocks()", true],
    ["vault-deployments/1-abcdef01.json", true],
    ["at()", false],
  ] as const) {
    it(`mockHint() takes the contract of ${source} for ${isMock ? "a mock" : "none"}`, () => {
      expect(mockHint(source)?.includes("is a mock")).to.equal(
        isMock ? true : undefined,
      );
    });
  }

  it("fixedAddresses() has those that are given, with their checksum, and refuses another role or a wrong address", async () => {
    const locate = fixedAddresses({ vault: SECOND.toLowerCase() }, "a test");
    expect(await locate("vault")).to.deep.equal({
      ...{ address: SECOND, source: "a test" },
    });
    expect(await locate("trading")).to.have.property("path");
    const wrong: ReadonlyArray<readonly [object, VaultErrorCode]> = [
      [{ vaults: SECOND }, "VAULT_INVALID_ARGUMENT"],
      [{ vault: `${SECOND}0` }, "VAULT_INVALID_ADDRESS"],
    ];
    for (const [contracts, code] of wrong) {
      await expectVaultError(() => fixedAddresses(contracts, "a test"), code);
    }
  });

  it("firstOf() asks the second resolver for what the first one lacks", async () => {
    const locate = firstOf(
      fixedAddresses({ vault: SECOND }, "first"),
      fixedAddresses({ vault: THIRD, trading: THIRD }, "second"),
    );
    expect(await locate("vault")).to.include({ source: "first" });
    expect(await locate("trading")).to.include({ source: "second" });
  });

  it("requireAddress() throws VAULT_CONTRACT_NOT_CONFIGURED with the hint of who lacks it", async () => {
    const lacking = async () =>
      await Promise.resolve({ path: "a setting", hint: "Deploy it." });
    const { details } = await expectVaultError(
      requireAddress(lacking, "trading", context),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
    expect(details).to.include({
      ...{ ...context, role: "trading", path: "a setting", hint: "Deploy it." },
    });
  });

  it("requireAddress() checks an address, and adds its checksum", async () => {
    const locate = (address: string) => async () =>
      await Promise.resolve({ address, source: "a test" });
    const found = requireAddress(
      locate(SECOND.toLowerCase()),
      "vault",
      context,
    );
    expect(await found).to.deep.equal({ address: SECOND, source: "a test" });
    const { details } = await expectVaultError(
      requireAddress(locate("0x12"), "vault", context),
      "VAULT_INVALID_ADDRESS",
    );
    expect(details["where"]).to.equal(
      "The address of the vault contract (a test)",
    );
  });
});
