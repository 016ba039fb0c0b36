import { expect } from "chai";
import { concat, toBeHex, zeroPadValue } from "ethers";

import { generatedOrder } from "../../src/mocks/index.js";
import type { MockOrder } from "../../src/mocks/index.js";
import { operationEntry } from "../../src/protocol/index.js";
import type { HardhatVault, MockVaultHandle } from "../../src/types.js";
import { createTestHre } from "../helpers/hre.js";

const MAX_UINT256 = 2n ** 256n - 1n;

/** Ids at both ends, and texts of every kind. */
const odd: ReadonlyArray<[bigint, MockOrder]> = [
  [0n, { ...generatedOrder(1n), exType: "", number: 0n }],
  [
    MAX_UINT256,
    {
      ...generatedOrder(2n),
      exType: "long ".repeat(500),
      number: MAX_UINT256,
      holder: "0x00000000000000000000000000000000000000ab",
      state: 255,
      contractType: 0,
    },
  ],
  [MAX_UINT256 - 1n, { ...generatedOrder(3n), exType: "lone \ud800 比特币" }],
];

const many = new Map<bigint, MockOrder>([
  ...Array.from({ length: 200 }, (_, index): [bigint, MockOrder] => [
    BigInt(3 * index + 1),
    generatedOrder(BigInt(index)),
  ]),
  ...odd,
]);

describe("mocks - many orders in process", () => {
  let vault: HardhatVault;
  let mocks: MockVaultHandle;

  const deploy = async (orders = many): Promise<void> => {
    mocks = await vault.deployMocks({
      scenario: "empty-vault",
      overrides: {
        orders: Object.fromEntries(
          [...orders].map(([id, order]) => [String(id), order]),
        ),
      },
    });
  };

  const raw = async (id: bigint): Promise<unknown> =>
    await vault.provider.request({
      method: "eth_call",
      params: [
        {
          to: mocks.addresses.trading,
          data: concat([
            operationEntry("getOrderInfo").selector,
            zeroPadValue(toBeHex(id), 32),
          ]),
        },
        "latest",
      ],
    });

  beforeEach(async () => {
    const hre = await createTestHre();
    ({ vault } = await hre.network.create());
  });

  it("deployMocks() records 200 orders in one transaction, with the answers that addOrders() makes", async () => {
    const ids = [...many.keys()].flatMap((id) => [
      id,
      // Between, before and behind them.
      ...(id === MAX_UINT256 ? [] : [id + 1n]),
    ]);
    const { number } = await vault.block();
    await deploy();
    expect((await vault.block()).number).to.equal(number + 1);
    const recorded = await Promise.all(ids.map(raw));
    await deploy(new Map());
    expect(await raw(1n)).not.to.equal(recorded[0]);
    await mocks.addOrders(many);
    expect(recorded).to.deep.equal(await Promise.all(ids.map(raw)));
  });

  it("set() and generateOrders() change recorded orders", async () => {
    await deploy();
    await mocks.set({ orders: { 4: { exType: "XRP-USDT" }, 7: null } });
    expect(await vault.getOrderInfo(4n)).to.deep.equal({
      ...generatedOrder(1n),
      exType: "XRP-USDT",
    });
    expect((await vault.getOrderInfo(7n)).state).to.equal(0);
    await mocks.generateOrders(1n, 8n);
    expect(await vault.getOrderInfo(1n)).to.deep.equal(generatedOrder(0n));
    expect(await vault.getOrderInfo(2n)).to.deep.equal(generatedOrder(2n));
  });

  it("deployMocks() removes recorded orders, and evm_revert restores them", async () => {
    await deploy();
    const snapshot: unknown = await vault.provider.request({
      method: "evm_snapshot",
    });
    await vault.deployMocks();
    expect(await vault.getOrderInfo(598n)).to.have.property("state", 0);
    await deploy(new Map([...many].map(([id]) => [id, generatedOrder(9n)])));
    await vault.provider.request({ method: "evm_revert", params: [snapshot] });
    expect(await vault.getOrderInfo(598n)).to.deep.equal(generatedOrder(199n));
  });
});
