import { Buffer } from "node:buffer";

import { expect } from "chai";
import { AbiCoder, id } from "ethers";
import fc from "fast-check";

import {
  parseLensAnswer,
  releaseAnswer,
} from "../../src/client/lens/lens-answer.js";
import type { LensAnswer } from "../../src/client/lens/lens-answer.js";

const entry = fc.record({
  status: fc.integer({ min: 0, max: 2 }),
  hasCode: fc.boolean(),
  data: fc.uint8Array({ maxLength: 80 }),
});

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
    [id("hardhat-vault/VaultLens/1"), number, timestamp, chainId],
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
  it("should find every entry of an answer", () => {
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
            status: ["reverted", "returned", "unknown"].indexOf(status),
            hasCode,
            data: Uint8Array.from(bytes.subarray(start, end)),
          })),
        ).to.deep.equal(given.entries);
      }),
    );
  });

  it("should refuse an answer that is cut off inside an entry", () => {
    fc.assert(
      fc.property(answer, fc.nat(), (given, at) => {
        const bytes = encode(given);
        const cut = bytes.subarray(0, at % bytes.length);
        const parsed = parseLensAnswer(cut);
        // Between two entries it is an answer with fewer of them: whoever asked
        // knows how many there should be.
        if (parsed !== undefined) {
          expect(parsed.entries.length).to.be.lessThan(given.entries.length);
          expect(parsed.entries.at(-1)?.end ?? 128).to.equal(cut.length);
        }
      }),
    );
  });

  it("should refuse bytes that are no answer", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(parseLensAnswer(Buffer.from(bytes))).to.equal(undefined);
      }),
    );
  });

  it("should refuse an entry with an unknown status", () => {
    const bytes = encode({
      number: 1,
      timestamp: 1,
      chainId: 1,
      entries: [{ status: 3, hasCode: true, data: new Uint8Array() }],
    });
    expect(parseLensAnswer(bytes)).to.equal(undefined);
  });
});

describe("client - releaseAnswer", () => {
  const encoded = encode({
    number: 1,
    timestamp: 2,
    chainId: 3,
    entries: [{ status: 1, hasCode: true, data: new Uint8Array(40) }],
  });

  it("should give the memory of an answer back", () => {
    const bytes = Buffer.allocUnsafeSlow(encoded.length);
    bytes.set(encoded);
    releaseAnswer(parse(bytes));
    expect(bytes.buffer).to.have.property("detached", true);
    expect(bytes).to.have.length(0);
  });

  it("should leave memory alone that others have a part of", () => {
    const shared = Buffer.concat([encoded, Buffer.from("another's")]);
    releaseAnswer(parse(shared.subarray(0, encoded.length)));
    expect(shared.toString("utf8", encoded.length)).to.equal("another's");
  });
});

function parse(bytes: Buffer): LensAnswer {
  const result = parseLensAnswer(bytes);
  if (result === undefined) {
    throw new Error("not the answer of a lens");
  }
  return result;
}
