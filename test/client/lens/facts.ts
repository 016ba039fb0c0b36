import { Buffer } from "node:buffer";

import { expect } from "chai";

import { parseFacts } from "../../../src/client/lens/facts.js";
import { decodeRevertReason } from "../../../src/rpc/revert-reason.js";

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
      parseFacts({ data: words(1, 2, 3, 7, MAX, 0, 5, 1) }, accounts),
    ).to.deep.equal({
      block: { number: 1, timestamp: 2, chainId: 3, baseFee: 7n },
      accounts: new Map([
        ["0xa", { balance: MAX, codeSize: 0n }],
        ["0xb", { balance: 5n, codeSize: 1n }],
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
