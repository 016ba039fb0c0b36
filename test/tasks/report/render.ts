import { createHash } from "node:crypto";

import { expect } from "chai";

import { vaultError } from "../../../src/errors.js";
import type { ListedOrder } from "../../../src/client/index.js";
import { someOrder, zeroAnswer } from "../../../src/mocks/scenarios.js";
import {
  code,
  labelledValues,
  notes,
  section,
  table,
  title,
  toned,
} from "../../../tasks/output/blocks.js";
import type { Block } from "../../../tasks/output/blocks.js";
import { html } from "../../../tasks/report/html.js";
import { ordersChapter, renderReport } from "../../../tasks/report/render.js";
import type { Chapter } from "../../../tasks/report/render.js";

const HOSTILE = `</title><img src=x>"'&\u202e`;
const ESCAPED = "&lt;/title&gt;&lt;img src=x&gt;&quot;&#39;&amp;\\u{202e}";

const envelope = {
  network: "live",
  chainId: 56,
  block: { number: 7, timestamp: 1_700_000_000 },
};

/** Without what only lays out the markup. */
const plain = (text: string): string =>
  text
    .replaceAll(/\s+/gu, " ")
    .replaceAll(/ ?([<>]) ?/gu, "$1")
    .replaceAll(" />", "/>");

function page(
  chapters: readonly Chapter[],
  more: Partial<Parameters<typeof renderReport>[0]> = {},
): string {
  return renderReport({
    ...{ envelope, instance: undefined, chapters, failures: 0 },
    ...more,
  });
}

/** The markup of one block, and of its footnotes. */
function rendered(block: Block): {
  readonly body: string;
  readonly foot: string;
} {
  const text = plain(page([{ heading: "One", blocks: [block] }]));
  const [, body = "", foot = ""] =
    /<h2>One<\/h2>(.*?)<\/section>.*<footer>(.*?)<p>This page/u.exec(text) ??
    [];
  return { body, foot };
}

describe("the page of a report", () => {
  it("renderReport names the network, its chain, the block and its time, and the instance if there is one", () => {
    const text = plain(page([]));
    expect(text)
      .to.include("<title>Vault report: live, block 7</title>")
      .and.include("<h1>Vault report</h1>");
    expect(
      text.replaceAll(/<\/?span>/gu, " ").replaceAll(/ +/gu, " "),
    ).to.include(
      '<p class="dim"> live (chain 56), block 7, 2023-11-14T22:13:20Z </p>',
    );
    expect(plain(page([], { instance: "usdc" }))).to.include(
      "<h1>Vault report: usdc</h1>",
    );
  });

  it("renderReport escapes the names of the network and of the instance", () => {
    const text = plain(
      page([], {
        envelope: { ...envelope, network: HOSTILE },
        instance: HOSTILE,
      }),
    );
    expect(text)
      .to.include(`<title>Vault report: ${ESCAPED}, block 7</title>`)
      .and.include(`<h1>Vault report: ${ESCAPED}</h1>`)
      .and.not.include("<img");
  });

  it("renderReport allows its own style sheet alone, by its hash", () => {
    const text = page([]);
    const [, style = ""] = /<style>(.*?)<\/style>/su.exec(text) ?? [];
    const hash = createHash("sha256").update(style).digest("base64");
    expect(plain(text)).to.include(
      `content="default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'"`,
    );
  });

  it("renderReport links each chapter, in order, and shows its chart above its blocks", () => {
    const text = plain(
      page([
        {
          heading: "If it were, now",
          chart: html`<svg></svg>`,
          blocks: [notes("first"), notes("second")],
        },
        { heading: "Two", blocks: [] },
      ]),
    );
    expect(text)
      .to.include(
        '<ul><li><a href="#if-it-were-now">If it were, now</a></li><li><a href="#two">Two</a></li></ul>',
      )
      .and.include(
        '<section id="if-it-were-now"><h2>If it were, now</h2><svg></svg><p>first</p><p>second</p></section><section id="two"><h2>Two</h2></section>',
      );
  });

  it("renderReport shows values with their notes, tones, and integers behind scaled texts", () => {
    const { body, foot } = rendered(
      labelledValues([
        ["A<", { text: "1.5", unscaled: 1_500n, note: "a & b" }],
        ["B", { ...toned("bad", "no<"), footnote: "why <" }],
        ["C", { text: "2", footnote: "why <" }],
      ]),
    );
    expect(body).to.equal(
      [
        '<table class="values"><tbody>',
        '<tr><th scope="row">A&lt;</th><td><data value="1500">1.5</data><small>a &amp; b</small></td></tr>',
        '<tr><th scope="row">B</th><td><span class="bad">no&lt;</span></td></tr>',
        '<tr><th scope="row">C</th><td>2</td></tr>',
        "</tbody></table>",
      ].join(""),
    );
    expect(foot).to.equal('<p><span class="dim">why &lt;</span></p>');
  });

  it("renderReport shows a heading by its level, and code as it is", () => {
    expect(rendered({ kind: "heading", level: 2, text: "<" }).body).to.equal(
      "<h2>&lt;</h2>",
    );
    const [heading = notes()] = section("<", notes("a"));
    expect(rendered(heading).body).to.equal("<h3>&lt;</h3>");
    expect(rendered(code("<a>")).body).to.equal("<pre>&lt;a&gt;</pre>");
    expect(rendered(title("T")).body).to.include("<h1>T</h1>");
  });

  it("renderReport shows each cell below its heading, aligned as its column", () => {
    const { body } = rendered(
      table(
        [{ heading: "Id", align: "right" }, { heading: "Na<me" }],
        [
          ["1", "x<"],
          ["2", ""],
        ],
      ),
    );
    expect(body).to.equal(
      [
        '<table class="rows"><thead><tr>',
        '<th scope="col" class="right">Id</th><th scope="col" class="left">Na&lt;me</th>',
        "</tr></thead><tbody>",
        '<tr><td class="right" data-label="Id">1</td><td class="left" data-label="Na&lt;me">x&lt;</td></tr>',
        '<tr><td class="right" data-label="Id">2</td><td class="left" data-label="Na&lt;me"></td></tr>',
        "</tbody></table>",
      ].join(""),
    );
  });

  it("renderReport lets a column break from 21 characters on, and a long number between its groups", () => {
    const rowsOf = (...texts: readonly string[]): string =>
      rendered(
        table(
          [{ heading: "A" }],
          texts.map((text) => [text]),
        ),
      ).body;
    expect(rowsOf("x".repeat(20))).to.include('<td class="left"');
    expect(rowsOf("x", "x".repeat(21), "y"))
      .to.include('<th scope="col" class="left long">')
      .and.include('<td class="left long" data-label="A">y</td>');
    // 20 and 21 characters.
    expect(rowsOf("1,000,000,000,000 ra")).to.include(">1,000,000,000,000 ra<");
    expect(rowsOf("1,000,000,000,000 raw")).to.include(
      ">1,<wbr/>000,<wbr/>000,<wbr/>000,<wbr/>000 raw<",
    );
  });

  it("renderReport marks a table as wide whose longest cells and headings have more than 140 characters", () => {
    const widthOf = (first: number, second: number, heading: string): string =>
      rendered(
        table(
          [{ heading }, { heading: "B" }],
          [
            ["x".repeat(first), "y"],
            ["x", "y".repeat(second)],
          ],
        ),
      ).body.slice(0, 25);
    expect(widthOf(100, 40, "A")).to.equal('<table class="rows"><thea');
    expect(widthOf(100, 41, "A")).to.equal('<table class="rows wide">');
    expect(widthOf(1, 100, "H".repeat(41))).to.equal(
      '<table class="rows wide">',
    );
  });
});

describe("the orders of a report", () => {
  const context = { chainTime: 0, raw: false };
  const order = (orderID: bigint): ListedOrder => ({ ...someOrder, orderID });
  const chapter = (
    orders: readonly ListedOrder[],
    place = "",
  ): { readonly chapter: Chapter; readonly text: string } => {
    const own = ordersChapter(orders, undefined, context, place);
    return { chapter: own, text: plain(page([own])) };
  };

  it("ordersChapter counts what was listed, shows orders alone, and the command for all of them", () => {
    const failed = {
      orderID: 9n,
      error: vaultError("VAULT_INTERNAL", { problem: "gone" }),
    };
    const empty = { orderID: 8n, ...zeroAnswer("getOrderInfo") };
    const { chapter: own, text } = chapter(
      [order(5n), empty, failed],
      " --network live",
    );
    expect(own.heading).to.equal("Orders");
    expect(text)
      .to.include(
        '<p>1 order.</p><p>Empty, with every value zero: 1 id.</p><p><span class="bad">Failed: 1 id.</span></p><p>The first of these, 9: ',
      )
      .and.include("<h3>Every order</h3>")
      .and.include(
        '<p><span class="dim">Integers are unscaled: their scale is not documented. All orders, with fees: npx hardhat vault orders --network live --out orders.csv</span></p>',
      );
    expect(text.match(/data-label="Id"/gu)).to.have.lengthOf(1);
  });

  it("ordersChapter without orders has neither table nor chart", () => {
    const { text } = chapter([]);
    expect(text)
      .to.include("<p>0 orders.</p>")
      .and.not.include("<h3>")
      .and.not.include("<figure>");
  });

  it("ordersChapter lists the first 1,000 orders, and titles them so if there are more", () => {
    const orders = Array.from({ length: 1_001 }, (_, id) => order(BigInt(id)));
    expect(chapter(orders.slice(1)).text).to.include("<h3>Every order</h3>");
    const { text } = chapter(orders);
    expect(text).to.include("<h3>The first 1,000 orders</h3>");
    expect(text.match(/data-label="Id"/gu)).to.have.lengthOf(1_000);
    expect(text)
      .to.include('data-label="Id">999<')
      .and.not.include('data-label="Id">1000<');
  });

  it("ordersChapter draws the four pairs with the most orders, all orders counted", () => {
    const thousand = Array.from({ length: 1_000 }, () => "B");
    const orders = [...thousand, "A", "B", "C", "D", "E", "E", "F", "F"].map(
      (exType, index) => ({ ...someOrder, orderID: BigInt(index), exType }),
    );
    const { chart } = chapter(orders).chapter;
    expect(
      String(chart?.text)
        .split("<figcaption>")
        .slice(1)
        .map((caption) => caption.slice(0, 2)),
    ).to.deep.equal(["B:", "E:", "F:", "A:"]);
  });
});
