import { expect } from "chai";

import type { HardhatVault } from "../../src/connection/hardhat-vault.js";
import { VaultError } from "../../src/errors.js";
import { generatedOrder } from "../../src/mocks/index.js";
import type { MockOverrides } from "../../src/mocks/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { distinctState, expectedReads } from "../helpers/distinct-state.js";
import { createTestHre } from "../helpers/hre.js";

describe("mocks - overrides", () => {
  let vault: HardhatVault;

  before(async () => {
    const hre = await createTestHre();
    ({ vault } = await hre.network.create());
  });

  it("should change every field", async () => {
    await vault.deployMocks({ overrides: distinctState });
    for (const { operation, args, expected } of expectedReads) {
      expect(
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the table of expected reads was made from these types
        await vault.read(operation, args as never),
        operation,
      ).to.deep.equal(expected);
    }
  });

  it("should leave what is not named as the scenario has it", async () => {
    await vault.deployMocks({ scenario: "settled-round" });
    const { round, pools } = await vault.snapshot();
    await vault.deployMocks({
      scenario: "settled-round",
      overrides: { pools: { public: { locked: 9n } } },
    });
    const changed = await vault.snapshot();
    expect(changed.pools).to.deep.equal({
      ...pools,
      public: { ...pools.public, locked: 9n },
    });
    expect(Reflect.get(changed.round, "strikePrice")).to.equal(
      Reflect.get(round, "strikePrice"),
    );
    expect(Reflect.get(changed.round, "settled")).to.equal(true);
  });

  it("should change one order, add one and take one away", async () => {
    await vault.deployMocks({
      scenario: "many-orders",
      overrides: {
        orders: {
          5: { exType: "DOGE-USDT" },
          7: null,
          2000: generatedOrder(3n),
        },
        missingOrdersRevert: true,
      },
    });
    expect(await vault.getOrderInfo(5n)).to.deep.equal({
      ...generatedOrder(5n),
      exType: "DOGE-USDT",
    });
    expect(await vault.getOrderInfo(2000n)).to.deep.equal(generatedOrder(3n));
    for (const missing of [7n, 1001n]) {
      await expectVaultError(
        vault.getOrderInfo(missing),
        "VAULT_CALL_REVERTED",
      );
    }
  });

  it("should script failures from the start", async () => {
    const mocks = await vault.deployMocks({
      overrides: {
        failures: [
          { operation: "queryVolume", reason: "closed" },
          { operation: "getLPAmountInfo", pool: "public", reason: "dry" },
        ],
      },
    });
    const { volume, pools } = await vault.snapshot();
    expect(Reflect.get(Object(volume), "error")).to.have.property(
      "code",
      "VAULT_CALL_REVERTED",
    );
    expect(pools.public).to.have.property("error");
    expect(pools.private).not.to.have.property("error");
    await mocks.succeed("queryVolume");
    expect(await vault.queryVolume()).to.equal(420n * 10n ** 18n);
  });

  it("should script what settlement writes", async () => {
    await vault.deployMocks({
      overrides: { settlement: { settledPrice: 4n } },
    });
    const { after } = await vault.settleAll();
    expect(after).to.include({
      settledPrice: 4n,
      settledAmount: 420n * 10n ** 18n,
    });
  });

  // Each is refused by the compiler too; a line that it accepts is an error.
  const invalid: ReadonlyArray<[string, MockOverrides, RegExp]> = [
    [
      "an unknown key",
      // @ts-expect-error -- it is "volume"
      { volumes: 1n },
      /there is no "volumes" to change/u,
    ],
    [
      "an unknown pool",
      // @ts-expect-error -- public or private
      { pools: { both: {} } },
      /there is no "both" to change/u,
    ],
    [
      "an unknown contract type",
      // @ts-expect-error -- call or put
      { fundingFeeRate: { calls: 1n } },
      /there is no "calls" to change/u,
    ],
    [
      "an unknown field",
      // @ts-expect-error -- no such field of a round
      { round: { price: 1n } },
      /"price" is not a field/u,
    ],
    [
      "a value of another type",
      // @ts-expect-error -- bigint
      { round: { strikePrice: "1" } },
      /overrides\.round\.strikePrice is not a whole number/u,
    ],
    [
      "a bool of another type",
      // @ts-expect-error -- boolean
      { round: { settled: 1 } },
      /overrides\.round\.settled: a boolean is needed/u,
    ],
    [
      "an order that there is not, in part",
      { orders: { 99: { state: 1 } } },
      /overrides\.orders\["99"\]: exType, holder, .* are missing/u,
    ],
    [
      "an order's id that is not a number",
      // @ts-expect-error -- decimal digits
      { orders: { first: null } },
      /overrides\.orders\["first"\] is not a whole number/u,
    ],
  ];
  for (const [what, overrides, text] of invalid) {
    it(`should refuse ${what}`, async () => {
      const error: unknown = await vault
        .deployMocks({ overrides })
        .catch((thrown: unknown) => thrown);
      expect(VaultError.isVaultError(error), String(error)).to.equal(true);
      expect(String(error)).to.match(text);
    });
  }
});
