import { expect } from "chai";
import { MaxUint256 } from "ethers";

import {
  EMPTY_IDS_AT_END,
  findLastOrder,
} from "../../../src/client/orders/last-order.js";
import type { OrdersEnd } from "../../../src/client/orders/last-order.js";
import { VaultError, isFailedOrder } from "../../../src/client/index.js";
import type { ListedOrder } from "../../../src/client/index.js";
import { zeroAnswer } from "../../../src/mocks/scenarios.js";
import { generatedOrder } from "../../../src/mocks/index.js";
import type { RevertReason } from "../../../src/rpc/revert-reason.js";
import { expectVaultError } from "../../helpers/assertions.js";

const order = (orderID: bigint): ListedOrder => ({
  orderID,
  ...generatedOrder(orderID),
});

const empty = (orderID: bigint): ListedOrder => ({
  orderID,
  ...zeroAnswer("getOrderInfo"),
});

type Book = (id: bigint) => ListedOrder;
const reverting =
  (
    reasonOf: (id: bigint) => string,
    cause: (id: bigint) => Partial<RevertReason> = () => ({ kind: "custom" }),
  ): Book =>
  (orderID) => ({
    orderID,
    error: new VaultError(
      "VAULT_CALL_REVERTED",
      { reason: reasonOf(orderID) },
      cause(orderID),
    ),
  });

/** An access out of bounds before Solidity 0.8. */
const invalid = reverting(
  () => "invalid opcode, as of an assert before Solidity 0.8",
  () => ({ kind: "invalid-opcode", data: "0x" }),
);
const outOfGas: Book = (orderID) => ({
  orderID,
  error: new VaultError("VAULT_RPC_ERROR", { problem: "out of gas" }),
});

const unreadable: Book = (orderID) => ({
  orderID,
  error: new VaultError("VAULT_RETURN_DATA_MALFORMED", {}),
});

async function search(
  answer: Book,
  first = 0n,
  usesUp: (id: bigint) => boolean = () => false,
): Promise<
  OrdersEnd & { readonly reads: number; readonly alone: readonly bigint[] }
> {
  let reads = 0;
  const alone: bigint[] = [];
  const source: Parameters<typeof findLastOrder>[0] = {
    async *read(ids) {
      reads += 1;
      yield await Promise.resolve(
        ids.map((id) =>
          usesUp(id) ? ({ orderID: id, isUsedUp: true } as const) : answer(id),
        ),
      );
    },
    readAlone: async (id) => {
      alone.push(id);
      return await Promise.resolve(answer(id));
    },
  };
  const end = await findLastOrder(source, first);
  return { ...end, reads, alone };
}

/** A book with these orders and nothing else. */
const book =
  (missing: Book, ...ids: bigint[]): Book =>
  (id) =>
    ids.includes(id) ? order(id) : missing(id);
const upTo =
  (count: bigint): Book =>
  (id) =>
    id >= 1n && id <= count ? order(id) : empty(id);

const gap = BigInt(EMPTY_IDS_AT_END);
const far = 2n ** 20n;
const faraway = book(empty, 5n, 1_000_000_007n);
const searches: ReadonlyArray<
  readonly [
    title: string,
    orders: Book,
    last: bigint | undefined,
    from?: bigint,
  ]
> = [
  ...[1n, 2n, 65_536n].map(
    (count) => [`the last of ${count}`, upTo(count), count] as const,
  ),
  ["none of no orders", upTo(0n), undefined],
  ["none of an array without items", invalid, undefined],
  ["one behind 499 empty ids", book(empty, 3n, 7n, 7n + gap), 7n + gap],
  ["none behind 500 empty ids", book(empty, 3n, 7n, 8n + gap), 7n],
  ["one that no step meets", book(empty, 1_023n, 1_325n), 1_325n],
  ["one at a distance of 1,024", book(empty, 7n, 1_031n), 1_031n],
  ["one at a distance of 2^20", book(empty, 7n, 7n + far), 7n + far],
  ["none behind a distance of 2^20", book(empty, 7n, 8n + far), 7n],
  ["the first of two that are far apart", faraway, 5n],
  ["none behind the first id", faraway, undefined, 6n],
  ["one behind the first id", faraway, 1_000_000_007n, 1_000_000_000n],
  [
    "one that cannot be read",
    (id) => (id === 9n ? unreadable(id) : book(empty, 5n)(id)),
    9n,
  ],
  [
    "one of the largest ids",
    (id) => {
      expect(id <= MaxUint256, String(id)).to.equal(true);
      return book(empty, MaxUint256 - 5n)(id);
    },
    MaxUint256 - 5n,
    MaxUint256 - 10n,
  ],
];

describe("client - the last order", () => {
  for (const [title, orders, expected, first] of searches) {
    it(`findLastOrder() finds ${title}, in steps that grow and shrink`, async () => {
      const { last, reads } = await search(orders, first);
      expect(last).to.equal(expected);
      expect(reads).to.be.at.most(45);
    });
  }

  it("findLastOrder() returns a check for the answers of ids that do not exist", async () => {
    const missing = reverting((id) => `OrderNotFound(orderID: ${id})`);
    const frozen = reverting(() => "order 10 is frozen");
    const { last, isMissing } = await search((id) =>
      id === 3n ? frozen(id) : book(missing, 1n, 5n)(id),
    );
    expect(last).to.equal(5n);
    for (const [answer, is] of [
      [missing(0n), true],
      [missing(2n), true],
      [empty(4n), true],
      [frozen(3n), false],
      [order(5n), false],
      [unreadable(9n), false],
    ] as const) {
      expect(isMissing(answer)).to.equal(is);
    }
    // An id is no part of another number.
    for (const reason of [
      (id: bigint) => `order ${id} of 110`,
      (id: bigint) => `order 0x${id.toString(16).padStart(8, "0")}`,
      (id: bigint) => `order 0x${id.toString(16).toUpperCase()}`,
    ]) {
      const numbered = reverting(reason);
      const other = await search(book(numbered, 5n));
      expect(other.isMissing(numbered(1n))).to.equal(true);
      expect(other.isMissing(numbered(10n))).to.equal(true);
    }
  });

  it("findLastOrder() takes no order for unknown that fails as ids beyond the 500 do", async () => {
    const unknown = reverting(() => "unknown");
    const tooLarge = reverting(() => "too large");
    const { last, isMissing } = await search((id) =>
      id === 3n || id > 2n * gap ? tooLarge(id) : book(unknown, 1n, 5n)(id),
    );
    expect(last).to.equal(5n);
    expect(isMissing(unknown(2n))).to.equal(true);
    expect(isMissing(tooLarge(3n))).to.equal(false);
  });

  it("findLastOrder() throws the first VAULT_CALL_REVERTED if every id reverts, and VAULT_INVALID_ARGUMENT if there is no end", async () => {
    const paused = reverting((id) => `paused for ${id}`);
    const { details } = await expectVaultError(
      search(paused),
      "VAULT_CALL_REVERTED",
    );
    expect(details["reason"]).to.equal("paused for 0");
    const { message } = await expectVaultError(
      search(order),
      "VAULT_INVALID_ARGUMENT",
    );
    expect(message).to.include("2^40");
  });

  for (const [title, start] of [
    ["0x12345678", "0x12345678"],
    ["0x12345600", "0x12345600"],
    ["with an argument before it", `0x12345678${"0".repeat(62)}a0`],
  ] as const) {
    it(`findLastOrder() takes ids for unknown whose custom errors ${title} differ only by the id in the data`, async () => {
      const unknown = reverting(
        () => "unknown error with 32 bytes of arguments",
        (id) => ({
          kind: "unknown",
          data: `${start}${id.toString(16).padStart(64, "0")}`,
        }),
      );
      const end = await search(book(unknown, 3n, 11n));
      expect(end.last).to.equal(11n);
      expect(
        [0n, 4n, 10n, 32n].map((id) => end.isMissing(unknown(id))),
      ).to.deep.equal([true, true, true, true]);
    });
  }

  it("findLastOrder() looks for an id in the contract's words only: missing ids 0 and 8 are unknown, too", async () => {
    const { last, isMissing } = await search(book(invalid, 5n, 9n));
    expect(last).to.equal(9n);
    for (const id of [0n, 8n, 10n]) {
      expect(isMissing(invalid(id))).to.equal(true);
    }
    const silent = reverting(
      () => "no reason given",
      () => ({ kind: "none", data: "0x" }),
    );
    expect(isMissing(silent(8n))).to.equal(false);
  });

  /** Ids that use up the gas of a request: what is no order, and these. */
  const endOf = async (
    answer: Book,
    ...large: readonly bigint[]
  ): ReturnType<typeof search> => {
    const usesUp = (id: bigint): boolean =>
      large.includes(id) || isFailedOrder(answer(id));
    return await search(answer, 0n, usesUp);
  };

  it("findLastOrder() asks for one id by itself if the ids behind the end use up their gas", async () => {
    for (const [orders, last] of [
      [(id: bigint) => (id < 1_000n ? order(id) : invalid(id)), 999n],
      [(id: bigint) => (id < 1n ? order(id) : invalid(id)), 0n],
      [invalid, undefined],
    ] as const) {
      const end = await endOf(orders);
      expect(end.last).to.equal(last);
      expect(end.alone).to.deep.equal([(last ?? -1n) + 1n]);
      expect(end.isMissing(invalid(8n))).to.equal(true);
    }
  });

  it("findLastOrder() goes on from an order that was too large for its share", async () => {
    const orders: Book = (id) => (id < 700n ? order(id) : invalid(id));
    for (const large of [[699n], [698n, 699n], [0n], [511n, 512n, 699n]]) {
      expect((await endOf(orders, ...large)).last).to.equal(699n);
    }
  });

  it("findLastOrder() settles nothing by an id that runs out of gas: it goes on, and throws at the second in a row", async () => {
    const one = book(invalid, 4n);
    const last = async (broken: readonly bigint[]): Promise<unknown> =>
      (await endOf((id) => (broken.includes(id) ? outOfGas(id) : one(id))))
        .last;
    expect(await last([5n])).to.equal(5n);
    await expectVaultError(last([5n, 6n]), "VAULT_RPC_ERROR");
  });
});
