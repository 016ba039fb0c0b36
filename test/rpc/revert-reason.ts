import { expect } from "chai";
import { ErrorFragment, Interface } from "ethers";

import { classifyFailure } from "../../src/rpc/errors.js";
import {
  decodeArguments,
  decodeRevertReason,
} from "../../src/rpc/revert-reason.js";

/** Revert data of an error by its declaration, as in Solidity. */
const errorData = (error: string, ...values: readonly unknown[]): string =>
  new Interface([`error ${error}`]).encodeErrorResult(
    error.slice(0, error.indexOf("(")),
    values,
  );

/** Data whose texts are bytes, which need not be UTF-8. */
const withBytes = (selector: string, types: string, ...values: unknown[]) =>
  `${selector}${errorData(`E(${types})`, ...values).slice(10)}`;

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
/** The data of ganache 6, by a transaction's hash. */
const ganache = {
  code: -32000,
  message: "VM Exception while processing transaction: revert",
  data: {
    [`0x${"ab".repeat(32)}`]: { error: "revert", return: "0x12345678" },
    name: "RuntimeError",
  },
};
const inData = {
  code: -32603,
  message: "Internal error",
  data: {
    message: "VM Exception while processing transaction",
    data: errorData("Panic(uint256)", 0x12),
  },
};
const longest = `0x${"ab".repeat(499_999)}`;
const ERROR = "0x08c379a0";
const argumentsOf = (selector: string, bytes = 0): string =>
  `unknown error ${selector} with ${bytes} bytes of arguments`;

describe("the reason of a revert", () => {
  const told: Readonly<
    Record<string, ReadonlyArray<readonly [error: unknown, text: string]>>
  > = {
    none: [
      carrying("0x"),
      { code: 3, message: "no" },
      { code: 3, data: "0x123" },
      carrying(`${longest}ab`),
    ].map((error) => [error, "no reason given"]),
    string: [
      [carrying(errorData("Error(string)", "closed")), "closed"],
      [carrying(withBytes(ERROR, "bytes", "0x41ff")), "A\ufffd"],
    ],
    panic: [
      [
        carrying(errorData("Panic(uint256)", 0x11)),
        "panic 0x11: arithmetic overflow or underflow",
      ],
      [
        carrying(errorData("Panic(uint256)", 2)),
        "panic 0x02: unknown panic code",
      ],
      [inData, "panic 0x12: division or modulo by zero"],
    ],
    // Of the mocks.
    custom: [
      [
        carrying(errorData("OrderNotFound(uint256)", 7)),
        "OrderNotFound(orderID: 7)",
      ],
    ],
    unknown: [
      [carrying(ERROR), argumentsOf(ERROR)],
      [carrying("0xabcdef"), "unknown error data 0xabcdef"],
      [nested, argumentsOf("0x12345678")],
      [ganache, argumentsOf("0x12345678")],
      [carrying(longest), argumentsOf("0xabababab", 499_995)],
    ],
  };
  for (const [kind, errors] of Object.entries(told)) {
    it(`is ${kind}, with the text, wherever a node's error has its data`, () => {
      for (const [error, text] of errors) {
        const failure = classifyFailure(error);
        const found =
          failure.kind === "reverted" ? failure.reverted : undefined;
        expect(found?.kind, text).to.equal(kind);
        expect(found?.text.split(": 0xab")[0]).to.equal(text);
      }
    });
  }

  it("has the arguments of an error of a given ABI, lists and tuples too", () => {
    const odd = ErrorFragment.from(
      "error Odd(tuple(uint256 a, string)[] list, address)",
    );
    const account = `0x${"11".repeat(20)}`;
    const list = [
      [1, "0x41"],
      [2, "0x42ff"],
    ];
    const types = "tuple(uint256,bytes)[],address";
    const data = withBytes(odd.selector, types, list, account);
    const other = ErrorFragment.from("error Other()");
    expect(decodeRevertReason(data, [other, odd])).to.deep.equal({
      kind: "custom",
      text: `Odd(list: [{"a":"1","_1":"A"},{"a":"2","_1":"B\ufffd"}], _1: "${account}")`,
      data,
    });
    expect(decodeRevertReason(data, [other]).kind).to.equal("unknown");
    const cut = decodeRevertReason(data.slice(0, -64), [odd]);
    expect(cut.kind).to.equal("unknown");
  });

  const error = ErrorFragment.from("error Late(uint256 end, bytes)");
  const data = errorData("Late(uint256,bytes)", 7, "0xab");
  const values = { end: 7n, _1: "0xab" };

  it("names its arguments as the ABI does, or as given", () => {
    expect(decodeArguments(error, data)).to.deep.equal({ values });
    expect(decodeArguments(error, data, ["a", "b"])).to.deep.equal({
      values: { a: 7n, b: "0xab" },
    });
    expect(decodeArguments(error, data, ["a"])).to.deep.equal({
      values: { a: 7n, _1: "0xab" },
    });
  });

  it("has its arguments apart from what stands behind them, and none if they are cut off or encoded in another way", () => {
    expect(decodeArguments(error, `${data}cafe`)).to.deep.equal({
      values,
      trailing: "0xcafe",
    });
    expect(decodeArguments(error, data.slice(0, -64))).to.equal(undefined);
    // What fills the last word is not zero.
    const dirty = `${data.slice(0, -2)}01`;
    expect(decodeArguments(error, dirty)).to.equal(undefined);
  });
});
