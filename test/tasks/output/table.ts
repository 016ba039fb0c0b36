import { stripVTControlCharacters } from "node:util";

import { expect } from "chai";
import fc from "fast-check";

import { createStyle } from "../../../tasks/output/style.js";
import type { Style } from "../../../tasks/output/style.js";
import {
  alignColumns,
  renderFacts,
  renderTable,
  wrapText,
} from "../../../tasks/output/table.js";
import type { Column } from "../../../tasks/output/table.js";

const ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const MAX = (2n ** 256n - 1n).toLocaleString("en");

const terminal = (columns: number): Style =>
  createStyle({ isTTY: true, columns });

describe("tasks - tables", () => {
  const { TERM, NO_COLOR, FORCE_COLOR } = process.env;
  const environment = { TERM, NO_COLOR, FORCE_COLOR };
  const set = (
    variables: Readonly<Record<string, string | undefined>>,
  ): void => {
    for (const [name, value] of Object.entries(variables)) {
      if (value === undefined) {
        Reflect.deleteProperty(process.env, name);
      } else {
        process.env[name] = value;
      }
    }
  };
  beforeEach(() => {
    set({
      TERM: "xterm",
      // Node takes a CI for a terminal without colours.
      CI: undefined,
      NO_COLOR: undefined,
      FORCE_COLOR: undefined,
    });
  });
  afterEach(() => {
    set(environment);
  });

  it("should align columns also with colours and wide characters", () => {
    const text = alignColumns([
      ["a", "1", ""],
      ["日本", "22", "note"],
      ["\u001b[31mred\u001b[39m", "3", ""],
    ]);
    expect(text.split("\n")).to.deep.equal([
      "a     1",
      "日本  22  note",
      "\u001b[31mred\u001b[39m   3",
    ]);
  });

  const coloured: ReadonlyArray<
    readonly [
      environment: Readonly<Record<string, string | undefined>>,
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
  for (const [variables, isTTY, isColoured] of coloured) {
    it(`should ${isColoured ? "" : "not "}colour ${isTTY ? "a terminal" : "a pipe"} with ${JSON.stringify(variables)}`, () => {
      set(variables);
      expect(createStyle({ isTTY }).bad("x")).to.equal(
        isColoured ? "\u001b[31mx\u001b[39m" : "x",
      );
    });
  }

  it("should know the width of a terminal, and none where there is none", () => {
    expect(terminal(132).width).to.equal(132);
    expect(createStyle({ isTTY: true, columns: 0 }).width).to.equal(80);
    expect(createStyle({ isTTY: true }).width).to.equal(80);
    expect(createStyle({ isTTY: false, columns: 80 }).width).to.equal(Infinity);
    expect(createStyle({ isTTY: true, columns: 80 }, true).width).to.equal(
      Infinity,
    );
  });

  const facts = [
    ["Vault contract", ADDRESS, "networks.main.vault.contracts.vault"],
    ["Cost", "0.1", "at most 0.2"],
  ] as const;
  /** What is there, without colours. */
  const shown = (text: string): string[] =>
    stripVTControlCharacters(text).split("\n");

  it("should put facts beside each other where there is room", () => {
    expect(shown(renderFacts(facts, terminal(120)))).to.deep.equal([
      `Vault contract  ${ADDRESS}  networks.main.vault.contracts.vault`,
      `Cost            0.1${" ".repeat(39)}  at most 0.2`,
    ]);
  });

  it("should put a note below where there is none", () => {
    expect(shown(renderFacts(facts, terminal(80)))).to.deep.equal([
      `Vault contract  ${ADDRESS}`,
      "                networks.main.vault.contracts.vault",
      `Cost            0.1${" ".repeat(39)}  at most 0.2`,
    ]);
    expect(shown(renderFacts(facts, terminal(50)))).to.deep.equal([
      "Vault contract",
      `  ${ADDRESS}`,
      "  networks.main.vault.contracts.vault",
      "Cost            0.1",
      "                at most 0.2",
    ]);
  });

  it("should show the size of a number that no line can hold", () => {
    expect(renderFacts([["Volume", `${MAX} raw`]], terminal(60))).to.equal(
      "Volume  ≈1.15792e77 raw",
    );
    expect(renderFacts([["Volume", `${MAX} raw`]], terminal(200))).to.equal(
      `Volume  ${MAX} raw`,
    );
  });

  it("should show the size of a signed number, and of one without groups", () => {
    const differences = [
      [`+${MAX}`, "≈+1.15792e77"],
      [`-${MAX}.5`, "≈-1.15792e77"],
      [MAX.replaceAll(",", ""), "≈1.15792e77"],
    ] as const;
    for (const [number, size] of differences) {
      expect(renderFacts([["Volume", number]], terminal(60))).to.equal(
        `Volume  ${size}`,
      );
    }
    // Not a size: what is to be copied, or small however long.
    for (const text of [`0x${"1".repeat(64)}`, `0.${"1".repeat(64)}`]) {
      expect(wrapText(text, terminal(60)).replaceAll("\n", "")).to.equal(text);
    }
  });

  const columns: readonly Column[] = [
    { heading: "Id", align: "right" },
    { heading: "Holder", shorten: (address) => `${address.slice(0, 6)}…` },
    { heading: "Price", align: "right" },
  ];
  const rows = [
    ["1", ADDRESS, "5,000"],
    ["2-9", "empty, 8 ids"],
    ["10", ADDRESS, "17"],
  ];

  it("should shorten what makes a table too wide, then stack its rows", () => {
    expect(shown(renderTable(columns, rows, terminal(54)))).to.deep.equal([
      ` Id  Holder${" ".repeat(36)}  Price`,
      `  1  ${ADDRESS}  5,000`,
      "2-9  empty, 8 ids",
      ` 10  ${ADDRESS}     17`,
    ]);
    expect(shown(renderTable(columns, rows, terminal(53)))).to.deep.equal([
      " Id  Holder   Price",
      "  1  0x7099…  5,000",
      "2-9  empty, 8 ids",
      " 10  0x7099…     17",
    ]);
    const text = "nothing there, nor anywhere ".repeat(2).trimEnd();
    const said = rows.with(1, ["2-9", text]);
    expect(
      shown(renderTable(columns, said, terminal(53))).slice(2, -1),
    ).to.deep.equal([
      "2-9",
      "  nothing there, nor anywhere nothing there, nor",
      "  anywhere",
    ]);
    const wide = rows.map((row) => row.with(-1, MAX));
    expect(shown(renderTable(columns, wide, terminal(60)))).to.deep.equal([
      `1   Holder ${ADDRESS}`,
      "  Price ≈1.15792e77",
      "2-9   ≈1.15792e77",
      `10   Holder ${ADDRESS}`,
      "  Price ≈1.15792e77",
    ]);
  });

  it("should break between words alone, from 60 columns up", () => {
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
            renderFacts(table, style),
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
