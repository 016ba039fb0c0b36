import { stripVTControlCharacters } from "node:util";

import { expect } from "chai";

import {
  chapter,
  code,
  createStyle,
  labelledValues,
  notes,
  renderText,
  section,
  table,
  title,
  wrapText,
} from "../../../tasks/output/screen.js";
import type { Content, Part, Style } from "../../../tasks/output/screen.js";
import { SECOND } from "../../helpers/names.js";

/** @param columns 0 for a pipe. */
const styleOf = (columns: number): Style =>
  createStyle(columns === 0 ? {} : { isTTY: true, columns });
const linesOf = (parts: readonly Part[], style: Style): string[] =>
  stripVTControlCharacters(renderText(parts, style)).split("\n");

const value = (text: Content): Part => labelledValues([["Label", text]]);
const noted = (note: string): Part => value({ text: "value", note });
const footed = { text: "2", footnote: "Why." };
const orders = table(
  ["Id", "Holder", "Price"],
  [
    ["1", SECOND, "5,000"],
    ["10", SECOND, ""],
  ],
);
const wide = table(
  ["name", "size"],
  [
    ["日本", "22"],
    ["\u001b[31mred\u001b[39m", "3"],
  ],
);
const headings = [
  ...[title("One"), title("Two"), notes("a", "b"), code("c"), notes()],
  ...section("None", labelledValues([])),
  ...[...section("Three", notes("e")), chapter("日本"), value("")],
];

describe("parts of a task as text", () => {
  const { env } = process;
  beforeEach(() => {
    process.env = { TERM: "xterm" };
  });
  afterEach(() => {
    process.env = env;
  });

  for (const [what, columns, parts, text] of [
    [
      "a table aligns its columns, numbers to the right",
      53,
      [orders],
      `Id  Holder${" ".repeat(36)}  Price\n 1  ${SECOND}  5,000\n10  ${SECOND}`,
    ],
    [
      "a table that is too wide becomes a list of its cells",
      52,
      [orders],
      `Id      1\nHolder  ${SECOND}\nPrice   5,000\n\nId      10\nHolder  ${SECOND}`,
    ],
    [
      "a table counts the columns of wide characters, and none of colours",
      0,
      [wide],
      "name  size\n日本    22\nred      3",
    ],
    [
      "a value with a word too long for the place beside its label stands below it",
      12,
      [value(`abc de ${"x".repeat(8)}`)],
      "Label\n  abc de\n  xxxxxxxx",
    ],
    [
      "a footnote of several cells stands once, below all parts",
      80,
      [table(["A"], [["1"], [footed], [footed]]), notes("b")],
      "A\n1\n2\n2\n\nb\n\nWhy.",
    ],
    [
      "a note stands behind its value",
      22,
      [noted("It is so")],
      "Label  value  It is so",
    ],
    [
      "a note that does not fit stands below its value",
      21,
      [noted("It is so")],
      "Label  value\n       It is so",
    ],
    [
      "a note that is a sentence stands below its value",
      80,
      [noted("It is.")],
      "Label  value\n       It is.",
    ],
    [
      "parts stand apart, but for one below a heading; empty ones are left out",
      80,
      headings,
      "One\n\nTwo\na\nb\n\nc\n\nThree\ne\n\n日本\n====\nLabel",
    ],
    [
      "a command in a sentence is not broken, so that it can be copied",
      30,
      [notes("Run now `npx hardhat vault settle` at once.")],
      "Run now\n`npx hardhat vault settle` at\nonce.",
    ],
    [
      "code is not wrapped",
      60,
      [code(`{ ${"b c ".repeat(30)} }`), code("")],
      `{ ${"b c ".repeat(30)} }\n\n`,
    ],
  ] as const) {
    it(`renderText: ${what}`, () => {
      const lines = linesOf(parts, styleOf(columns));
      expect(lines).to.deep.equal(text.split("\n"));
    });
  }

  it("renderText shows instance, network, chain, block and time after a title, escaped, and the instance after a title alone", () => {
    const envelope = {
      ...{ network: "li\u001bve", chainId: 5 },
      block: { number: 12, timestamp: 1_700_000_000, hash: null },
    };
    const place = "li\\u{1b}ve (chain 5), block 12, 2023-11-14T22:13:20Z";
    const named = createStyle({}, "us\u202edc");
    const parts = [title("Status", envelope), chapter("Part")];
    expect(linesOf(parts, styleOf(0))[0]).to.equal(`Status  ${place}`);
    expect(linesOf(parts, named)).to.deep.equal([
      ...[`Status  instance us\\u{202e}dc, ${place}`, "", "Part", "===="],
    ]);
    expect(linesOf([title("Status")], named)).to.deep.equal([
      "Status  instance us\\u{202e}dc",
    ]);
  });

  for (const [variables, isTTY, isColoured] of [
    [{}, false, false],
    // An empty one is none: https://no-color.org
    [{ NO_COLOR: "" }, true, true],
    [{ NO_COLOR: "1" }, true, false],
    [{ FORCE_COLOR: "1" }, false, true],
    [{ TERM: "dumb" }, true, false],
  ] as const) {
    it(`createStyle colours ${isColoured ? "" : "no "}${isTTY ? "terminal" : "pipe"} with ${JSON.stringify(variables)}`, () => {
      process.env = { TERM: "xterm", ...variables };
      expect(createStyle({ isTTY }).paint("bad", "x")).to.equal(
        isColoured ? "\u001b[31mx\u001b[39m" : "x",
      );
    });
  }

  it("createStyle takes 80 columns for a terminal that reports 0", () => {
    expect(createStyle({ isTTY: true, columns: 0 }).width).to.equal(80);
  });

  for (const lines of [
    ...["xxxx other/7", "xxxxxxx 5/apples", "xxxxxxxxxx", "日本日/日本"],
  ]) {
    it(`wrapText breaks a text at ten columns: ${lines}`, () => {
      expect(wrapText(lines.replace("/", " "), styleOf(10))).to.equal(
        lines.replace("/", "\n"),
      );
    });
  }
});
