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
import type { Block, Content } from "../../../tasks/output/blocks.js";
import {
  cutToWidth,
  renderText,
  say,
  wrapText,
} from "../../../tasks/output/render-text.js";
import { createStyle } from "../../../tasks/output/style.js";
import type { Style } from "../../../tasks/output/style.js";

const ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const GROUPED_MAX = (2n ** 256n - 1n).toLocaleString("en");
const plain = createStyle({});
// The type of a literal would leave out what follows it.
const no: boolean = [].length > 0;
const terminal = (columns: number): Style =>
  createStyle({ isTTY: true, columns });
const linesOf = (blocks: readonly Block[], style: Style): string[] =>
  stripVTControlCharacters(renderText(blocks, style)).split("\n");

const value = (text: Content): Block => labelledValues([["Label", text]]);
const noted = (note: string): Block => value({ text: "value", note });
const orders = table(
  [
    { heading: "Id", align: "right" },
    { heading: "Holder" },
    { heading: "None" },
    { heading: "Price", align: "right" },
  ],
  [
    ["1", ADDRESS, "", "5,000"],
    ["10", ADDRESS, "", ""],
  ],
);
const raw = { text: "5 raw", footnote: "raw: as it is." };

/** Columns of the terminal, 0 for a pipe; blocks; and the lines that they are. */
const rendered: Readonly<
  Record<string, readonly [number, readonly Block[], readonly string[]]>
> = {
  "a table aligns its columns, and leaves out one without text": [
    53,
    [orders],
    [
      `Id  Holder${" ".repeat(36)}  Price`,
      ` 1  ${ADDRESS}  5,000`,
      `10  ${ADDRESS}`,
    ],
  ],
  "a table that is too wide becomes a list of its cells": [
    52,
    [orders],
    [
      ...["Id      1", `Holder  ${ADDRESS}`, "Price   5,000"],
      ...["", "Id      10", `Holder  ${ADDRESS}`],
    ],
  ],
  "a table counts the columns of wide characters, and none of colours": [
    0,
    [
      table(
        [{ heading: "name" }, { heading: "size" }],
        [
          ["日本", "22"],
          ["\u001b[31mred\u001b[39m", "3"],
        ],
      ),
    ],
    ["name  size", "日本  22", "red   3"],
  ],
  "a note fills the width to its last column": [
    20,
    [noted("a note")],
    ["Label  value  a note"],
  ],
  "a note that is too long stands below its value": [
    19,
    [noted("a note")],
    ["Label  value", "       a note"],
  ],
  "a note that is a sentence stands below its value": [
    80,
    [noted("It is.")],
    ["Label  value", "       It is."],
  ],
  "a word that fits beside its label to the last column stays there": [
    20,
    [value(`${"x".repeat(13)} y`)],
    [`Label  ${"x".repeat(13)}`, "       y"],
  ],
  "a word that does not fit beside its label stands below it": [
    19,
    [value(`${"x".repeat(13)} y ${"z".repeat(3)}`)],
    ["Label", `  ${"x".repeat(13)} y`, "  zzz"],
  ],
  "a number stays beside its unit below a label": [
    60,
    [value(`${GROUPED_MAX} raw`)],
    ["Label", `  ${GROUPED_MAX} raw`],
  ],
  "a value and its note align with those of other labels": [
    50,
    [
      labelledValues([
        ["Vault contract", { text: ADDRESS, note: "of the configuration" }],
        ["Cost", { text: "0.1", note: "at most 0.2" }],
      ]),
    ],
    [
      ...["Vault contract", `  ${ADDRESS}`, "  of the configuration"],
      ...["Cost            0.1", "                at most 0.2"],
    ],
  ],
  "blocks stand apart, but for one below a heading; empty ones are left out": [
    80,
    [
      ...[title("One"), title("Two"), notes("a", "b"), code("c"), notes()],
      ...section("None", labelledValues([])),
      ...section("Three", notes("e")),
      ...[chapter("日本"), value("")],
    ],
    [
      ...["One", "", "Two", "a", "b", "", "c", "", "Three", "e"],
      ...["", "日本", "====", "Label"],
    ],
  ],
  "a footnote stands once, below all blocks": [
    80,
    [value(raw), value(raw), notes("Note.")],
    [
      ...["Label  5 raw", "", "Label  5 raw", ""],
      ...["Note.", "", "raw: as it is."],
    ],
  ],
  "what is false is left out": [
    80,
    [
      labelledValues([no && ["One", "1"], ["Two", "2"]]),
      notes(no && "none"),
      notes(no && "none", "4"),
    ],
    ["Two  2", "", "4"],
  ],
  "code is not wrapped": [
    60,
    [code(`{ "a": "${"b c ".repeat(30)}" }`), code("")],
    [`{ "a": "${"b c ".repeat(30)}" }`, "", ""],
  ],
};

/** Texts, and their lines on a terminal of ten columns. */
const wrapped: ReadonlyArray<readonly string[]> = [
  ["xxxx 12 tokens", "xxxx", "12 tokens"],
  ["xxxxx 12 raw", "xxxxx", "12 raw"],
  ["xxxxxx 12 %", "xxxxxx", "12 %"],
  ["xxxx block 7", "xxxx", "block 7"],
  ["xxxx chain 7", "xxxx", "chain 7"],
  ["xxxx order 7", "xxxx", "order 7"],
  ["xxxx other 7", "xxxx other", "7"],
  ["xxxx block x", "xxxx block", "x"],
  ["xxxxxxx 5 apples", "xxxxxxx 5", "apples"],
  ["xxxxxxxxxx", "xxxxxxxxxx"],
  ["日本日 日本", "日本日", "日本"],
];

const colours: ReadonlyArray<
  readonly [variables: object, isTTY: boolean, isColoured: boolean]
> = [
  [{}, true, true],
  [{}, false, false],
  // An empty one is none: https://no-color.org
  [{ NO_COLOR: "" }, true, true],
  [{ FORCE_COLOR: "1", NO_COLOR: "" }, false, true],
  [{ NO_COLOR: "1" }, true, false],
  [{ TERM: "dumb" }, true, false],
  [{ FORCE_COLOR: "3", TERM: "dumb" }, false, true],
  [{ FORCE_COLOR: "0" }, true, false],
  [{ FORCE_COLOR: "1", NO_COLOR: "1" }, true, false],
];

describe("blocks of a task as text", () => {
  const { env } = process;
  beforeEach(() => {
    process.env = { TERM: "xterm" };
  });
  afterEach(() => {
    process.env = env;
  });

  for (const [what, [columns, blocks, lines]] of Object.entries(rendered)) {
    it(`renderText: ${what}`, () => {
      const style = columns === 0 ? plain : terminal(columns);
      expect(linesOf(blocks, style)).to.deep.equal(lines);
    });
  }

  it("renderText shows instance, network, chain, block and time behind a title, escaped, and the instance behind a title alone", () => {
    const envelope = {
      ...{ network: "li\u001bve", chainId: 5 },
      block: { number: 12, timestamp: 1_700_000_000, hash: null },
    };
    const place = "li\\u{1b}ve (chain 5), block 12, 2023-11-14T22:13:20Z";
    const named = createStyle({}, "us\u202edc");
    const blocks = [title("Status", envelope), chapter("Part")];
    expect(linesOf(blocks, plain)[0]).to.equal(`Status  ${place}`);
    expect(linesOf(blocks, named)).to.deep.equal([
      ...[`Status  instance us\\u{202e}dc, ${place}`, "", "Part", "===="],
    ]);
    expect(linesOf([title("Status")], named)).to.deep.equal([
      "Status  instance us\\u{202e}dc",
    ]);
  });

  it("renderText paints a cell by its tone, a note dim, and nothing that is empty", () => {
    const painted = [
      labelledValues([["L", toned("good", "x", "note")]]),
      notes(toned("bad", "")),
    ];
    expect(renderText(painted, terminal(80))).to.equal(
      "L  \u001b[32mx\u001b[39m  \u001b[2mnote\u001b[22m\n\n",
    );
  });

  it("createStyle colours a terminal, unless NO_COLOR, FORCE_COLOR or TERM say otherwise", () => {
    for (const [variables, isTTY, isColoured] of colours) {
      process.env = { TERM: "xterm", ...variables };
      expect(
        createStyle({ isTTY }).bad("x"),
        JSON.stringify(variables),
      ).to.equal(isColoured ? "\u001b[31mx\u001b[39m" : "x");
    }
  });

  it("createStyle has the width of a terminal, 80 if that is unknown, and none for a pipe", () => {
    expect(terminal(132).width).to.equal(132);
    expect(terminal(0).width).to.equal(80);
    expect(createStyle({ isTTY: true }).width).to.equal(80);
    expect(createStyle({ isTTY: false, columns: 80 }).width).to.equal(Infinity);
  });

  it("wrapText breaks a text by its columns, and keeps a number beside its unit or noun", () => {
    for (const [text = "", ...lines] of wrapped) {
      expect(wrapText(text, terminal(10)).split("\n"), text).to.deep.equal(
        lines,
      );
    }
  });

  it("cutToWidth cuts a text by its columns", () => {
    expect(cutToWidth("日本 xx", terminal(6))).to.equal("日本 x");
    expect(cutToWidth("日本", terminal(3))).to.equal("日");
  });

  it("say writes blocks with a line break at their end", async () => {
    const written: string[] = [];
    const write = async (text: string): Promise<boolean> => {
      written.push(text);
      return await Promise.resolve(true);
    };
    await say({ style: plain, write }, notes("a"), notes("b"));
    expect(written).to.deep.equal(["a\n\nb\n"]);
  });

  it("text of any words breaks only between them, from 60 columns up", () => {
    const word = fc.stringMatching(/^[!-~]{1,44}$/u);
    const sentence = fc
      .array(word, { minLength: 1, maxLength: 20 })
      .map((words) => words.join(" "));
    fc.assert(
      fc.property(
        fc.integer({ min: 60, max: 200 }),
        fc.array(fc.tuple(word, sentence, sentence), { minLength: 1 }),
        (width, texts) => {
          const words = texts.flat().join(" ").split(" ");
          const values = texts.map(
            ([label, text, note]) => [label, { text, note }] as const,
          );
          for (const lines of [
            linesOf([labelledValues(values)], terminal(width)),
            ...texts.map(([, text]) =>
              wrapText(text, terminal(width)).split("\n"),
            ),
          ]) {
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
