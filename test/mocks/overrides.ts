import { expect } from "chai";

import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
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

  it("should fill up an order that there is not, as setOrder does", async () => {
    const mocks = await vault.deployMocks({
      overrides: { orders: { 7: { exType: "DOGE-USDT" } } },
    });
    const likeOrder1 = {
      ...(await vault.getOrderInfo(1n)),
      exType: "DOGE-USDT",
    };
    expect(await vault.getOrderInfo(7n)).to.deep.equal(likeOrder1);
    await mocks.setOrder(8n, { exType: "DOGE-USDT" });
    expect(await vault.getOrderInfo(8n)).to.deep.equal(likeOrder1);
    // Also where a missing order has no answer that could be read.
    await mocks.setMissingOrdersRevert(true);
    await mocks.setOrder(9n, { exType: "DOGE-USDT" });
    expect(await vault.getOrderInfo(9n)).to.deep.equal(likeOrder1);
    await mocks.setOrder(9n, { state: 2 });
    expect(await vault.getOrderInfo(9n)).to.deep.equal({
      ...likeOrder1,
      state: 2,
    });
  });

  it("should answer margins in proportion to what is asked", async () => {
    const mocks = await vault.deployMocks({
      overrides: { margins: "proportional" },
    });
    const { maxVolume, APY, startTime, endTime } =
      await vault.getLatestRoundInfo();
    const likeLatest = async (): Promise<{
      maxVolume: bigint;
      APY: bigint;
      endTime: bigint;
    }> => {
      const { timestamp } = await vault.block();
      const end = BigInt(timestamp) + endTime - startTime;
      return { maxVolume, APY, endTime: end };
    };
    const scripted = {
      baseMarginAmount: 52_500n * 10n ** 18n,
      xMarginAmount: 10_500n * 10n ** 18n,
    };
    expect(await vault.calMargins(await likeLatest())).to.deep.equal(scripted);
    expect(
      await vault.calMargins({
        ...(await likeLatest()),
        maxVolume: maxVolume / 2n,
      }),
    ).to.deep.equal({
      baseMarginAmount: scripted.baseMarginAmount / 2n,
      xMarginAmount: scripted.xMarginAmount / 2n,
    });
    await mocks.setMargins({ baseMarginAmount: 1n, xMarginAmount: 2n });
    expect(await vault.calMargins(await likeLatest())).to.deep.equal({
      baseMarginAmount: 1n,
      xMarginAmount: 2n,
    });
    await mocks.setMargins("proportional");
    expect(
      await vault.calMargins({
        ...(await likeLatest()),
        maxVolume: maxVolume * 4n,
      }),
    ).to.deep.equal({ baseMarginAmount: 4n, xMarginAmount: 8n });
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
      "an order's id that is not a number",
      // @ts-expect-error -- decimal digits
      { orders: { first: null } },
      /overrides\.orders\["first"\] is not a whole number/u,
    ],
    [
      "a value of a round that no settlement writes",
      // @ts-expect-error -- settledPrice and settledAmount
      { settlement: { strikePrice: 1n } },
      /"strikePrice" is not a field; the fields are settledPrice, settledAmount/u,
    ],
    [
      "a settlement of another type",
      // @ts-expect-error -- bigint
      { settlement: { settledPrice: "1" } },
      /overrides\.settlement\.settledPrice is not a whole number/u,
    ],
    [
      "half a range of orders",
      // @ts-expect-error -- both ends
      { generatedOrders: { firstId: 1n } },
      /overrides\.generatedOrders\.lastId is not a whole number/u,
    ],
    [
      "a range of orders that is none",
      // @ts-expect-error -- an object or null
      { generatedOrders: 5n },
      /overrides\.generatedOrders: an object or null is needed, got 5/u,
    ],
    [
      "a text where a choice is asked for",
      // @ts-expect-error -- a boolean
      { missingOrdersRevert: "false" },
      /overrides\.missingOrdersRevert: a boolean is needed/u,
    ],
    [
      "null where a choice is asked for",
      // @ts-expect-error -- a boolean
      { missingOrdersRevert: null },
      /overrides\.missingOrdersRevert: a boolean is needed, got null/u,
    ],
    [
      "null where another choice is asked for",
      // @ts-expect-error -- a boolean
      { uncapturedOrdersRevert: null },
      /overrides\.uncapturedOrdersRevert: a boolean is needed, got null/u,
    ],
    [
      "what follows from margins",
      // @ts-expect-error -- it is margins: "proportional"
      { marginsProportional: true },
      /there is no "marginsProportional" to change; there are (?!.*(?:marginsProportional|settlementScripted))/u,
    ],
    [
      "what follows from a settlement",
      // @ts-expect-error -- it is settlement
      { settlementScripted: "yes" },
      /there is no "settlementScripted" to change; there are .*uncapturedOrdersRevert/u,
    ],
    [
      "two spellings of one order's id",
      // @ts-expect-error -- digits as they are counted with
      { orders: { "007": { state: 2 }, 7: { exType: "DOGE-USDT" } } },
      /overrides\.orders\["007"\]: it cannot be given together with "7", which is the same order/u,
    ],
    [
      "failures that are no list",
      // @ts-expect-error -- a list
      { failures: { operation: "queryVolume", reason: "no" } },
      /overrides\.failures: a list is needed/u,
    ],
    [
      "a failure of an operation that there is not",
      // @ts-expect-error -- no such operation
      { failures: [{ operation: "volume", reason: "no" }] },
      /overrides\.failures\[0\]\.operation is not one of/u,
    ],
    [
      "a failure of a pool where there is none",
      {
        failures: [{ operation: "queryVolume", reason: "no", pool: "public" }],
      },
      /overrides\.failures\[0\]: queryVolume is no operation of the pools/u,
    ],
    [
      "a failure without a reason",
      // @ts-expect-error -- a reason
      { failures: [{ operation: "queryVolume" }] },
      /overrides\.failures\[0\]\.reason: .* is needed, got undefined/u,
    ],
    [
      "a pool that is no object",
      // @ts-expect-error -- an object
      { pools: { public: 5n } },
      /overrides\.pools\.public: an object is needed, got 5/u,
    ],
    [
      "nothing that could be an override",
      // @ts-expect-error -- an object
      null,
      /overrides: an object is needed, got null/u,
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
