import { createHash } from "node:crypto";

import { expect } from "chai";

import {
  chapter,
  labelledValues,
  notes,
  table,
} from "../../../tasks/output/screen.js";
import { html, renderPage } from "../../../tasks/output/render-html.js";
import { listingEnvelope } from "../../helpers/listings.js";

const HOSTILE = `</title><img src=x>"'&\u202e`;
const ESCAPED = "&#60;/title&#62;&#60;img src=x&#62;&#34;&#39;&#38;\\u{202e}";

const pageOf = (...parts: Parameters<typeof renderPage>[2]): string =>
  renderPage("Report", listingEnvelope, parts);

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
    ).to.equal(`<b title="${ESCAPED}">&#60;<i>&#34;</i></b>`);
  });

  it("renderPage names network, chain, block and time below its title, escaped", () => {
    const envelope = { ...listingEnvelope, network: HOSTILE };
    expect(plain(renderPage(HOSTILE, envelope, [])))
      .to.include(`<title>${ESCAPED}: ${ESCAPED}, block 7</title>`)
      .and.include(
        `<h1>${ESCAPED}</h1><p class="dim">${ESCAPED} (chain 56), block 7, 2023-11-14T22:13:20Z</p>`,
      )
      .and.not.include("<img");
  });

  it("renderPage allows its own style sheet alone, by its hash", () => {
    const text = pageOf();
    const [, style = ""] = /<style>(.*?)<\/style>/su.exec(text) ?? [];
    const hash = createHash("sha256").update(style).digest("base64");
    expect(text.replaceAll(/\s+/gu, " ")).to.include(
      `content="default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'"`,
    );
  });

  it("renderPage prints colours as they are, headings with what follows, and charts and rows whole", () => {
    const [, print] = /@media print \{\n(.*?)\n\}/su.exec(pageOf()) ?? [];
    expect(print?.split("\n").map((rule) => rule.trim())).to.deep.equal([
      ":root { color-scheme: light; print-color-adjust: exact; }",
      "h1, h2, h3 { break-after: avoid; }",
      "figure, tr { break-inside: avoid; }",
      ".scroll { overflow-x: visible; }",
    ]);
  });

  it("renderPage shows charts and blocks in their order", () => {
    const page = pageOf(chapter("If <it"), notes("first"), html`<svg></svg>`);
    expect(plain(page)).to.include(
      '<h2>If &#60;it</h2><p><span class="">first</span></p><svg></svg>',
    );
  });

  it("renderPage shows values with their notes, cells aligned as their column, and a footnote once", () => {
    const value = { text: "1.5", note: "a & b", footnote: "why <" };
    const rows = [
      ["1", { text: "x<", footnote: "why <" }],
      ["2", ""],
    ];
    const text = plain(
      pageOf(labelledValues([["A<", value]]), table(["Id", "Na<me"], rows)),
    ).replaceAll(' class=""', "");
    expect(text)
      .to.include(
        "<tr><td><span>A&#60;</span></td><td><span>1.5</span><small>a &#38; b</small></td></tr>",
      )
      .and.include(
        '<thead><tr><th scope="col" class="right">Id</th><th scope="col" class="left">Na&#60;me</th></tr></thead><tbody>' +
          '<tr><td class="right"><span>1</span></td><td class="left"><span>x&#60;</span></td></tr><tr><td class="right"><span>2</span></td><td class="left"><span></span></td></tr></tbody></table>',
      )
      .and.include('<p><span class="dim">why &#60;</span></p></main>');
  });
});
