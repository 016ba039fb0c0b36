import { expect } from "chai";

import { ContractType, OrderState, VaultError } from "../../src/index.js";
import { generatedOrder } from "../../src/mocks/index.js";
import type { MockOverrides } from "../../src/mocks/index.js";
import type { HardhatVault, MockVaultHandle } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { createTestHre } from "../helpers/hre.js";

describe("mocks - overrides", () => {
  let vault: HardhatVault;
  let mocks: MockVaultHandle;

  before(async () => {
    const hre = await createTestHre();
    ({ vault } = await hre.network.create());
    mocks = await vault.deployMocks();
  });

  it("deployMocks() changes, adds and removes orders of a scenario", async () => {
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

  it("deployMocks() and set() take omitted fields of an order from generatedOrders beside it", async () => {
    const orders = { 15: { exType: "DOGE-USDT" } };
    const generatedOrders = { firstId: 10, lastId: 19 };
    mocks = await vault.deployMocks({ overrides: { orders, generatedOrders } });
    await mocks.set({
      orders: { 25: { exType: "DOGE-USDT" } },
      generatedOrders: { firstId: 10, lastId: 29 },
    });
    for (const id of [15n, 25n]) {
      expect(await vault.getOrderInfo(id)).to.deep.equal({
        ...generatedOrder(id),
        exType: "DOGE-USDT",
      });
    }
  });

  it("deployMocks() and set() take omitted fields of a new order from order 1", async () => {
    mocks = await vault.deployMocks({
      overrides: { orders: { 7: { exType: "DOGE-USDT" } } },
    });
    const likeOrder1 = {
      ...(await vault.getOrderInfo(1n)),
      exType: "DOGE-USDT",
    };
    expect(await vault.getOrderInfo(7n)).to.deep.equal(likeOrder1);
    for (const [id, missingOrdersRevert] of [
      [8n, false],
      [9n, true],
    ] as const) {
      await mocks.set({ missingOrdersRevert });
      await mocks.set({ orders: { [`${id}`]: { exType: "DOGE-USDT" } } });
      expect(await vault.getOrderInfo(id)).to.deep.equal(likeOrder1);
    }
    await mocks.set({ orders: { 9: { state: 2 } } });
    expect(await vault.getOrderInfo(9n)).to.deep.equal({
      ...likeOrder1,
      state: 2,
    });
  });

  it("deployMocks(), set() and addOrders() take the words of contractType and state", async () => {
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

  it("deployMocks() scripts the failures and the settlement of overrides", async () => {
    mocks = await vault.deployMocks({
      overrides: {
        settlement: { settledPrice: 4n },
        failures: [
          { operation: "queryVolume", reason: "closed" },
          { operation: "getLPAmountInfo", pool: "public", reason: "dry" },
        ],
      },
    });
    const { volume, pools } = await vault.snapshot();
    expect(volume).to.have.nested.property("error.code", "VAULT_CALL_REVERTED");
    expect(pools.public).to.have.property("error");
    expect(pools.private).not.to.have.property("error");
    await mocks.succeed("queryVolume");
    expect(await vault.queryVolume()).to.equal(420n * 10n ** 18n);
    expect((await vault.settleAll()).after).to.include({
      settledPrice: 4n,
      settledAmount: 420n * 10n ** 18n,
    });
  });

  it("deployMocks() and set() refuse each invalid override", async () => {
    // @ts-expect-error -- the key is "volume"
    const misspelt: MockOverrides = { volumes: 1n };
    const holder = "0x70997970C51812dc3A010C7d01b50e0d17dc79c8";
    const invalid: ReadonlyArray<readonly [unknown, RegExp]> = [
      [misspelt, /there is no "volumes"; there are/u],
      [null, /The changes to the mocks: an object is needed, got null/u],
      [{ pools: { both: {} } }, /pools: there is no "both"/u],
      [{ round: { price: 1n } }, /"price" is not a field/u],
      [{ round: { APY: 2n ** 256n } }, /round\.APY is not a whole number/u],
      [{ round: { settled: 1 } }, /round\.settled is not one of true, false/u],
      [{ volume: -1n }, /volume is not a whole number/u],
      [
        { orders: { 1: { state: 256 } } },
        /orders\.1\.state is not a whole number from 0 to 2\^8/u,
      ],
      [
        { orders: { 1: { holder } } },
        /orders\.1\.holder is not a valid address/u,
      ],
      [{ orders: { "007": {} } }, /An order's id is not a whole number/u],
      [
        { generatedOrders: { firstId: 1n } },
        /generatedOrders: lastId is miss/u,
      ],
      [
        { missingOrdersRevert: null },
        /missingOrdersRevert is not one of true, false/u,
      ],
      [{ failures: {} }, /failures: a list is needed/u],
      [
        { failures: [{ operation: "volume", reason: "no" }] },
        /failures\[0\]\.operation is not one of/u,
      ],
      [
        { failures: [{ operation: "queryVolume" }] },
        /failures\[0\]\.reason: .* is needed, got undefined/u,
      ],
    ];
    for (const [given, text] of invalid) {
      // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- JavaScript passes them too
      const overrides = given as MockOverrides;
      for (const attempt of [
        async () => await vault.deployMocks({ overrides }),
        async () => {
          await mocks.set(overrides);
        },
      ]) {
        const error: unknown = await attempt().catch(
          (thrown: unknown) => thrown,
        );
        expect(VaultError.isVaultError(error), String(error)).to.equal(true);
        expect(String(error)).to.match(text);
      }
    }
  });
});
