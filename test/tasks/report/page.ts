import { createHash } from "node:crypto";

import { expect } from "chai";

import {
  chapter,
  labelledValues,
  notes,
  table,
} from "../../../tasks/output/blocks.js";
import { html, renderPage } from "../../../tasks/report/page.js";
import type { Page } from "../../../tasks/report/page.js";
import { listingEnvelope } from "../../helpers/listings.js";

const HOSTILE = `</title><img src=x>"'&\u202e`;
const ESCAPED = "&lt;/title&gt;&lt;img src=x&gt;&quot;&#39;&amp;\\u{202e}";

const pageOf = (parts: Page["parts"], more: Partial<Page> = {}): string =>
  renderPage({ title: "Report", envelope: listingEnvelope, parts, ...more });

/** Without what only lays out the markup. */
const plain = (text: string): string =>
  text
    .replaceAll(/\s+/gu, " ")
    .replaceAll(/ ?([<>]) ?/gu, "$1")
    .replaceAll(" />", "/>");

describe("the page of a report", () => {
  it("html escapes in elements and in attributes, and nests markup", () => {
    expect(
      html`<b title="${HOSTILE}">${["<", html`<i>${'"'}</i>`]}</b>`.text,
    ).to.equal(`<b title="${ESCAPED}">&lt;<i>&quot;</i></b>`);
  });

  it("renderPage names network, chain, block and time below its title, escaped", () => {
    const envelope = { ...listingEnvelope, network: HOSTILE };
    expect(plain(pageOf([], { envelope, title: HOSTILE })))
      .to.include(`<title>${ESCAPED}: ${ESCAPED}, block 7</title>`)
      .and.include(
        `<h1>${ESCAPED}</h1><p class="dim">${ESCAPED} (chain 56), block 7, 2023-11-14T22:13:20Z</p>`,
      )
      .and.not.include("<img");
  });

  it("renderPage allows its own style sheet alone, by its hash", () => {
    const text = pageOf([]);
    const [, style = ""] = /<style>(.*?)<\/style>/su.exec(text) ?? [];
    const hash = createHash("sha256").update(style).digest("base64");
    expect(text.replaceAll(/\s+/gu, " ")).to.include(
      `content="default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'"`,
    );
  });

  it("renderPage links each chapter, and shows charts and blocks in their order", () => {
    const parts = [
      chapter("If it were, now"),
      notes("first"),
      html`<svg></svg>`,
      chapter("Two"),
    ];
    expect(plain(pageOf(parts)))
      .to.include(
        '<ul><li><a href="#if-it-were-now">If it were, now</a></li><li><a href="#two">Two</a></li></ul>',
      )
      .and.include(
        '<h2 id="if-it-were-now">If it were, now</h2><p>first</p><svg></svg><h2 id="two">Two</h2>',
      );
  });

  it("renderPage shows values with their notes, cells aligned as their column, and a footnote once", () => {
    const value = { text: "1.5", note: "a & b", footnote: "why <" };
    const rows = [
      ["1", { text: "x<", footnote: "why <" }],
      ["2", ""],
    ];
    const text = plain(
      pageOf([
        labelledValues([["A<", value]]),
        table([{ heading: "Id", align: "right" }, { heading: "Na<me" }], rows),
      ]),
    );
    expect(text)
      .to.include(
        '<table class="values"><tbody><tr><th scope="row">A&lt;</th><td>1.5<small>a &amp; b</small></td></tr></tbody></table>',
      )
      .and.include(
        '<table class="rows"><thead><tr><th scope="col" class="right">Id</th><th scope="col" class="left">Na&lt;me</th></tr></thead><tbody>' +
          '<tr><td class="right">1</td><td class="left">x&lt;</td></tr><tr><td class="right">2</td><td class="left"></td></tr></tbody></table>',
      )
      .and.include('<footer><p><span class="dim">why &lt;</span></p><p>This');
  });
});
