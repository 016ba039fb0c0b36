import { Buffer } from "node:buffer";

import { expect } from "chai";
import { AbiCoder, getBytes, hexlify } from "ethers";
import fc from "fast-check";

import {
  decodeAnswer,
  decodeOutputs,
  encodeCall,
} from "../../src/client/codec.js";
import {
  operationEntry,
  operations,
  readOperationNames,
} from "../../src/protocol/index.js";
import type { ReadOperationName } from "../../src/protocol/index.js";
import { decodeRevertReason } from "../../src/rpc/revert-reason.js";
import { expectVaultError } from "../helpers/assertions.js";
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

describe("client - encodeCall", () => {
  const words = (...numbers: readonly number[]): string =>
    numbers.map((number) => number.toString(16).padStart(64, "0")).join("");

  for (const [operation, args, role, data] of [
    ["queryVolume", [], "vault", "0xa69590a8"],
    ["getLPAmountInfo", ["public"], "publicPool", "0x53ac2d24"],
    ["getLPAmountInfo", ["private"], "privatePool", "0x53ac2d24"],
    ["getOrderInfo", [7n], "trading", `0xd311636b${words(7)}`],
    ["getFundingFeeRate", ["put"], "underlyingAsset", `0xc138aa5f${words(2)}`],
    [
      "calMargins",
      [{ endTime: 3n, maxVolume: 1, APY: 2n }],
      "vault",
      `0xb6624fb0${words(1, 2, 3)}`,
    ],
  ] as const) {
    it(`encodeCall() encodes ${operation}, of the ${role} contract`, () => {
      expect(encodeCall(operation, args)).to.deep.equal({
        ...{ operation, role, data },
      });
    });
  }

  for (const [operation, args, where] of [
    ["queryVolume", [1n], "queryVolume"],
    ["getOrderInfo", [1n, 2n], "getOrderInfo"],
    ["getLPAmountInfo", ["public", 1n], "getLPAmountInfo"],
    ["getLPAmountInfo", ["both"], "pool"],
    ["calMargins", [{ maxVolume: 1n, APR: 2n }], "calMargins"],
  ] as const) {
    it(`encodeCall() refuses ${args.length} arguments of ${operation} for ${where}`, async () => {
      const { details } = await expectVaultError(
        () => encodeCall(operation, args),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(details["where"]).to.equal(where);
    });
  }
});

describe("client - decodeAnswer", () => {
  const call = {
    ...({ operation: "queryVolume", role: "vault" } as const),
    address: "0x1111111111111111111111111111111111111111",
    source: "a test",
  } as const;
  const seen = { network: "live", lacksCode: false };
  const revert = (data: string) => ({ reverted: decodeRevertReason(data) });
  const words = (count: number) => ({ data: Buffer.alloc(32 * count) });
  const reason = `0x08c379a0${Buffer.from(
    getBytes(AbiCoder.defaultAbiCoder().encode(["string"], ["closed"])),
  ).toString("hex")}`;

  it("decodeAnswer() returns the value, also of an account that is said to lack code", () => {
    const data = Buffer.from("7".padStart(64, "0"), "hex");
    for (const lacksCode of [false, true]) {
      const value = decodeAnswer(call, { data }, { ...seen, lacksCode });
      expect(value).to.equal(7n);
    }
  });

  for (const [title, answer, more, code, says] of [
    [
      "a revert without a reason",
      revert("0x"),
      {},
      "VAULT_CALL_REVERTED",
      /without a reason.*comes from a test, and that network live is its chain/u,
    ],
    [
      "a revert with one",
      revert(reason),
      {},
      "VAULT_CALL_REVERTED",
      /reverted: closed .*This reason is from the contract/u,
    ],
    [
      "words too many",
      words(2),
      { lacksCode: true },
      "VAULT_RETURN_DATA_MALFORMED",
      /64 bytes instead of 32/u,
    ],
    [
      "nothing of an account with code",
      words(0),
      {},
      "VAULT_RETURN_DATA_MALFORMED",
      /0 bytes instead of 32/u,
    ],
    [
      "nothing of an account without code",
      words(0),
      { lacksCode: true },
      "VAULT_NO_CODE",
      /no contract code at 0x1{40}, the vault contract/u,
    ],
    [
      "nothing of an account without code, at a block",
      words(0),
      { lacksCode: true, block: "0x5" },
      "VAULT_NO_CODE",
      /no contract code at 0x1{40} at block 5, the vault contract/u,
    ],
  ] as const) {
    it(`decodeAnswer() throws ${code} for ${title}`, async () => {
      const { message } = await expectVaultError(
        () => decodeAnswer(call, answer, { ...seen, ...more }),
        code,
      );
      expect(message).to.match(says);
    });
  }

  for (const [what, source, says] of [
    ["a mock", "deployMocks()", /The contract is a mock \(deployMocks\(\)\)/u],
    [
      "an order",
      "a test",
      /: There may be no order with this id\. This reason/u,
    ],
  ] as const) {
    it(`decodeAnswer() has advice of its own for the revert of ${what}`, async () => {
      const operation =
        what === "an order" ? ("getOrderInfo" as const) : call.operation;
      const { fix } = await expectVaultError(
        () =>
          decodeAnswer({ ...call, operation, source }, revert(reason), seen),
        "VAULT_CALL_REVERTED",
      );
      expect(`: ${fix}`).to.match(says);
    });
  }
});
