import { expect } from "chai";
import { AbiCoder, ErrorFragment, id } from "ethers";

import { classifyFailure } from "../../src/rpc/errors.js";
import {
  decodeArguments,
  decodeRevertReason,
} from "../../src/rpc/revert-reason.js";

const coder = AbiCoder.defaultAbiCoder();

/** Revert data of an error by its signature. */
function errorData(
  signature: string,
  types: readonly string[],
  values: readonly unknown[],
): string {
  return `${id(signature).slice(0, 10)}${coder.encode([...types], [...values]).slice(2)}`;
}

/** An error as geth and anvil send it. */
const carrying = (data: string): object => ({
  code: 3,
  message: "execution reverted",
  data,
});
/** As many wrappers as libraries never nest. */
const nested = Array.from({ length: 60 }).reduce<object>(
  (cause) => ({ message: "no", cause }),
  { code: 3, data: "0x12345678" },
);
const longest = `0x${"ab".repeat(499_999)}`;
const UNKNOWN = "unknown error 0x12345678 with 0 bytes of arguments";

describe("the reason of a revert", () => {
  const told: ReadonlyArray<
    readonly [what: string, error: unknown, kind: string, text: string]
  > = [
    ["no data", carrying("0x"), "none", "no reason given"],
    [
      "a code without data",
      { code: 3, message: "no" },
      "none",
      "no reason given",
    ],
    ["half a byte", { code: 3, data: "0x123" }, "none", "no reason given"],
    [
      "a text",
      carrying(errorData("Error(string)", ["string"], ["closed"])),
      "string",
      "closed",
    ],
    [
      "a text that is not UTF-8",
      carrying(errorData("Error(string)", ["bytes"], ["0x41ff"])),
      "string",
      "A\ufffd",
    ],
    [
      "a text without its words",
      carrying("0x08c379a0"),
      "unknown",
      "unknown error 0x08c379a0 with 0 bytes of arguments",
    ],
    [
      "a panic",
      carrying(errorData("Panic(uint256)", ["uint256"], [0x11])),
      "panic",
      "panic 0x11: arithmetic overflow or underflow",
    ],
    [
      "a panic with an unknown code",
      carrying(errorData("Panic(uint256)", ["uint256"], [2])),
      "panic",
      "panic 0x02: unknown panic code",
    ],
    [
      "an error of the mocks",
      carrying(errorData("OrderNotFound(uint256)", ["uint256"], [7])),
      "custom",
      "OrderNotFound(orderID: 7)",
    ],
    [
      "three bytes",
      carrying("0xabcdef"),
      "unknown",
      "unknown error data 0xabcdef",
    ],
    [
      "an error nested in data",
      {
        code: -32603,
        message: "Internal error",
        data: {
          message: "VM Exception while processing transaction",
          data: errorData("Panic(uint256)", ["uint256"], [0x12]),
        },
      },
      "panic",
      "panic 0x12: division or modulo by zero",
    ],
    ["an error that is nested deeply", nested, "unknown", UNKNOWN],
    [
      "the data of ganache 6, by a transaction's hash",
      {
        code: -32000,
        message: "VM Exception while processing transaction: revert",
        data: {
          [`0x${"ab".repeat(32)}`]: { error: "revert", return: "0x12345678" },
          name: "RuntimeError",
        },
      },
      "unknown",
      UNKNOWN,
    ],
    [
      "the longest data",
      carrying(longest),
      "unknown",
      "unknown error 0xabababab with 499995 bytes of arguments",
    ],
    ["longer data", carrying(`${longest}ab`), "none", "no reason given"],
  ];
  for (const [what, error, kind, text] of told) {
    it(`is read from ${what}`, () => {
      const failure = classifyFailure(error);
      const found = failure.kind === "reverted" ? failure.reverted : undefined;
      expect(found?.kind).to.equal(kind);
      expect(found?.text.split(": 0xab")[0]).to.equal(text);
    });
  }

  it("should be told of an error of a given ABI, lists and tuples too", () => {
    const odd = ErrorFragment.from(
      "error Odd(tuple(uint256 a, string)[] list, address)",
    );
    const account = `0x${"11".repeat(20)}`;
    const data = errorData(
      "Odd((uint256,string)[],address)",
      ["tuple(uint256,bytes)[]", "address"],
      [
        [
          [1, "0x41"],
          [2, "0x42ff"],
        ],
        account,
      ],
    );
    const other = ErrorFragment.from("error Other()");
    expect(decodeRevertReason(data, [other, odd])).to.deep.equal({
      kind: "custom",
      text: `Odd(list: [{"a":"1","_1":"A"},{"a":"2","_1":"B\ufffd"}], _1: "${account}")`,
      data,
    });
    expect(decodeRevertReason(data, [other]).kind).to.equal("unknown");
    // As with arguments that are cut off.
    expect(decodeRevertReason(data.slice(0, -64), [odd]).kind).to.equal(
      "unknown",
    );
  });

  describe("and its arguments", () => {
    const error = ErrorFragment.from("error Late(uint256 end, bytes)");
    const data = errorData(
      "Late(uint256,bytes)",
      ["uint256", "bytes"],
      [7, "0xab"],
    );
    const values = { end: 7n, _1: "0xab" };

    it("should be called as in the ABI, or as told", () => {
      expect(decodeArguments(error, data)).to.deep.equal({ values });
      expect(decodeArguments(error, data, ["a", "b"])).to.deep.equal({
        values: { a: 7n, b: "0xab" },
      });
      expect(decodeArguments(error, data, ["a"])).to.deep.equal({
        values: { a: 7n, _1: "0xab" },
      });
    });

    it("should be told apart from what stands behind them", () => {
      expect(decodeArguments(error, `${data}cafe`)).to.deep.equal({
        values,
        trailing: "0xcafe",
      });
    });

    it("should be none where they are cut off, or encoded in another way", () => {
      expect(decodeArguments(error, data.slice(0, -64))).to.equal(undefined);
      // What fills the last word is not zero.
      expect(decodeArguments(error, `${data.slice(0, -2)}01`)).to.equal(
        undefined,
      );
    });
  });
});
