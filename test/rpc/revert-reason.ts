import { expect } from "chai";
import { ErrorFragment, Interface, id } from "ethers";

import { Redactor } from "../../src/foreign-text.js";
import { classify } from "../../src/rpc/errors.js";
import {
  decodeArguments,
  decodeRevertReason,
  findRevert,
} from "../../src/rpc/revert-reason.js";
import { said } from "../helpers/foreign-errors.js";

/** Revert data of an error by its declaration, as in Solidity. */
const errorData = (error: string, ...values: readonly unknown[]): string =>
  new Interface([`error ${error}`]).encodeErrorResult(
    error.slice(0, error.indexOf("(")),
    values,
  );

/** An error as geth and anvil send it. */
const carrying = (data: string): object => said(3, "execution reverted", data);
/** As many wrappers as libraries never nest. */
const nested = Array.from({ length: 60 }).reduce<object>(
  (cause) => ({ message: "no", cause }),
  { code: 3, data: "0x12345678" },
);
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
const closed = errorData("Error(string)", "closed");
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
      // JSON that has no text.
      { code: 3, data: { toString: 1, valueOf: 1 } },
    ].map((error) => [error, "no reason given"]),
    string: [
      [carrying(closed.replace(ERROR, "0x08C379A0")), "closed"],
      // The data count, not an opcode's name.
      [said(3, "execution reverted: invalid opcode", closed), "closed"],
      [{ code: 3, message: "no", result: closed }, "closed"],
    ],
    panic: [
      [
        carrying(errorData("Panic(uint256)", 0x11)),
        "panic code 0x11 (Arithmetic operation overflowed outside of an unchecked block)",
      ],
      [carrying(errorData("Panic(uint256)", 2)), "unknown panic code 0x2"],
      [inData, "panic code 0x12 (Division or modulo division by zero)"],
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
      [carrying(longest), argumentsOf("0xabababab", 499_995)],
    ],
  };
  for (const [kind, errors] of Object.entries(told)) {
    it(`is ${kind}, with the text, wherever a node's error has its data`, () => {
      for (const [error, text] of errors) {
        const failure = classify(error);
        const found = failure.revert;
        expect(found?.kind, text).to.equal(kind);
        expect(found?.text.split(": 0xab")[0]).to.equal(text);
      }
    });
  }

  it("is an invalid opcode if the node's message names that without data", () => {
    const alone = classify(said(-32_000, "invalid opcode: INVALID"));
    expect(alone).to.have.nested.property("revert.kind", "invalid-opcode");
  });

  it("is the words of the node's message if there are no data, and none if it has none", () => {
    for (const [error, text] of [
      [said(-32_000, "evm: execution reverted: closed"), "closed"],
      [said(-32_000, "Execution reverted (closed)"), "closed"],
      [said(-32_603, "VM Exception: revert closed"), "closed"],
      [said(1, "failed, revert reason: [Error(closed)], vm error"), "closed"],
      [said(-32_015, "VM execution error.", "Reverted 0x"), "no reason given"],
      [said(-32_000, "execution reverted"), "no reason given"],
    ] as const) {
      const failure = classify(error);
      const found = failure.revert;
      expect(found?.text.split(": 0x")[0], JSON.stringify(error)).to.equal(
        text,
      );
    }
  });

  const redactor = new Redactor();
  redactor.keep("secret-1", "deadbeef", "0xabcdef");
  const secretText = errorData("Error(string)", "no secret-1");

  it("hides secrets in the words of a node", () => {
    const answered = { code: 3, message: "execution reverted: no secret-1" };
    expect(findRevert([answered], redactor)?.text).to.equal("no <hidden>");
  });

  it("hides secrets in the contract's own words, not in its data", () => {
    const given = ErrorFragment.from("error Given(string words, uint256)");
    const custom = errorData("Given(string,uint256)", "no secret-1", 7);
    for (const [data, text] of [
      [secretText, "no <hidden>"],
      [custom, 'Given(words: "no <hidden>", _1: 7)'],
      [
        "0x12345678deadbeef",
        "unknown error 0x12345678 with 4 bytes of arguments: 0x12345678<hidden>",
      ],
      ["0x12345678", "unknown error 0x12345678 with 0 bytes of arguments"],
    ] as const) {
      expect(decodeRevertReason(data, [given], redactor)).to.include({
        text,
        data,
      });
    }
    expect(decodeRevertReason("0xabcdef", [], redactor).text).to.equal(
      "unknown error data <hidden>",
    );
  });

  it("has the package's name of an error, not the one of a given ABI", () => {
    const data = errorData("OrderNotFound(uint256)", 7);
    const same = ErrorFragment.from("error OrderNotFound(uint256 other)");
    expect(decodeRevertReason(data, [same]).text).to.equal(
      "OrderNotFound(orderID: 7)",
    );
  });

  it("is that of the guard's errors", () => {
    const { text } = decodeRevertReason(id("NestedCall()").slice(0, 10));
    expect(text).to.equal("NestedCall()");
  });

  it("has the arguments of an error of a given ABI, lists and tuples as lists", () => {
    const odd = ErrorFragment.from(
      "error Odd(tuple(uint256 a, string)[] list, address)",
    );
    const account = `0x${"11".repeat(20)}`;
    const list = [
      [1, "A"],
      [2, "B"],
    ];
    const data = errorData(
      "Odd(tuple(uint256 a,string)[],address)",
      list,
      account,
    );
    const other = ErrorFragment.from("error Other()");
    expect(decodeRevertReason(data, [other, odd])).to.deep.equal({
      kind: "custom",
      text: `Odd(list: [["1","A"],["2","B"]], _1: "${account}")`,
      data,
    });
    expect(decodeRevertReason(data, [other]).kind).to.equal("unknown");
    const cut = decodeRevertReason(data.slice(0, -64), [odd]);
    expect(cut.kind).to.equal("unknown");
  });

  it("has its arguments also if bytes stand behind them, and none if they are cut off or encoded in another way", () => {
    const error = ErrorFragment.from("error Late(uint256 end, bytes)");
    const data = errorData("Late(uint256,bytes)", 7, "0xab");
    const values = { end: 7n, _1: "0xab" };
    expect(decodeArguments(error, data)).to.deep.equal(values);
    expect(decodeArguments(error, `${data}cafe`)).to.deep.equal(values);
    expect(decodeArguments(error, data.slice(0, -64))).to.equal(undefined);
    // What fills the last word is not zero.
    const dirty = `${data.slice(0, -2)}01`;
    expect(decodeArguments(error, dirty)).to.equal(undefined);
  });
});
