import { Buffer } from "node:buffer";

import { expect } from "chai";
import { AbiCoder, Interface, id } from "ethers";
import fc from "fast-check";

import { VaultLensArtifact } from "../../src/client/lens/artifact.js";
import {
  encodeReadCalls,
  parseLensAnswer,
  readsIn,
} from "../../src/client/lens/lens.js";
import { parseFacts } from "../../src/client/lens/facts.js";
import { decodeRevertReason } from "../../src/rpc/revert-reason.js";

const entry = fc.record({
  status: fc.integer({ min: 0, max: 3 }),
  hasCode: fc.boolean(),
  data: fc.uint8Array({ maxLength: 80 }),
});

const whole = { number: 1, timestamp: 2, chainId: 3 };

const answer = fc.record({
  number: fc.nat(),
  timestamp: fc.nat(),
  chainId: fc.nat(),
  entries: fc.array(entry, { maxLength: 6 }),
});

type Answer = typeof answer extends fc.Arbitrary<infer T> ? T : never;

function encode({ number, timestamp, chainId, entries }: Answer): Buffer {
  const header = AbiCoder.defaultAbiCoder().encode(
    ["bytes32", "uint256", "uint256", "uint256"],
    [id("hardhat-vault/VaultLens/2"), number, timestamp, chainId],
  );
  return Buffer.concat([
    Buffer.from(header.slice(2), "hex"),
    ...entries.flatMap(({ status, hasCode, data }) => {
      const word = Buffer.alloc(32);
      word.writeUInt8(status, 0);
      word.writeUInt8(hasCode ? 1 : 0, 1);
      word.writeUInt32BE(data.length, 28);
      return [word, data];
    }),
  ]);
}

describe("client - parseLensAnswer", () => {
  it("parseLensAnswer() finds every entry of an answer", () => {
    fc.assert(
      fc.property(answer, (given) => {
        const bytes = encode(given);
        const parsed = parseLensAnswer(bytes);
        expect(parsed?.block).to.deep.equal({
          number: given.number,
          timestamp: given.timestamp,
        });
        expect(parsed?.chainId).to.equal(given.chainId);
        expect(
          parsed?.entries.map(({ status, hasCode, start, end }) => ({
            status: ["reverted", "returned", "tooLong", "usedUp"].indexOf(
              status,
            ),
            hasCode,
            data: Uint8Array.from(bytes.subarray(start, end)),
          })),
        ).to.deep.equal(given.entries);
      }),
    );
  });

  it("parseLensAnswer() refuses an answer that is cut off inside an entry", () => {
    fc.assert(
      fc.property(answer, fc.nat(), (given, at) => {
        const bytes = encode(given);
        const cut = bytes.subarray(0, at % bytes.length);
        // Between two entries it is an answer with fewer of them: whoever asked
        // knows how many there should be.
        const answers = given.entries.map((_, index) =>
          encode({ ...given, entries: given.entries.slice(0, index) }),
        );
        const fewer = answers.findIndex(({ length }) => length === cut.length);
        expect(parseLensAnswer(cut)?.entries.length ?? -1).to.equal(fewer);
      }),
    );
  });

  it("parseLensAnswer() refuses bytes that are no answer", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(parseLensAnswer(Buffer.from(bytes))).to.equal(undefined);
      }),
    );
  });

  it("parseLensAnswer() refuses an entry with an unknown status", () => {
    const entries = [{ status: 4, hasCode: true, data: new Uint8Array() }];
    const bytes = encode({ ...whole, entries });
    expect(parseLensAnswer(bytes)).to.equal(undefined);
  });
});

describe("client - encodeReadCalls", () => {
  it("encodeReadCalls() encodes the contracts and the data of each list of calls", () => {
    const lens = new Interface(VaultLensArtifact.abi);
    const [one, other] = ["0xa1", "0xa2"].map(
      (end) => `0x${end.slice(2).padStart(40, "0")}`,
    );
    for (const calls of [
      [[one, "0x11"]],
      [[other, "0x11"]],
      [[other, "0x12"]],
      [],
      [
        [one, "0x11"],
        [other, "0x12"],
      ],
      [
        [one, "0x12"],
        [other, "0x11"],
      ],
    ]) {
      const data = encodeReadCalls(
        calls.map(([target = "", given = ""]) => ({ target, data: given })),
      );
      const [decoded] = lens.decodeFunctionData("readCalls", data);
      expect(JSON.stringify(decoded).toLowerCase()).to.equal(
        JSON.stringify(calls),
      );
    }
  });
});

const words = (...values: ReadonlyArray<bigint | number>): Buffer =>
  Buffer.from(
    values.map((value) => value.toString(16).padStart(64, "0")).join(""),
    "hex",
  );
/** The least that is no number of a header. */
const TOO_LARGE = 2n ** 48n;

describe("client - parseFacts", () => {
  const accounts = ["0xa", "0xb"];
  const MAX = 2n ** 256n - 1n;
  /** Facts of an account that has nothing, behind this header. */
  const factsOf = (...header: ReadonlyArray<bigint | number>) =>
    parseFacts({ data: words(...header, 0, 0, 0) }, ["0xa"]);

  it("parseFacts() finds each account's balance and code", () => {
    expect(
      parseFacts({ data: words(1, 2, 3, 7, MAX, 0, 5, 24_576) }, accounts),
    ).to.deep.equal({
      block: { number: 1, timestamp: 2, chainId: 3, baseFee: 7n },
      accounts: new Map([
        ["0xa", { balance: MAX, hasCode: false }],
        ["0xb", { balance: 5n, hasCode: true }],
      ]),
    });
    expect(factsOf(1, 2, TOO_LARGE - 1n)?.block.chainId).to.equal(2 ** 48 - 1);
  });

  it("parseFacts() refuses another number of words, and numbers that are too large", () => {
    const bytes = words(1, 2, 3, 7, 4, 0, 5, 6);
    const refused = { reverted: decodeRevertReason("0x") };
    for (const given of [
      ...[0, 32, bytes.length - 32, bytes.length - 1].map((size) => ({
        data: bytes.subarray(0, size),
      })),
      undefined,
      refused,
    ]) {
      expect(parseFacts(given, accounts)).to.equal(undefined);
    }
    expect(parseFacts({ data: bytes }, ["0xa"])).to.equal(undefined);
    for (const header of [
      [TOO_LARGE, 2, 3],
      [1, TOO_LARGE, 3],
      [1, 2, TOO_LARGE],
    ]) {
      expect(factsOf(...header)).to.equal(undefined);
    }
  });
});

describe("client - readsIn", () => {
  it("readsIn() has no result for a call that needs a request of its own, and none for an answer that reverted", () => {
    const data = Uint8Array.from([7]);
    const entries = [0, 1, 2, 3].map((status) => ({
      status,
      data,
      hasCode: true,
    }));
    const bytes = encode({ ...whole, entries });
    const [reverted, returned, ...more] = readsIn({ data: bytes });
    expect(reverted).to.have.property("reverted");
    expect(returned).to.have.deep.property("data", Buffer.from([7]));
    expect(more).to.deep.equal([undefined, undefined]);
    const failed = decodeRevertReason("0x");
    expect(readsIn({ reverted: failed })).to.deep.equal([]);
  });
});
