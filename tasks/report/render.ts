import { createHash } from "node:crypto";

import type { ListedOrder } from "../../src/client/orders/types.js";
import { escapeUntrusted } from "../../src/escape.js";
import { footnotesOf, notes, section, title, toned } from "../output/blocks.js";
import type { Block, Cell, Envelope, Table } from "../output/blocks.js";
import { describeCount } from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import {
  Tally,
  describeScales,
  isOrder,
  orderTable,
} from "../output/orders.js";
import { describeEnvelope } from "../output/render-text.js";
import { pricesFigure } from "./charts.js";
import { Markup, html } from "./html.js";

const cards = `
  &, & tr { display: block; }
  & thead { display: none; }
  & tbody { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); column-gap: 2rem; }
  & tr { padding: 0.5rem 0; border-bottom: 1px solid var(--line); }
  & td:not(.long) { white-space: normal; }
  & td { display: flex; flex-wrap: wrap; column-gap: 1rem; padding: 0.1rem 0; border: 0; text-align: left; overflow-wrap: anywhere; }
  & td::before { content: attr(data-label); flex: 0 0 8rem; color: var(--quiet); }
  & td:empty { display: none; }
`;

const pageStyle = `
:root {
  color-scheme: light dark;
  --page: #ffffff; --line: #d5dbe1; --grid: #e7ebef;
  --text: #1c2128; --quiet: #59636e; --good: #0b6b4f; --warn: #8a5a00; --bad: #b42318;
  --fill: #0f7b6c; --mark: #1c2128;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0e1116; --line: #323a44; --grid: #252c35;
    --text: #e6eaef; --quiet: #9aa5b1; --good: #5cc8a1; --warn: #e0b050; --bad: #ff8a80;
    --fill: #46bfae; --mark: #e6eaef;
  }
}
* { box-sizing: border-box; }
html { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 2.5rem 1.5rem 3rem; max-width: 100rem; background: var(--page); color: var(--text); overflow-wrap: break-word; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; margin: 1rem 0 0; padding: 0; list-style: none; }
a { color: var(--good); }
section { margin-top: 3rem; }
h1 { margin: 0; font-size: 1.75rem; line-height: 1.2; letter-spacing: -0.01em; }
h2 { margin: 0 0 1rem; padding-bottom: 0.4rem; border-bottom: 1px solid var(--line); font-size: 1.2rem; line-height: 1.3; }
h3 { margin: 1.75rem 0 0.5rem; font-size: 1rem; }
p { margin: 0.5rem 0; max-width: 48rem; }
h1 + p span { display: inline-block; }
footer, .dim, small, figcaption span { color: var(--quiet); font-size: 0.87rem; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 0.75rem; }
.good { color: var(--good); }
.warn { color: var(--warn); }
.bad { color: var(--bad); }
figure { display: inline-block; width: 39rem; max-width: 100%; margin: 0 1rem 1.5rem 0; vertical-align: top; }
figcaption { font-weight: 600; }
figcaption span { display: block; font-weight: 400; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { font-size: 12px; fill: var(--text); }
.frame { fill: none; stroke: var(--grid); }
.bar { fill: var(--fill); }
.settled { fill: var(--fill); stroke: var(--fill); }
.mark { stroke: var(--mark); stroke-width: 1.5; stroke-dasharray: 4 3; }
.strike { stroke: var(--mark); stroke-width: 2; stroke-linecap: square; }
.key { display: inline-block; width: 0.7em; height: 0.7em; margin: 0 0.3em 0 0.6em; border-radius: 2px; background: var(--fill); }
.key:first-child { margin-left: 0; }
.key.dot { border-radius: 50%; }
.key.line { height: 2px; width: 1.1em; vertical-align: middle; background: var(--mark); border-radius: 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 1rem 0.3rem 0; text-align: left; vertical-align: baseline; border-bottom: 1px solid var(--grid); }
th { font-weight: 400; color: var(--quiet); }
th:last-child, td:last-child { padding-right: 0; }
thead th { border-bottom-color: var(--line); vertical-align: bottom; }
.right { text-align: right; }
.rows td:not(.long) { white-space: nowrap; }
.long { overflow-wrap: anywhere; min-width: 8.5rem; }
.values { width: 100%; max-width: 60rem; table-layout: fixed; }
.values th { width: 16.5rem; }
.values td { overflow-wrap: anywhere; }
.values small { display: block; }
.rows { font-size: 0.9rem; }
.wide { ${cards} }
@media print {
  * { print-color-adjust: exact; }
  section { margin-top: 1.5rem; }
  nav { display: none; }
  h2, h3, thead { break-after: avoid; }
  tr, figure { break-inside: avoid; }
}
@media (max-width: 60rem) {
  body { padding: 1.25rem 1rem 2rem; }
  svg text { font-size: 14px; }
  .rows { ${cards} }
}
@media (max-width: 32rem) {
  .values { font-size: 0.8rem; }
  .values tr { display: flex; flex-wrap: wrap; border-bottom: 1px solid var(--grid); }
  .values :is(th, td) { border: 0; }
  .values th { flex: 0 0 36%; }
}
`;

/**
 * Allows only the style sheet, by its hash: the page loads, sends and runs
 * nothing. The empty icon stops a browser from requesting one.
 */
const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(pageStyle).digest("base64")}'`,
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

export interface Report {
  readonly envelope: Envelope;
  /** Undefined for the network's own contracts. */
  readonly instance: string | undefined;
  readonly chapters: readonly Chapter[];
  /** The number of readings and orders that failed. */
  readonly failures: number;
}

export interface Chapter {
  readonly heading: string;
  readonly chart?: Markup | undefined;
  readonly blocks: readonly Block[];
}

/** Renders a self-contained HTML document. */
export function renderReport({ envelope, instance, chapters }: Report): string {
  const named = instance === undefined ? "" : `: ${escapeUntrusted(instance)}`;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta
          http-equiv="Content-Security-Policy"
          content="${new Markup(policy)}"
        />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="referrer" content="no-referrer" />
        <title>
          Vault report: ${envelope.network}, block ${envelope.block.number}
        </title>
        <link rel="icon" href="data:," />
        ${new Markup(`<style>${pageStyle}</style>`)}
      </head>
      <body>
        <main>
          ${renderBlock(title(`Vault report${named}`, envelope))}
          ${contents(chapters)}
          ${chapters.map(
            ({ heading, chart, blocks }) =>
              html`<section id="${anchorOf(heading)}">
                <h2>${heading}</h2>
                ${chart} ${blocks.map(renderBlock)}
              </section> `,
          )}
        </main>
        <footer>
          ${renderBlock(footnotesOf(chapters.flatMap(({ blocks }) => blocks)))}
          <p>This page loads nothing and sends nothing.</p>
        </footer>
      </body>
    </html> `.text;
}

/** A list of the chapters, on the first screen. */
function contents(chapters: readonly Chapter[]): Markup {
  return html`<nav aria-label="Contents">
    <ul>
      ${chapters.map(({ heading }) => html`<li><a href="#${anchorOf(heading)}">${heading}</a></li> `)}
    </ul>
  </nav> `;
}

function anchorOf(heading: string): string {
  return heading.toLowerCase().replaceAll(/\W+/gu, "-");
}

export function ordersChapter(
  listed: readonly ListedOrder[],
  strike: bigint | undefined,
  context: FormatContext,
  place: string,
): Chapter {
  const tally = new Tally();
  for (const order of listed) {
    tally.add(order);
  }
  const orders = listed.filter(isOrder);
  // Browsers lay out this many rows without a delay.
  const first = orders.slice(0, 1_000);
  const heading =
    first.length === orders.length
      ? "Every order"
      : `The first ${describeCount(first.length, "order")}`;
  const scales = `${describeScales(context)} All orders, with fees: npx hardhat vault orders${place} --out orders.csv`;
  // A page has at most five charts; one is of the rounds.
  const pairs = [...Map.groupBy(orders, ({ exType }) => exType)]
    .toSorted(([, one], [, other]) => other.length - one.length)
    .slice(0, 4);
  return {
    heading: "Orders",
    chart: html`${pairs.map(([pair, ofPair]) =>
      pricesFigure(pair, ofPair, strike, context),
    )}`,
    blocks: [
      notes(...tally.describe()),
      ...section(heading, orderTable(first, context)),
      notes(toned("dim", scales)),
    ],
  };
}

function renderBlock(block: Block): Markup {
  switch (block.kind) {
    case "heading": {
      const { level, text, envelope } = block;
      const place = envelope === undefined ? "" : describeEnvelope(envelope);
      return level === 1
        ? html`<h1>${text}</h1>
            <p class="dim">
              ${place.split(" ").map((word) => html`<span>${word}</span> `)}
            </p> `
        : level === 2
          ? html`<h2>${text}</h2> `
          : html`<h3>${text}</h3> `;
    }
    case "values":
      return html`<table class="values">
        <tbody>
          ${block.values.map(renderValue)}
        </tbody>
      </table> `;
    case "table":
      return renderTable(block);
    case "notes":
      return html`${block.notes.map((note) => html`<p>${renderCell(note)}</p> `)}`;
    case "code":
      return html`<pre>${block.text}</pre> `;
  }
}

function renderValue([label, value]: readonly [Cell, Cell]): Markup {
  const { note = "" } = value;
  return html`<tr>
    <th scope="row">${renderCell(label)}</th>
    <td>
      ${renderCell(value)}${note === "" ? undefined : html`<small>${note}</small>`}
    </td>
  </tr> `;
}

/** The style sheet shows rows as labelled values if 1,280 pixels may not do. */
function renderTable({ columns, rows }: Table): Markup {
  const shown = columns.map(({ heading, align = "left" }, index) => {
    const texts = rows.map((row) => row[index]?.text ?? "");
    return {
      heading,
      width: Math.max(heading.length, ...texts.map(({ length }) => length)),
      classes: texts.some(isLong) ? `${align} long` : align,
    };
  });
  const width = shown.reduce((sum, column) => sum + column.width, 0);
  return html`<table class="rows${width > 140 ? " wide" : ""}">
    <thead>
      <tr>
        ${shown.map(({ heading, classes }) => html`<th scope="col" class="${classes}">${heading}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (row) =>
          html`<tr>
            ${row.map((cell, index) => html`<td class="${shown[index]?.classes}" data-label="${shown[index]?.heading}">${renderCell(cell)}</td>`)}
          </tr>`,
      )}
    </tbody>
  </table> `;
}

function renderCell({ text, tone }: Cell): Markup {
  const shown = breakable(text);
  return tone === undefined
    ? shown
    : html`<span class="${tone}">${shown}</span>`;
}

/** Lets a browser break a long number between groups of digits. */
function breakable(text: string): Markup {
  const [first = "", ...groups] = isLong(text)
    ? text.split(/(?<=\d,)(?=\d{3})/u)
    : [text];
  return html`${first}${groups.map((group) => html`<wbr />${group}`)}`;
}

const isLong = (text: string): boolean => text.length > 20;
