import { stripVTControlCharacters } from "node:util";

import { expect } from "chai";
import fc from "fast-check";

import { createStyle } from "../../../tasks/output/style.js";
import type { Style } from "../../../tasks/output/style.js";
import {
  labelledValues,
  notes,
  section,
} from "../../../tasks/output/blocks.js";
import type {
  Block,
  Column,
  Content,
  LabelledValue,
} from "../../../tasks/output/blocks.js";
import { renderText, wrapText } from "../../../tasks/output/render-text.js";

const ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const MAX = (2n ** 256n - 1n).toLocaleString("en");

const terminal = (columns: number): Style =>
  createStyle({ isTTY: true, columns });

const renderTable = (
  columns: readonly Column[],
  rows: ReadonlyArray<readonly Content[]>,
  style: Style,
): string => renderText([{ kind: "table", columns, rows }], style);

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

  const coloured: ReadonlyArray<
    readonly [
      variables: Readonly<Record<string, string>>,
      isTTY: boolean,
      coloured: boolean,
    ]
  > = [
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
  ];
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
      shown(renderValues([["Volume", `${MAX} raw`]], terminal(60))),
    ).to.deep.equal(["Volume", `  ${MAX} raw`]);
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
      { kind: "heading", level: 1, text: "Heading" },
      {
        kind: "table",
        columns: [{ heading: "Id" }, { heading: "Note" }],
        rows: [["1", ""]],
      },
      notes(),
      ...section("Empty", labelledValues([])),
    ];
    expect(shown(renderText(blocks, terminal(80)))).to.deep.equal([
      "Heading",
      "Id",
      "1",
    ]);
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
        (width, table) => {
          const style = terminal(width);
          const words = table.flat().join(" ").split(" ");
          for (const text of [
            renderValues(
              table.map(([label, value, note]) => [
                label,
                { text: value, note },
              ]),
              style,
            ),
            ...table.map(([, value]) => wrapText(value, style)),
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
