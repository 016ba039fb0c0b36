import { createHash } from "node:crypto";

import { expect } from "chai";

import { vaultError } from "../../../src/errors.js";
import type { ListedOrder } from "../../../src/client/index.js";
import { someOrder, zeroAnswer } from "../../../src/mocks/scenarios.js";
import { labelledValues, notes, table } from "../../../tasks/output/blocks.js";
import type { Block } from "../../../tasks/output/blocks.js";
import { html } from "../../../tasks/report/html.js";
import { ordersChapter, renderReport } from "../../../tasks/report/render.js";
import type { Chapter } from "../../../tasks/report/render.js";
import { listingEnvelope } from "../../helpers/listings.js";

const HOSTILE = `</title><img src=x>"'&\u202e`;
const ESCAPED = "&lt;/title&gt;&lt;img src=x&gt;&quot;&#39;&amp;\\u{202e}";

/** A page without what only lays out the markup. */
const page = (
  chapters: readonly Chapter[] = [],
  more: Partial<Parameters<typeof renderReport>[0]> = {},
): string =>
  renderReport({
    ...{ envelope: listingEnvelope, instance: undefined, chapters },
    ...{ failures: 0, ...more },
  })
    .replaceAll(/\s+/gu, " ")
    .replaceAll(/ ?([<>]) ?/gu, "$1")
    .replaceAll(" />", "/>");

/** The markup of one block, and of its footnotes. */
const rendered = (block: Block) => {
  const text = page([
    { heading: "None", blocks: [] },
    { heading: "One", blocks: [block] },
  ]);
  const [, body = "", foot = ""] =
    /<h2>One<\/h2>(.*?)<\/section>.*<footer>(.*?)<p>This page/u.exec(text) ??
    [];
  return { body, foot };
};

describe("the page of a report", () => {
  it("renderReport names network, chain, block, time and instance, escaped", () => {
    const envelope = { ...listingEnvelope, network: HOSTILE };
    const text = page([], { envelope, instance: HOSTILE });
    expect(text)
      .to.include(`<title>Vault report: ${ESCAPED}, block 7</title>`)
      .and.include(`<h1>Vault report: ${ESCAPED}</h1>`)
      .and.not.include("<img");
    expect(
      text.replaceAll(/<\/?span>/gu, " ").replaceAll(/ +/gu, " "),
    ).to.include(
      `<p class="dim"> ${ESCAPED} (chain 56), block 7, 2023-11-14T22:13:20Z </p>`,
    );
  });

  it("renderReport allows its own style sheet alone, by its hash", () => {
    const text = renderReport({
      ...{ envelope: listingEnvelope, instance: undefined, failures: 0 },
      chapters: [],
    });
    const [, style = ""] = /<style>(.*?)<\/style>/su.exec(text) ?? [];
    const hash = createHash("sha256").update(style).digest("base64");
    expect(text.replaceAll(/\s+/gu, " ")).to.include(
      `content="default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'"`,
    );
  });

  it("renderReport links each chapter, in order, and shows its chart above its blocks", () => {
    const heading = "If it were, now";
    const blocks = [notes("first"), notes("second")];
    const text = page([
      { heading, chart: html`<svg></svg>`, blocks },
      { heading: "Two", blocks: [] },
    ]);
    expect(text)
      .to.include(
        '<ul><li><a href="#if-it-were-now">If it were, now</a></li><li><a href="#two">Two</a></li></ul>',
      )
      .and.include(
        '<section id="if-it-were-now"><h2>If it were, now</h2><svg></svg><p>first</p><p>second</p></section><section id="two"><h2>Two</h2></section>',
      );
  });

  const long = `1,000,${"x".repeat(140)}`;
  const values = (label: string, value: string): string =>
    `<table class="values"><tbody><tr><th scope="row">${label}</th><td>${value}</td></tr></tbody></table>`;
  for (const [what, block, body] of [
    [
      "a value and its note",
      labelledValues([["A<", { text: "1.5", note: "a & b" }]]),
      values("A&lt;", "1.5<small>a &amp; b</small>"),
    ],
    [
      "each cell below its heading, aligned as its column",
      table(
        [{ heading: "Id", align: "right" }, { heading: "Na<me" }],
        [
          ["1", "x<"],
          ["2", ""],
        ],
      ),
      '<table class="rows"><thead><tr>' +
        '<th scope="col" class="right">Id</th><th scope="col" class="left">Na&lt;me</th></tr></thead><tbody>' +
        '<tr><td class="right" data-label="Id">1</td><td class="left" data-label="Na&lt;me">x&lt;</td></tr>' +
        '<tr><td class="right" data-label="Id">2</td><td class="left" data-label="Na&lt;me"></td></tr></tbody></table>',
    ],
    [
      "a table that is too wide, with a number that a browser may break between groups of digits",
      table([{ heading: "Id" }, { heading: "Long" }], [["1", long]]),
      '<table class="rows wide"><thead><tr><th scope="col" class="left">Id</th><th scope="col" class="left long">Long</th></tr></thead><tbody>' +
        `<tr><td class="left" data-label="Id">1</td><td class="left long" data-label="Long">1,<wbr/>000,x${long.slice(7)}</td></tr></tbody></table>`,
    ],
  ] satisfies ReadonlyArray<readonly [string, Block, string]>) {
    it(`renderReport shows ${what}`, () => {
      expect(rendered(block).body).to.equal(body);
    });
  }

  it("renderReport shows a footnote once, in the footer", () => {
    const cell = { text: "2", footnote: "why <" };
    const { foot } = rendered(
      labelledValues([
        ["B", cell],
        ["C", cell],
      ]),
    );
    expect(foot).to.equal('<p><span class="dim">why &lt;</span></p>');
  });
});

describe("the orders of a report", () => {
  const order = (orderID: bigint): ListedOrder => ({ ...someOrder, orderID });
  const empty = { orderID: 8n, ...zeroAnswer("getOrderInfo") };
  const error = vaultError("VAULT_INTERNAL", { problem: "gone" });
  const chapterOf = (orders: readonly ListedOrder[], place = ""): Chapter =>
    ordersChapter(orders, undefined, { chainTime: 0, raw: false }, place);

  it("ordersChapter counts the orders, shows those that are there, and the command for all of them", () => {
    const orders = [order(5n), empty, { orderID: 9n, error }];
    const text = page([chapterOf(orders, " --network live")]);
    expect(text)
      .to.include("<h2>Orders</h2><figure>")
      .and.include(
        '<p>1 order.</p><p>Empty, with every value zero: 1 id.</p><p><span class="bad">Failed: 1 id.</span></p><p>The first of these, 9: ',
      )
      .and.include("<h3>Every order</h3>")
      .and.include(
        '<p><span class="dim">Integers are unscaled: their scale is not documented. All orders, with fees: npx hardhat vault orders --network live --out orders.csv</span></p>',
      );
    expect(text.match(/data-label="Id"/gu)).to.have.lengthOf(1);
  });

  it("ordersChapter draws the four pairs with the most orders, each by itself, and lists the first 1,000 orders", () => {
    const pairs = `ABBCCCDDDD${"E".repeat(1_000)}`.split("");
    const text = page([
      chapterOf(
        pairs.map((exType, id) => ({
          ...someOrder,
          orderID: BigInt(id),
          exType,
        })),
      ),
    ]);
    const charts = text.matchAll(/<figcaption>(\w): .*?price of ([\d,]+) /gu);
    expect(
      Array.from(charts, ([, pair, count]) => `${pair} ${count}`),
    ).to.deep.equal(["E 1,000", "D 4", "C 3", "B 2"]);
    expect(text).to.include("<h3>The first 1,000 orders</h3>");
    expect(text.match(/data-label="Id"/gu)).to.have.lengthOf(1_000);
  });
});
