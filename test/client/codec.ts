import { Buffer } from "node:buffer";

import { expect } from "chai";
import { AbiCoder, getBytes, hexlify } from "ethers";
import fc from "fast-check";

import { decodeOutputs } from "../../src/client/codec.js";
import {
  operationEntry,
  operations,
  readOperationNames,
} from "../../src/protocol/index.js";
import type { ReadOperationName } from "../../src/protocol/index.js";
import { decodeGenerally } from "../helpers/general-decoder.js";
import { anyString } from "../helpers/hostile-text.js";

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
  .tuple(
    fc.uint8Array({ minLength: 18, maxLength: 18 }),
    fc.constantFrom([0, 0], [0, 1], [255, 255]),
  )
  .map(([start, end]) => hexlify(Uint8Array.from([...start, ...end])));
/** Any string: empty, long, multi-byte, and bytes that are not UTF-8. */
const text = fc.oneof(
  anyString.map((value) => Buffer.from(value, "utf8")),
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

/**
 * The values by name; undefined if the bytes are refused.
 */
function decode(name: ReadOperationName, data: Uint8Array): unknown {
  // The zeros behind it in memory could complete what is cut off.
  const bytes = Buffer.concat([Buffer.alloc(7, 1), data, Buffer.alloc(96)]);
  const result = decodeOutputs(name, bytes.subarray(7, 7 + data.length));
  const [only, ...others] = operationEntry(name).outputs;
  if (!("value" in result)) {
    return undefined;
  }
  return only !== undefined && others.length === 0
    ? { [only.name]: result.value }
    : result.value;
}

/** Words as they may come: small, large, and just beyond a bool. */
const word = fc
  .oneof(fc.bigInt({ min: 0n, max: 3n }), uint256)
  .map((value) => value.toString(16).padStart(64, "0"));

describe("client - decodeOutputs", () => {
  for (const name of readOperationNames) {
    const { length } = operationEntry(name).outputs;
    it(`decodeOutputs() reads words of ${name} as the general decoder does`, () => {
      fc.assert(
        fc.property(
          fc.array(word, { minLength: length - 1, maxLength: length + 1 }),
          (words) => {
            const data = `0x${words.join("")}`;
            expect(decode(name, getBytes(data))).to.deep.equal(
              decodeGenerally(name, data),
            );
          },
        ),
        { numRuns: 200 },
      );
    });
  }

  const damages: Record<
    string,
    fc.Arbitrary<(data: Uint8Array) => Uint8Array>
  > = {
    intact: fc.constant((data) => data),
    truncated: fc
      .nat({ max: 600 })
      .map(
        (kept) => (data) => data.subarray(0, Math.min(kept, data.length - 1)),
      ),
    "behind its head truncated": fc.constant((data) =>
      data.subarray(0, wireTypes.length * 32),
    ),
    padded: fc
      .constantFrom(32, 64)
      .chain((length) =>
        fc.uint8Array({ minLength: length, maxLength: length }),
      )
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
      .map(([place, value]) => (data) => {
        const copy = Buffer.from(data);
        copy.write(value.toString(16).padStart(64, "0"), place * 32, "hex");
        return copy;
      }),
  };

  it("decodeOutputs() refuses a length that is no multiple of 32, whatever the bytes", () => {
    fc.assert(
      fc.property(
        encodedOrder,
        fc.uint8Array({ minLength: 1, maxLength: 31 }),
        (data, more) => {
          const longer = Buffer.concat([data, more]);
          expect(decode("getOrderInfo", longer)).to.equal(undefined);
        },
      ),
      { numRuns: 50 },
    );
  });

  const coder = AbiCoder.defaultAbiCoder();
  const round = [65n, 12n, 9n, 7n, 1n, 100n, 200n, 0n, 0n, false];
  const roundTypes = operations.getLatestRoundInfo.outputs.map(
    ({ type }) => type,
  );
  const order = [Buffer.from("BTC-USDT"), `0x${"ab".repeat(20)}`].concat(
    Array.from({ length: 11 }, (_, index) => String(index)),
  );
  for (const [name, title, types, values] of [
    [
      "getLatestRoundInfo",
      "an id before the round",
      ["uint256", ...roundTypes],
      [3n, ...round],
    ],
    [
      "getLatestRoundInfo",
      "a word behind the round",
      [...roundTypes, "uint256"],
      [...round, 3n],
    ],
    [
      "getLatestRoundInfo",
      "a list of words that holds the round",
      ["uint256[]"],
      [round.map(BigInt)],
    ],
    [
      "getOrderInfo",
      "a struct that is the order",
      [`tuple(${wireTypes.join()})`],
      [order],
    ],
    [
      "getOrderInfo",
      "an order with a second string",
      ["bytes", ...wireTypes],
      [Buffer.from("x"), ...order],
    ],
    [
      "getOrderInfo",
      "an order with a string at its end",
      [...wireTypes, "bytes"],
      [...order, Buffer.from("x")],
    ],
    [
      "queryVolume",
      "a volume and its decimals",
      ["uint256", "uint256"],
      [5n, 18n],
    ],
  ] as const) {
    it(`decodeOutputs() refuses ${title}`, () => {
      const data = getBytes(coder.encode(types, values));
      expect(decode(name, data)).to.equal(undefined);
    });
  }

  for (const [name, damage] of Object.entries(damages)) {
    it(`decodeOutputs() reads ${name} bytes of an order as the general decoder does`, () => {
      fc.assert(
        fc.property(encodedOrder, damage, (data, harm) => {
          const damaged = harm(data);
          // Not all are refused.
          expect(decode("getOrderInfo", data)).to.not.equal(undefined);
          expect(decode("getOrderInfo", damaged)).to.deep.equal(
            decodeGenerally("getOrderInfo", hexlify(damaged)),
          );
        }),
        { numRuns: 400 },
      );
    });
  }
});
