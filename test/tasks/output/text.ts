import { stripVTControlCharacters } from "node:util";

import { expect } from "chai";
import fc from "fast-check";

import { operations } from "../../../src/client/index.js";
import { isEnumName } from "../../../src/protocol/index.js";
import {
  chapter,
  code,
  labelledValues,
  notes,
  section,
  table,
  title,
} from "../../../tasks/output/blocks.js";
import type {
  Block,
  Column,
  Content,
  LabelledValue,
} from "../../../tasks/output/blocks.js";
import {
  fieldOf,
  formatCountdown,
  formatDuration,
  formatValue,
  utilisationBar,
} from "../../../tasks/output/format-value.js";
import { describeScales } from "../../../tasks/output/orders.js";
import { renderText, wrapText } from "../../../tasks/output/render-text.js";
import { createStyle } from "../../../tasks/output/style.js";
import type { Style } from "../../../tasks/output/style.js";

const MAX = 2n ** 256n - 1n;
const GROUPED_MAX = MAX.toLocaleString("en");
const context = { tokenDecimals: 6, chainTime: 1_700_000_000, raw: false };

describe("values for a person", () => {
  const values = [
    ["rate", 1n, "0.00000001"],
    ["price", 1n, "0.000000000000000001"],
    ["percent", 10n ** 18n, "100 %"],
    ["percent", 1n, "0.0000000000000001 %"],
    ["token", 1_500_000n, "1.5 tokens"],
    ["price", 1_234_567n * 10n ** 15n, "1,234.567"],
    ["token", 1_234_567_000_000n, "1,234,567 tokens"],
    ["raw", 1_000n, "1,000 raw"],
    ["raw", MAX, `${GROUPED_MAX} raw`],
    ["timestamp", 1_700_000_000n, "2023-11-14T22:13:20Z", "now"],
    ["timestamp", MAX, `${MAX} (Unix seconds)`],
    ["none", 5n, "5"],
    ["contractType", 1, "call (1)"],
    ["contractType", 0, "unknown (0)"],
    ["orderState", 2, "closed (2)"],
    ["orderState", 7, "unknown (7)"],
  ] as const;
  for (const [unit, value, text, note] of values) {
    it(`formatValue shows ${value} of unit ${unit} as ${text}`, () => {
      const type = isEnumName(unit) ? "uint8" : "uint256";
      const shown = formatValue({ type, unit }, value, context);
      expect(shown.text).to.equal(text);
      if (note !== undefined) {
        expect(shown.note).to.equal(note);
      }
      const raw = { ...context, raw: true };
      expect(formatValue({ type, unit }, value, raw)).to.deep.equal({
        text: value.toString(),
      });
    });
  }

  it("formatValue shows tokens as raw, with a footnote, if tokenDecimals is not set", () => {
    const token = { type: "uint256", unit: "token" } as const;
    const unknown = { ...context, tokenDecimals: undefined };
    expect(formatValue(token, 1_500_000n, unknown)).to.deep.equal({
      text: "1,500,000 raw",
      footnote:
        "The round's volumes and minimum deposit are raw: tokenDecimals is not set.",
    });
    expect(
      formatValue(token, 1_500n, { ...context, tokenDecimals: 0 }).text,
    ).to.equal("1,500 tokens");
  });

  it("formatDuration shows the two largest units", () => {
    for (const [seconds, text] of [
      [0n, "0s"],
      [59n, "59s"],
      [61n, "1m 1s"],
      [3_600n, "1h"],
      [90_000n, "1d 1h"],
      [86_460n, "1d"],
    ] as const) {
      expect(formatDuration(seconds)).to.equal(text);
    }
  });

  it("formatCountdown counts from the chain's clock", () => {
    expect(formatCountdown(160n, 100)).to.equal("in 1m");
    expect(formatCountdown(40n, 100)).to.equal("1m ago");
    expect(formatCountdown(100n, 100)).to.equal("now");
  });

  const bars = [
    [0n, 100n, 0, "0.0 %"],
    [1n, 3n, 7, "33.3 %"],
    [999_999n, 1_000_000n, 23, "99.9 %"],
    [1n, 1n, 24, "100.0 %"],
    [3n, 2n, 24, "150.0 %"],
    [0n, 0n, 0, "(nothing to fill)"],
    [5n, 0n, 0, "(nothing to fill)"],
    [MAX, MAX, 24, "100.0 %"],
  ] as const;
  for (const [part, whole, filled, text] of bars) {
    it(`utilisationBar draws ${part} of ${whole} as ${text}`, () => {
      expect(utilisationBar(part, whole)).to.equal(
        `${"█".repeat(filled)}${"░".repeat(24 - filled)} ${text}`,
      );
    });
  }

  it("formatValue notes the date of a number that is likely a time", () => {
    const opened = {
      type: "uint256",
      unit: "raw",
      isLikelyTime: true,
    } as const;
    expect(formatValue(opened, 1_699_900_000n, context)).to.include({
      text: "1699900000 raw",
      note: "2023-11-13T18:26:40Z assuming Unix seconds",
    });
    for (const value of [0n, 999_999_999n, 10_000_000_000n]) {
      expect(formatValue(opened, value, context)).to.not.have.property("note");
    }
    expect(
      formatValue(opened, 1_699_900_000n, { ...context, raw: true }),
    ).to.deep.equal({ text: "1699900000" });
  });

  it("formatValue scales by displayDecimals, and says so", () => {
    const displayDecimals = { pools: 6, "order.openPrice": 18 };
    const configured = { ...context, displayDecimals };
    const [deposit] = operations.getLPAmountInfo.outputs;
    const openPrice = fieldOf("getOrderInfo", "openPrice");
    const number = fieldOf("getOrderInfo", "number");
    expect(formatValue(deposit, 1_234_500_000n, configured)).to.deep.equal({
      text: "1,234.5",
      unscaled: 1_234_500_000n,
      footnote:
        "displayDecimals scales values whose scale is not documented, as configured.",
    });
    expect(formatValue(openPrice, 5n * 10n ** 17n, configured).text).to.equal(
      "0.5",
    );
    expect(formatValue(number, 5n, configured).text).to.equal("5 raw");
    expect(
      formatValue(deposit, 5n, { ...configured, raw: true }).text,
    ).to.equal("5");
    expect(describeScales(configured)).to.equal(
      "Scaled as configured: opening price. Other integers are unscaled: their scale is not documented.",
    );
    expect(describeScales(context)).to.match(/^Integers are unscaled:/u);
    expect(describeScales({ ...configured, raw: true })).to.equal(
      "Integers are unscaled.",
    );
  });
});

const ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const terminal = (columns: number): Style =>
  createStyle({ isTTY: true, columns });

const renderTable = (
  columns: readonly Column[],
  rows: ReadonlyArray<readonly Content[]>,
  style: Style,
): string => renderText([table(columns, rows)], style);

const renderValues = (values: readonly LabelledValue[], style: Style): string =>
  renderText([labelledValues(values)], style);

describe("blocks of a task as text", () => {
  const { env } = process;
  beforeEach(() => {
    process.env = { TERM: "xterm" };
  });
  afterEach(() => {
    process.env = env;
  });

  it("a table aligns columns with colours and wide characters", () => {
    const text = renderTable(
      [{ heading: "name" }, { heading: "size" }, { heading: "note" }],
      [
        ["日本", "22", "note"],
        ["\u001b[31mred\u001b[39m", "3", ""],
      ],
      createStyle({}),
    );
    expect(text.split("\n")).to.deep.equal([
      "name  size  note",
      "日本  22    note",
      "\u001b[31mred\u001b[39m   3",
    ]);
  });

  const coloured = [
    [{}, true, true],
    [{}, false, false],
    // Empty, it says nothing: https://no-color.org
    [{ NO_COLOR: "" }, true, true],
    [{ FORCE_COLOR: "1", NO_COLOR: "" }, false, true],
    [{ NO_COLOR: "1" }, true, false],
    [{ TERM: "dumb" }, true, false],
    [{ FORCE_COLOR: "1" }, false, true],
    [{ FORCE_COLOR: "3", TERM: "dumb" }, false, true],
    [{ FORCE_COLOR: "0" }, true, false],
    [{ FORCE_COLOR: "1", NO_COLOR: "1" }, true, false],
  ] as const;
  it("createStyle colours a terminal, unless NO_COLOR, FORCE_COLOR or TERM say otherwise", () => {
    for (const [variables, isTTY, isColoured] of coloured) {
      process.env = { TERM: "xterm", ...variables };
      expect(
        createStyle({ isTTY }).bad("x"),
        JSON.stringify(variables),
      ).to.equal(isColoured ? "\u001b[31mx\u001b[39m" : "x");
    }
  });

  it("createStyle has the width of a terminal, 80 if that is unknown, and none for a pipe", () => {
    expect(terminal(132).width).to.equal(132);
    expect(createStyle({ isTTY: true, columns: 0 }).width).to.equal(80);
    expect(createStyle({ isTTY: true }).width).to.equal(80);
    expect(createStyle({ isTTY: false, columns: 80 }).width).to.equal(Infinity);
  });

  const values = [
    [
      "Vault contract",
      { text: ADDRESS, note: "networks.main.vault.contracts.vault" },
    ],
    ["Cost", { text: "0.1", note: "at most 0.2" }],
  ] as const;
  const shown = (text: string): string[] =>
    stripVTControlCharacters(text).split("\n");

  it("values stand next to their notes, or above them, or below their labels, as the width allows", () => {
    expect(shown(renderValues(values, terminal(80)))).to.deep.equal([
      `Vault contract  ${ADDRESS}`,
      "                networks.main.vault.contracts.vault",
      `Cost            0.1${" ".repeat(39)}  at most 0.2`,
    ]);
    expect(shown(renderValues(values, terminal(50)))).to.deep.equal([
      "Vault contract",
      `  ${ADDRESS}`,
      "  networks.main.vault.contracts.vault",
      "Cost            0.1",
      "                at most 0.2",
    ]);
    expect(
      shown(renderValues([["Volume", `${GROUPED_MAX} raw`]], terminal(60))),
    ).to.deep.equal(["Volume", `  ${GROUPED_MAX} raw`]);
  });

  it("a note that is a sentence stands below its value, and a line may be as wide as the terminal", () => {
    const noted = (note: string, width: number): string[] =>
      shown(renderValues([["Cost", { text: "1.5", note }]], terminal(width)));
    expect(noted("at most 2", 20)).to.deep.equal(["Cost  1.5  at most 2"]);
    expect(noted("at most 2.", 80)).to.deep.equal([
      ...["Cost  1.5", "      at most 2."],
    ]);
    expect(noted("at most 2", 19)).to.deep.equal([
      ...["Cost  1.5", "      at most 2"],
    ]);
    // As wide as the room beside the label, and one wider.
    expect(noted("x".repeat(13), 19)[0]).to.equal("Cost  1.5");
    expect(noted("x".repeat(14), 19)).to.deep.equal([
      ...["Cost", "  1.5", `  ${"x".repeat(14)}`],
    ]);
    const words = `${"x".repeat(14)} yy`;
    expect(noted(words, 19).slice(2)).to.deep.equal([`  ${words}`]);
    expect(wrapText("one two", terminal(7))).to.equal("one two");
  });

  it("a number stays on the line of its unit, and of its noun", () => {
    for (const [text, lines] of [
      ["xxxx 12 tokens", ["xxxx", "12 tokens"]],
      ["xxxx 12 raw", ["xxxx", "12 raw"]],
      ["xxxx 12 %", ["xxxx 12 %"]],
      ["xxxxxx 12 %", ["xxxxxx", "12 %"]],
      ["xxxx block 7", ["xxxx", "block 7"]],
      ["xxxx chain 7", ["xxxx", "chain 7"]],
      ["xxxx order 7", ["xxxx", "order 7"]],
      ["xxxx other 7", ["xxxx other", "7"]],
      ["xxxx block x", ["xxxx block", "x"]],
    ] as const) {
      expect(wrapText(text, terminal(10)).split("\n"), text).to.deep.equal(
        lines,
      );
    }
  });

  const columns: readonly Column[] = [
    { heading: "Id", align: "right" },
    { heading: "Holder" },
    { heading: "Price", align: "right" },
  ];
  const rows = [
    ["1", ADDRESS, "5,000"],
    ["10", ADDRESS, ""],
  ];

  it("a table that is too wide becomes a list of its cells", () => {
    expect(shown(renderTable(columns, rows, terminal(53)))).to.deep.equal([
      `Id  Holder${" ".repeat(36)}  Price`,
      ` 1  ${ADDRESS}  5,000`,
      `10  ${ADDRESS}`,
    ]);
    expect(shown(renderTable(columns, rows, terminal(52)))).to.deep.equal([
      "Id      1",
      `Holder  ${ADDRESS}`,
      "Price   5,000",
      "",
      "Id      10",
      `Holder  ${ADDRESS}`,
    ]);
  });

  it("renderText leaves out a column without text, and a block without content", () => {
    const blocks: readonly Block[] = [
      title("Heading"),
      table(
        [{ heading: "Id" }, { heading: "Note" }, { heading: "Size" }],
        [
          ["1", "", "2"],
          ["3", "", { text: "", tone: "bad" }],
        ],
      ),
      notes(),
      ...section("Empty", labelledValues([])),
    ];
    expect(shown(renderText(blocks, terminal(80)))).to.deep.equal([
      ...["Heading", "Id  Size", "1   2", "3"],
    ]);
  });

  it("renderText shows instance, network and block in the title, escaped, and underlines a chapter", () => {
    const envelope = {
      ...{ network: "li\u001bve", chainId: 5 },
      block: { number: 12, timestamp: 1_700_000_000, hash: null },
    };
    const at = "li\\u{1b}ve (chain 5), block 12, 2023-11-14T22:13:20Z";
    const style = { ...createStyle({}), instance: "us\u001bdc" };
    expect(
      shown(renderText([title("Volume", envelope), chapter("日本")], style)),
    ).to.deep.equal([
      ...[`Volume  instance us\\u{1b}dc, ${at}`, "", "日本", "===="],
    ]);
    expect(
      shown(renderText([title("Volume", envelope)], createStyle({}))),
    ).to.deep.equal([`Volume  ${at}`]);
  });

  it("renderText separates blocks by a blank line, except below a heading", () => {
    const text = renderText(
      [
        ...[title("One"), title("Two"), notes("a", "b"), code("c"), notes("d")],
        ...section("Three", notes("e")),
      ],
      createStyle({}),
    );
    expect(text).to.equal("One\n\nTwo\na\nb\n\nc\n\nd\n\nThree\ne");
  });

  it("renderText shows a footnote once, below the cells that have it", () => {
    const cell = { text: "5 raw", footnote: "raw: as it is." };
    const blocks = [
      labelledValues([
        ["One", cell],
        ["Two", cell],
      ]),
      notes("Note."),
    ];
    expect(shown(renderText(blocks, terminal(80)))).to.deep.equal([
      ...["One  5 raw", "Two  5 raw", ""],
      ...["Note.", "", "raw: as it is."],
    ]);
  });

  it("text breaks only between words, from 60 columns up", () => {
    const word = fc.stringMatching(/^[!-~]{1,44}$/u);
    const sentence = fc
      .array(word, { minLength: 1, maxLength: 20 })
      .map((words) => words.join(" "));
    fc.assert(
      fc.property(
        fc.integer({ min: 60, max: 200 }),
        fc.array(fc.tuple(word, sentence, sentence), { minLength: 1 }),
        (width, texts) => {
          const style = terminal(width);
          const words = texts.flat().join(" ").split(" ");
          for (const text of [
            renderValues(
              texts.map(([label, value, note]) => [
                label,
                { text: value, note },
              ]),
              style,
            ),
            ...texts.map(([, value]) => wrapText(value, style)),
          ]) {
            const lines = shown(text);
            for (const line of lines) {
              expect(line.length).to.be.at.most(width);
              expect(line).to.equal(line.trimEnd());
            }
            for (const each of lines.join(" ").split(/ +/u)) {
              expect(each === "" || words.includes(each), each).to.equal(true);
            }
          }
        },
      ),
    );
  });
});
