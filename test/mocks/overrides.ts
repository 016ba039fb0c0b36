import { expect } from "chai";

import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import { VaultError } from "../../src/errors.js";
import { generatedOrder } from "../../src/mocks/index.js";
import type { MockOverrides } from "../../src/mocks/index.js";
import { ContractType, OrderState } from "../../src/protocol/index.js";
import type { MockVaultHandle } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { distinctState, expectedReads } from "../helpers/distinct-state.js";
import { createTestHre } from "../helpers/hre.js";

describe("mocks - overrides", () => {
  let vault: HardhatVault;
  let mocks: MockVaultHandle;

  before(async () => {
    const hre = await createTestHre();
    ({ vault } = await hre.network.create());
    mocks = await vault.deployMocks();
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
    mocks = await vault.deployMocks({
      overrides: { orders: { 7: { exType: "DOGE-USDT" } } },
    });
    const likeOrder1 = {
      ...(await vault.getOrderInfo(1n)),
      exType: "DOGE-USDT",
    };
    expect(await vault.getOrderInfo(7n)).to.deep.equal(likeOrder1);
    await mocks.set({ orders: { 8: { exType: "DOGE-USDT" } } });
    expect(await vault.getOrderInfo(8n)).to.deep.equal(likeOrder1);
    // Also where a missing order has no answer that could be read.
    await mocks.set({ missingOrdersRevert: true });
    await mocks.set({ orders: { 9: { exType: "DOGE-USDT" } } });
    expect(await vault.getOrderInfo(9n)).to.deep.equal(likeOrder1);
    await mocks.set({ orders: { 9: { state: 2 } } });
    expect(await vault.getOrderInfo(9n)).to.deep.equal({
      ...likeOrder1,
      state: 2,
    });
  });

  it("set() takes words where a number of an enumeration is", async () => {
    mocks = await vault.deployMocks({
      overrides: { orders: { 1: { contractType: "put" } } },
    });
    await mocks.set({ orders: { 2: { state: "closed" } } });
    const order = await vault.getOrderInfo(1n);
    await mocks.addOrders(new Map([[3n, { ...order, state: "open" }]]));
    expect(order.contractType).to.equal(ContractType.put);
    expect((await vault.getOrderInfo(2n)).state).to.equal(OrderState.closed);
    expect((await vault.getOrderInfo(3n)).state).to.equal(OrderState.open);
  });

  it("should script failures from the start", async () => {
    mocks = await vault.deployMocks({
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

  // The compiler refuses most of them too.
  const invalid: ReadonlyArray<[string, MockOverrides, RegExp]> = [
    [
      "an unknown key",
      // @ts-expect-error -- it is "volume"
      { volumes: 1n },
      /there is no "volumes"; there are/u,
    ],
    [
      "an unknown pool",
      // @ts-expect-error -- public or private
      { pools: { both: {} } },
      /pools: there is no "both"/u,
    ],
    [
      "an unknown field",
      // @ts-expect-error -- no such field of a round
      { round: { price: 1n } },
      /"price" is not a field/u,
    ],
    [
      "a text that is no number",
      // @ts-expect-error -- bigint
      { round: { strikePrice: "1.5" } },
      /round\.strikePrice is not a whole number/u,
    ],
    // @ts-expect-error -- bigint
    ["null for a number", { volume: null }, /volume is not a whole number/u],
    ["a negative number", { volume: -1n }, /volume is not a whole number/u],
    [
      "a number above uint256",
      { round: { APY: 2n ** 256n } },
      /round\.APY is not a whole number/u,
    ],
    [
      "a state above uint8",
      { orders: { 1: { state: 256 } } },
      /orders\.1\.state is not a whole number from 0 to 2\^8/u,
    ],
    [
      "a word that its enumeration does not have",
      // @ts-expect-error -- open or closed
      { orders: { 1: { state: "put" } } },
      /orders\.1\.state is not one of open \(1\), closed \(2\): "put"/u,
    ],
    [
      "a holder with a wrong checksum",
      {
        orders: { 1: { holder: "0x70997970C51812dc3A010C7d01b50e0d17dc79c8" } },
      },
      /orders\.1\.holder is not a valid address/u,
    ],
    [
      "a bool of another type",
      // @ts-expect-error -- boolean
      { round: { settled: 1 } },
      /round\.settled is not one of true, false/u,
    ],
    [
      "an order's id that is not a number",
      // @ts-expect-error -- decimal digits
      { orders: { first: null } },
      /An order's id is not a whole number/u,
    ],
    [
      "another spelling of an order's id",
      // @ts-expect-error -- digits as they are counted with
      { orders: { "007": { state: 2 }, 7: { exType: "DOGE-USDT" } } },
      /An order's id is not a whole number/u,
    ],
    [
      "half a range of orders",
      // @ts-expect-error -- both ends
      { generatedOrders: { firstId: 1n } },
      /generatedOrders: lastId is missing/u,
    ],
    [
      "null where a choice is asked for",
      // @ts-expect-error -- a boolean
      { missingOrdersRevert: null },
      /missingOrdersRevert is not one of true, false/u,
    ],
    [
      "failures that are no list",
      // @ts-expect-error -- a list
      { failures: { operation: "queryVolume", reason: "no" } },
      /failures: a list is needed/u,
    ],
    [
      "a failure of an unknown operation",
      // @ts-expect-error -- no such operation
      { failures: [{ operation: "volume", reason: "no" }] },
      /failures\[0\]\.operation is not one of/u,
    ],
    [
      "a failure without a reason",
      // @ts-expect-error -- a reason
      { failures: [{ operation: "queryVolume" }] },
      /failures\[0\]\.reason: .* is needed, got undefined/u,
    ],
    [
      "a pool that is no object",
      // @ts-expect-error -- an object
      { pools: { public: 5n } },
      /pools\.public: an object is needed, got 5/u,
    ],
    [
      "null in place of changes",
      // @ts-expect-error -- an object
      null,
      /The changes to the mocks: an object is needed, got null/u,
    ],
  ];
  for (const [what, changes, text] of invalid) {
    it(`deployMocks() and set() refuse ${what}`, async () => {
      for (const attempt of [
        async () => await vault.deployMocks({ overrides: changes }),
        async () => {
          await mocks.set(changes);
        },
      ]) {
        const error: unknown = await attempt().catch(
          (thrown: unknown) => thrown,
        );
        expect(VaultError.isVaultError(error), String(error)).to.equal(true);
        expect(String(error)).to.match(text);
      }
    });
  }
});
