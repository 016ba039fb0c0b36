import { expect } from "chai";
import fc from "fast-check";

import { escapeUntrusted, toSafeJson } from "../src/escape.js";
import { harmfulIn } from "./helpers/hostile-text.js";

const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }))
    .map((units) => String.fromCharCode(...units)),
);

describe("escaped text", () => {
  it("escapeUntrusted leaves nothing that a terminal obeys", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const escaped = escapeUntrusted(text);
        expect(harmfulIn(escaped)).to.deep.equal([]);
        expect(escaped).to.not.include("\n");
      }),
    );
  });

  it("escapeUntrusted and toSafeJson leave ordinary text of any script as it is", () => {
    const text = "BTC-USDT ₿ ä é 日本 العربية 🚀 100 %";
    expect(escapeUntrusted(text)).to.equal(text);
    expect(toSafeJson(text)).to.equal(JSON.stringify(text));
  });

  it("escapeUntrusted shows control and bidirectional characters as escapes", () => {
    expect(escapeUntrusted("\u001b[31m\n\u202e\u{e0041}")).to.equal(
      "\\u{1b}[31m\\u{a}\\u{202e}\\u{e0041}",
    );
  });

  it("toSafeJson writes JSON that is safe to show and has the same value", () => {
    fc.assert(
      fc.property(anyText, anyText, (key, value) => {
        const json = toSafeJson({ [`k${key}`]: [value] });
        expect(harmfulIn(json)).to.deep.equal([]);
        expect(json).to.not.include("\n");
        expect(JSON.parse(json)).to.deep.equal({ [`k${key}`]: [value] });
      }),
    );
  });

  it("toSafeJson keeps the line breaks between tokens, and only those", () => {
    const json = toSafeJson({ a: "x\ny", b: [1] }, 2);
    expect(json.split("\n")).to.have.lengthOf(6);
    expect(JSON.parse(json)).to.deep.equal({ a: "x\ny", b: [1] });
  });

  it("a command of Azure Pipelines in a text is none once it is escaped, and JSON keeps its value", () => {
    const text = "ok ##vso[task.setvariable variable=A]1 ##[error]no";
    expect(escapeUntrusted(text)).to.equal(
      "ok #\\u{23}vso[task.setvariable variable=A]1 #\\u{23}[error]no",
    );
    expect(toSafeJson([text])).to.not.include("##");
    expect(JSON.parse(toSafeJson([text]))).to.deep.equal([text]);
    expect(escapeUntrusted("## title")).to.equal("## title");
  });

  it("invisible characters are shown as escapes", () => {
    const invisible = "\u3164\u115f\uffa0\u2800\u{e0100}\u034f\u200b\ufffb";
    for (const character of Array.from(invisible)) {
      const escape = `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
      expect(escapeUntrusted(`a${character}b`)).to.equal(`a${escape}b`);
      const json = toSafeJson([character]);
      expect(json).to.match(/^\["(?:\\u[0-9a-f]{4})+"\]$/u);
      expect(JSON.parse(json)).to.deep.equal([character]);
    }
  });
});
