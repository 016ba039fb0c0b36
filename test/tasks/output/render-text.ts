import { stripVTControlCharacters } from "node:util";

import { expect } from "chai";
import fc from "fast-check";

import {
  chapter,
  code,
  labelledValues,
  notes,
  section,
  table,
  title,
  toned,
} from "../../../tasks/output/blocks.js";
import type {
  Block,
  Column,
  Content,
  LabelledValue,
} from "../../../tasks/output/blocks.js";
import {
  renderText,
  say,
  wrapText,
} from "../../../tasks/output/render-text.js";
import { createStyle } from "../../../tasks/output/style.js";
import type { Style } from "../../../tasks/output/style.js";

const GROUPED_MAX = (2n ** 256n - 1n).toLocaleString("en");

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

  const envelope = {
    ...{ network: "li\u202eve", chainId: 56 },
    block: { number: 7, timestamp: 1_700_000_000 },
  };
  const place = "li\\u{202e}ve (chain 56), block 7, 2023-11-14T22:13:20Z";

  it("renderText puts network, chain, block and time behind a title, and the instance before them, behind titles alone", () => {
    const plain = createStyle({});
    const named = createStyle({}, "us\u202edc");
    const blocks = [
      title("Status", envelope),
      chapter("Part"),
      ...section("One", notes("a")),
    ];
    expect(renderText(blocks, plain).split("\n")).to.deep.equal([
      `Status  ${place}`,
      "",
      "Part",
      "====",
      "",
      "One",
      "a",
    ]);
    const [first, , second, , , third] = renderText(blocks, named).split("\n");
    expect([first, second, third]).to.deep.equal([
      `Status  instance us\\u{202e}dc, ${place}`,
      "Part",
      "One",
    ]);
    expect(renderText([title("Status")], named)).to.equal(
      "Status  instance us\\u{202e}dc",
    );
    expect(renderText([title("Status")], createStyle({}, 5))).to.equal(
      "Status",
    );
  });

  it("renderText separates blocks by a blank line, and attaches a heading to the block below it", () => {
    const blocks = [notes("a"), notes("b"), title("T"), notes("c")];
    expect(renderText(blocks, createStyle({}))).to.equal("a\n\nb\n\nT\nc");
    expect(renderText([title("T"), title("U")], createStyle({}))).to.equal(
      "T\n\nU",
    );
  });

  it("renderText paints a cell by its tone, a note dim, and nothing that is empty", () => {
    const style = createStyle({ isTTY: true, columns: 80 });
    expect(renderText([notes(toned("bad", "x"), "y")], style)).to.equal(
      "\u001b[31mx\u001b[39m\ny",
    );
    expect(renderText([notes(toned("bad", ""))], style)).to.equal("");
    const painted = labelledValues([["L", toned("good", "x", "note")]]);
    expect(renderText([painted], style)).to.equal(
      "L  \u001b[32mx\u001b[39m  \u001b[2mnote\u001b[22m",
    );
  });

  it("renderText writes code as it is, however narrow the terminal is", () => {
    const text = `{ "a": "${"b c ".repeat(30)}" }`;
    expect(renderText([code(text)], terminal(60))).to.equal(text);
    expect(renderText([code("")], terminal(60))).to.equal("");
  });

  it("labelledValues and notes leave out what is false, and keep a value without text", () => {
    const isThere = Boolean(0);
    const blocks = [
      labelledValues([isThere && ["One", "1"], ["Two", "2"], ["Three", ""]]),
      notes(isThere && "none"),
      notes(isThere && "none", "4"),
    ];
    expect(shown(renderText(blocks, terminal(80)))).to.eql([
      "Two    2",
      "Three",
      "",
      "4",
    ]);
  });

  it("a table leaves out the cells of a column without text, too", () => {
    const narrowed = table(
      [{ heading: "A" }, { heading: "B" }, { heading: "C" }],
      [
        ["1", "", "3"],
        ["4", "", ""],
      ],
    );
    expect(
      narrowed.rows.map((row) => row.map(({ text }) => text)),
    ).to.deep.equal([
      ["1", "3"],
      ["4", ""],
    ]);
  });

  it("a value fills the width to its last column, with a note that is no sentence", () => {
    const value = [["Label", { text: "value", note: "a note" }]] as const;
    // 5 + 2 + 5 + 2 + 6
    expect(shown(renderValues(value, terminal(20)))).to.deep.equal([
      "Label  value  a note",
    ]);
    expect(shown(renderValues(value, terminal(19)))).to.deep.equal([
      "Label  value",
      "       a note",
    ]);
    const sentence = [["Label", { text: "value", note: "It is." }]] as const;
    expect(shown(renderValues(sentence, terminal(80)))).to.deep.equal([
      "Label  value",
      "       It is.",
    ]);
  });

  it("a word that fits beside its label to the last column stays there", () => {
    const value = [["Label", `${"x".repeat(13)} y`]] as const;
    expect(shown(renderValues(value, terminal(20)))).to.deep.equal([
      `Label  ${"x".repeat(13)}`,
      "       y",
    ]);
    expect(shown(renderValues(value, terminal(19)))).to.deep.equal([
      "Label",
      `  ${"x".repeat(13)} y`,
    ]);
    // Below the label, two columns of the width are taken.
    const long = [["Label", `${"x".repeat(14)} ${"y".repeat(3)}`]] as const;
    expect(shown(renderValues(long, terminal(19)))).to.deep.equal([
      "Label",
      `  ${"x".repeat(14)}`,
      "  yyy",
    ]);
  });

  it("wrapText keeps a number with its unit, and a noun with its number", () => {
    for (const [text, lines] of [
      ["aaaaaa 5 raw", ["aaaaaa", "5 raw"]],
      ["aaaaa 5 tokens", ["aaaaa", "5 tokens"]],
      ["aaaaaaaa 5 %", ["aaaaaaaa", "5 %"]],
      ["aaaaa block 7", ["aaaaa", "block 7"]],
      ["aaaaa chain 7", ["aaaaa", "chain 7"]],
      ["aaaaa order 7", ["aaaaa", "order 7"]],
      ["aaaaa block a", ["aaaaa block", "a"]],
      ["aaaaa other 7", ["aaaaa other", "7"]],
      ["aaaaaaaa 5 apples", ["aaaaaaaa 5", "apples"]],
      ["aaaaaaaaaaa", ["aaaaaaaaaaa"]],
    ] as const) {
      expect(wrapText(text, terminal(11)).split("\n"), text).to.eql(lines);
    }
  });

  it("wrapText breaks a text whose width in columns, not in letters, is above the terminal's", () => {
    const text = "日本 日本";
    expect(wrapText(text, terminal(9))).to.equal(text);
    expect(wrapText(text, terminal(8))).to.equal("日本\n日本");
  });

  it("say writes blocks with a line break at their end", async () => {
    const written: string[] = [];
    const write = async (text: string): Promise<boolean> => {
      written.push(text);
      return await Promise.resolve(true);
    };
    await say({ style: createStyle({}), write }, notes("a"), notes("b"));
    expect(written).to.deep.equal(["a\n\nb\n"]);
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
