import { expect } from "chai";
import { AbiCoder, concat, getBytes, hexlify, toBeHex } from "ethers";
import fc from "fast-check";
import type { NetworkConnection } from "hardhat/types/network";

import { VaultClient, isFailedOrder } from "../../../src/client/index.js";
import { operations } from "../../../src/protocol/index.js";
import { decodeGenerally } from "../../helpers/general-decoder.js";
import { createTestHre } from "../../helpers/hre.js";
import { HOLDER, TRADING } from "../../helpers/order-book.js";

/** Code that answers each call with these bytes. */
const returns = (data: Uint8Array): string =>
  concat(["0x61", toBeHex(data.length, 2), "0x80600a5f395ff3", data]);

const wireTypes = operations.getOrderInfo.outputs.map(({ type }) =>
  type === "string" ? "bytes" : type,
);

/** Up to what a packed order has place for, and beyond. */
const amount = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 96n - 1n }),
  fc.constantFrom(0n, 1n, 2n ** 64n - 1n, 2n ** 64n, 2n ** 96n - 1n),
);
const large = fc.constantFrom(2n ** 96n, 2n ** 255n, 2n ** 256n - 1n);
const usual = { weight: 12, arbitrary: amount };
const anyAmount = fc.oneof(usual, { weight: 1, arbitrary: large });
const pair = fc.oneof(
  fc.string({ maxLength: 10, unit: "binary" }).map((text) => Buffer.from(text)),
  fc.constantFrom(0, 1, 31, 32, 33).map((size) => Buffer.alloc(size, "é")),
);
const small = fc.integer({ min: 0, max: 255 });
const order = fc
  .tuple(
    pair,
    fc.constantFrom(HOLDER, `0x${"00".repeat(20)}`, `0x${"ff".repeat(20)}`),
    ...Array.from({ length: 9 }, () => anyAmount),
    small,
    small,
  )
  .map((values) =>
    getBytes(AbiCoder.defaultAbiCoder().encode(wireTypes, values)),
  );
const damage: fc.Arbitrary<(data: Uint8Array) => Uint8Array> = fc.oneof(
  { weight: 3, arbitrary: fc.constant((data: Uint8Array) => data) },
  {
    weight: 2,
    // A byte of a word's start or end, which the packed order would not show.
    arbitrary: fc
      .tuple(fc.nat({ max: 15 }), fc.constantFrom(0, 11, 19, 20, 30, 31), small)
      .map(([word, byte, by]) => (data: Uint8Array) => {
        const copy = Uint8Array.from(data);
        const at = (32 * word + byte) % copy.length;
        copy[at] = (copy[at] ?? 0) ^ by;
        return copy;
      }),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(-32, -1, 1, 32)
      .map(
        (more) => (data: Uint8Array) =>
          more < 0
            ? data.subarray(0, data.length + more)
            : concatBytes(data, new Uint8Array(more)),
      ),
  },
);

function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(parts));
}

describe("orders() of any bytes that a contract returns", () => {
  let connection: NetworkConnection;

  before(async () => {
    connection = await (await createTestHre()).network.create();
  });
  after(async () => {
    await connection.close();
  });

  it("orders() has the values that ethers' decoder finds, in its order, or VAULT_RETURN_DATA_MALFORMED, packed or not", async () => {
    const { provider } = connection;
    const client = new VaultClient(provider, { trading: TRADING });
    const outcomes = new Set<string>();
    await fc.assert(
      fc.asyncProperty(order, damage, async (data, harm) => {
        const answer = harm(data);
        await provider.request({
          method: "hardhat_setCode",
          params: [TRADING, returns(answer)],
        });
        const expected = decodeGenerally("getOrderInfo", hexlify(answer));
        const found = await Array.fromAsync(client.orders({ ids: [7n, 9n] }));
        for (const [index, orderID] of [7n, 9n].entries()) {
          const one = found[index];
          if (one === undefined || isFailedOrder(one)) {
            expect(expected).to.equal(undefined);
            expect(one?.error.code).to.equal("VAULT_RETURN_DATA_MALFORMED");
          } else {
            expect(Object.entries(one)).to.deep.equal(
              Object.entries({ orderID, ...expected }),
            );
          }
        }
        outcomes.add(expected === undefined ? "refused" : "read");
      }),
      { numRuns: 300 },
    );
    expect(outcomes.size).to.equal(2);
  });
});
