import { expect } from "chai";
import { MaxUint256 } from "ethers";

import {
  EMPTY_IDS_AT_END,
  findLastOrder,
} from "../../src/client/orders/last-order.js";
import type { OrdersEnd } from "../../src/client/orders/last-order.js";
import type { ListedOrder } from "../../src/client/index.js";
import { vaultError } from "../../src/errors.js";
import { zeroAnswer } from "../../src/mocks/scenarios.js";
import { generatedOrder } from "../../src/mocks/state.js";
import { expectVaultError } from "../helpers/assertions.js";

const address = "0x00000000000000000000000000000000000A11cE";

const order = (orderID: bigint): ListedOrder => ({
  orderID,
  ...generatedOrder(orderID),
});

const empty = (orderID: bigint): ListedOrder => ({
  orderID,
  ...zeroAnswer("getOrderInfo"),
});

const reverting =
  (reasonOf: (id: bigint) => string) =>
  (orderID: bigint): ListedOrder => ({
    orderID,
    error: vaultError("VAULT_CALL_REVERTED", {
      operation: "getOrderInfo",
      reason: reasonOf(orderID),
      contract: "trading",
      address,
      hint: "",
    }),
  });

const unreadable = (orderID: bigint): ListedOrder => ({
  orderID,
  error: vaultError("VAULT_RETURN_DATA_MALFORMED", {
    operation: "getOrderInfo",
    problem: "3 bytes",
    contract: "trading",
    address,
    source: "",
  }),
});

async function search(
  answer: (id: bigint) => ListedOrder,
  first = 0n,
): Promise<OrdersEnd & { readonly reads: number }> {
  let reads = 0;
  const end = await findLastOrder(async function* (ids) {
    reads += 1;
    yield await Promise.resolve(ids.map(answer));
  }, first);
  return { ...end, reads };
}

/** A book with these orders and nothing else. */
const book =
  (missing: (id: bigint) => ListedOrder, ...ids: bigint[]) =>
  (id: bigint): ListedOrder =>
    ids.includes(id) ? order(id) : missing(id);

describe("client - the last order", () => {
  it("should be found in steps that grow and shrink", async () => {
    for (const count of [0n, 1n, 2n, 999n, 65_536n, 3_000_000_000n]) {
      const { last, reads } = await search((id) =>
        id >= 1n && id <= count ? order(id) : empty(id),
      );
      expect(last).to.equal(count === 0n ? undefined : count);
      expect(reads).to.be.at.most(45);
    }
  });

  it("should be found behind ids that do not exist, as far as is said", async () => {
    const gap = BigInt(EMPTY_IDS_AT_END);
    for (const [next, isFound] of [
      [7n + gap, true],
      [7n + gap + 1n, false],
      [7n + 1_024n, true],
      [7n + 2n ** 20n, true],
      [7n + 2n ** 20n + 1n, false],
      [7n + 2n ** 21n, false],
    ] as const) {
      const { last } = await search(book(empty, 3n, 7n, next));
      expect(last, String(next)).to.equal(isFound ? next : 7n);
    }
  });

  it("should be looked for behind the first id", async () => {
    const answer = book(empty, 5n, 1_000_000_007n);
    expect((await search(answer)).last).to.equal(5n);
    expect((await search(answer, 6n)).last).to.equal(undefined);
    expect((await search(answer, 1_000_000_000n)).last).to.equal(
      1_000_000_007n,
    );
  });

  it("should not take a refusal of another kind for an id that does not exist", async () => {
    const missing = reverting((id) => `OrderNotFound(orderID: ${id})`);
    const paused = reverting(() => "order 10 is frozen");
    const { last, isMissing } = await search((id) =>
      id === 3n ? paused(id) : book(missing, 1n, 5n)(id),
    );
    expect(last).to.equal(5n);
    expect(isMissing(missing(0n))).to.equal(true);
    expect(isMissing(missing(2n))).to.equal(true);
    expect(isMissing(paused(3n))).to.equal(false);
    expect(isMissing(order(5n))).to.equal(false);
    expect(isMissing(empty(4n))).to.equal(true);
  });

  it("should be one that cannot be read, too", async () => {
    const { last, isMissing } = await search((id) =>
      id === 9n ? unreadable(id) : book(empty, 5n)(id),
    );
    expect(last).to.equal(9n);
    expect(isMissing(unreadable(9n))).to.equal(false);
  });

  it("should be looked for among the ids that there can be", async () => {
    const { last } = await search((id) => {
      expect(id <= MaxUint256, String(id)).to.equal(true);
      return id === MaxUint256 - 5n ? order(id) : empty(id);
    }, MaxUint256 - 10n);
    expect(last).to.equal(MaxUint256 - 5n);
  });

  it("should not take an id for a part of another number", async () => {
    const missing = reverting((id) => `order ${id} of 110`);
    const { isMissing } = await search(book(missing, 5n));
    expect(isMissing(missing(1n))).to.equal(true);
  });

  it("should fail as the ids do where all revert", async () => {
    await expectVaultError(
      search(reverting(() => "paused")),
      "VAULT_CALL_REVERTED",
    );
  });

  it("should not be looked for without end", async () => {
    await expectVaultError(search(order), "VAULT_INVALID_ARGUMENT");
  });
});
