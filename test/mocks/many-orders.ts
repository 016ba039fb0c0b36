import { expect } from "chai";

import { operations } from "../../src/client/index.js";
import { generatedOrder } from "../../src/mocks/index.js";
import type { MockOrder } from "../../src/mocks/types.js";
import type { HardhatVault, MockVaultHandle } from "../../src/types.js";
import { connectTo } from "../helpers/hre.js";

const MAX = 2n ** 256n - 1n;

/** In process, from 100 orders on they are written as code, 16 in a page. */
const MANY = 112;

type Orders = Readonly<Record<string, MockOrder | null>>;

/** Orders of these ids, each the one of its place. */
const ordersOf = (
  ids: readonly number[],
  order: (place: bigint) => MockOrder = generatedOrder,
): Orders =>
  Object.fromEntries(ids.map((id, place) => [id, order(BigInt(place))]));
const from = (first: number, count = MANY): readonly number[] =>
  Array.from({ length: count }, (_, place) => first + place);

describe("hundreds of orders of the mocks, in process", () => {
  let vault: HardhatVault;

  before(async () => {
    ({ vault } = await connectTo(undefined));
  });
  after(async () => {
    await vault.connection.close();
  });

  const deploy = async (orders: Orders): Promise<MockVaultHandle> =>
    await vault.deployMocks({
      scenario: "empty-vault",
      overrides: { orders },
    });
  /** The fee of each order; 0 for a missing one. */
  const fees = async (
    ids: ReadonlyArray<number | bigint>,
  ): Promise<readonly bigint[]> =>
    await Promise.all(
      ids.map(async (id) => (await vault.getOrderInfo(id)).exFee),
    );
  const feeOf = (place: number): bigint => generatedOrder(BigInt(place)).exFee;

  it("deployMocks() sets the orders from 33 on, and none before or after, also none of an earlier deployment", async () => {
    await deploy(ordersOf(from(16, 16)));
    await deploy(ordersOf(from(32, 16)));
    expect(await fees([16, 32])).to.deep.equal([0n, feeOf(0)]);
    await deploy(ordersOf(from(33)));
    const last = 33 + MANY - 1;
    expect(await fees([32, 33, 48, 49, last, last + 1])).to.deep.equal([
      ...[0n, feeOf(0), feeOf(15), feeOf(16), feeOf(MANY - 1), 0n],
    ]);
  });

  it("orders written as code answer the same bytes as orders in storage", async () => {
    const first = generatedOrder(1n);
    const odd: Orders = {
      0: { ...first, exType: "", number: 0n },
      [String(MAX - 1n)]: { ...first, exType: "lone \ud800 比特币" },
      [String(MAX)]: {
        ...first,
        exType: "long ".repeat(500),
        number: MAX,
        holder: "0x00000000000000000000000000000000000000ab",
        ...{ state: 255, contractType: 0 },
      },
    };
    const orders = { ...ordersOf(from(1, 110)), ...odd };
    const bytes = async ({
      addresses: { trading },
    }: MockVaultHandle): Promise<readonly unknown[]> =>
      await Promise.all(
        [...Object.keys(odd), 1, 16, 110, 111].map(
          async (id): Promise<unknown> => {
            const word = BigInt(id).toString(16).padStart(64, "0");
            const data = operations.getOrderInfo.selector + word;
            return await vault.connection.provider.request({
              method: "eth_call",
              params: [{ to: trading, data }, "latest"],
            });
          },
        ),
      );
    const recorded = await bytes(await deploy(orders));
    const mocks = await deploy({});
    expect(await bytes(mocks)).to.not.deep.equal(recorded);
    const added = Object.entries(orders).flatMap(
      ([id, order]): Array<[bigint, MockOrder]> =>
        order === null ? [] : [[BigInt(id), order]],
    );
    await mocks.addOrders(new Map(added));
    expect(await bytes(mocks)).to.deep.equal(recorded);
  });

  it("set() changes and removes some of them, and a range lies below them", async () => {
    const every3rd = from(0).map((place) => 3 * place + 1);
    const mocks = await deploy(ordersOf(every3rd));
    await mocks.set({ orders: { 4: { exFee: 5n }, 7: null } });
    await mocks.generateOrders(1n, 8n);
    expect(await fees([1, 2, 4, 7, 8, 9, 10])).to.deep.equal([
      ...[feeOf(0), feeOf(2), 5n, 0n, feeOf(8), 0n, feeOf(3)],
    ]);
  });
});
