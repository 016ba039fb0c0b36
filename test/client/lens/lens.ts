import { Buffer } from "node:buffer";

import { expect } from "chai";
import { AbiCoder, id } from "ethers";
import fc from "fast-check";

import { parseLensAnswer } from "../../../src/client/lens/lens.js";

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
    [id("hardhat-vault/VaultLens/3"), number, timestamp, chainId],
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
        // Between two entries it is an answer with fewer of them.
        const fewer = given.entries.findIndex((_, index) => {
          const entries = given.entries.slice(0, index);
          return encode({ ...given, entries }).length === cut.length;
        });
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
    const entries = [{ status: 5, hasCode: true, data: new Uint8Array() }];
    const bytes = encode({ ...whole, entries });
    expect(parseLensAnswer(bytes)).to.equal(undefined);
  });
});

describe("client - packed entries", () => {
  it("parseLensAnswer() finds packed orders between others, and refuses one that is cut off", () => {
    const packed = Buffer.from(
      `0403${"07".repeat(126)}${"61".repeat(3)}`,
      "hex",
    );
    const entries = [{ status: 1, hasCode: true, data: Uint8Array.of(9) }];
    const one = encode({ ...whole, entries });
    const bytes = Buffer.concat([one, packed, packed]);
    const found = parseLensAnswer(bytes)?.entries.map(
      ({ status, start, end }) => [status, end - start],
    );
    expect(found).to.deep.equal([
      ["returned", 1],
      ["packed", 131],
      ["packed", 131],
    ]);
    for (const cut of [1, 100, 130, 132]) {
      const rest = bytes.subarray(0, bytes.length - cut);
      expect(parseLensAnswer(rest)).to.equal(undefined);
    }
  });
});
