import { Buffer } from "node:buffer";

import { expect } from "chai";
import { AbiCoder, getBytes, hexlify } from "ethers";
import fc from "fast-check";

import { decodeResult } from "../../src/client/codec.js";
import { operations } from "../../src/protocol/index.js";
import { decodeGenerally } from "../helpers/general-decoder.js";

const wireTypes = operations.getOrderInfo.outputs.map(({ type }) =>
  type === "string" ? "bytes" : type,
);

/** Any uint256, small and large ones alike. */
const uint256 = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  fc.bigInt({ min: 0n, max: 2n ** 128n }),
  fc.bigInt({ min: 0n, max: 2n ** 64n }),
  fc.constantFrom(0n, 2n ** 64n, 2n ** 128n, 2n ** 128n - 1n, 2n ** 256n - 1n),
);
const uint8 = fc.integer({ min: 0, max: 255 });
const address = fc
  .uint8Array({ minLength: 20, maxLength: 20 })
  .map((bytes) => hexlify(bytes));
/** Any string: empty, long, multi-byte, and bytes that are not UTF-8. */
const text = fc.oneof(
  fc.string({ unit: "binary" }).map((value) => Buffer.from(value, "utf8")),
  fc
    .string({ minLength: 31, maxLength: 33 })
    .map((value) => Buffer.from(value)),
  fc.uint8Array({ maxLength: 100 }).map((value) => Buffer.from(value)),
  fc.constantFrom(
    Buffer.from("\uFEFFBTC-USDT"),
    Buffer.from([0xf0, 0x9f, 0x98]),
    Buffer.from([0xed, 0xa0, 0x80]),
    Buffer.from([0xc0, 0x80]),
    Buffer.alloc(5_000, "é"),
  ),
);

const encodedOrder = fc
  .tuple(
    text,
    address,
    ...Array.from({ length: 9 }, () => uint256),
    uint8,
    uint8,
  )
  .map((values) =>
    getBytes(AbiCoder.defaultAbiCoder().encode(wireTypes, values)),
  );

function decode(data: Uint8Array): unknown {
  const result = decodeResult("getOrderInfo", Buffer.from(data));
  return "value" in result ? result.value : undefined;
}

describe("client - decodeResult of an order", () => {
  it("should decode any order as the general decoder does", () => {
    fc.assert(
      fc.property(encodedOrder, (data) => {
        const order = decode(data);
        expect(order).to.not.equal(undefined);
        expect(order).to.deep.equal(
          decodeGenerally("getOrderInfo", hexlify(data)),
        );
      }),
      { numRuns: 500 },
    );
  });

  const damages: Record<
    string,
    fc.Arbitrary<(data: Uint8Array) => Uint8Array>
  > = {
    truncated: fc
      .nat({ max: 600 })
      .map(
        (kept) => (data) => data.subarray(0, Math.min(kept, data.length - 1)),
      ),
    padded: fc
      .uint8Array({ minLength: 1, maxLength: 64 })
      .map((padding) => (data) => Buffer.concat([data, padding])),
    shifted: fc
      .uint8Array({ minLength: 1, maxLength: 64 })
      .map((prefix) => (data) => Buffer.concat([prefix, data])),
    changed: fc
      .tuple(fc.nat(), fc.integer({ min: 1, max: 255 }))
      .map(([at, by]) => (data) => {
        const copy = Uint8Array.from(data);
        const index = at % copy.length;
        copy[index] = (copy[index] ?? 0) ^ by;
        return copy;
      }),
    "changed in its string's place": fc
      .tuple(fc.constantFrom(0, 13), uint256)
      .map(([word, value]) => (data) => {
        const copy = Buffer.from(data);
        copy.write(value.toString(16).padStart(64, "0"), word * 32, "hex");
        return copy;
      }),
  };

  for (const [name, damage] of Object.entries(damages)) {
    it(`should accept ${name} data exactly where the general decoder does`, () => {
      fc.assert(
        fc.property(encodedOrder, damage, (data, harm) => {
          const damaged = harm(data);
          expect(decode(damaged)).to.deep.equal(
            decodeGenerally("getOrderInfo", hexlify(damaged)),
          );
        }),
        { numRuns: 400 },
      );
    });
  }
});
