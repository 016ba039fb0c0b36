import { createHash } from "node:crypto";

import { escapeUntrusted } from "../../src/escape.js";
import { footnotesOf } from "../output/blocks.js";
import type { Block, Cell, Envelope, Table } from "../output/blocks.js";
import { describeEnvelope } from "../output/render-text.js";

/** HTML, which is not escaped. */
export class Markup {
  public constructor(public readonly text: string) {}
}

/** Strings are escaped; undefined and false are nothing. */
export type Content =
  | Markup
  | string
  | number
  | false
  | undefined
  | readonly Content[];

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes what it inserts, both between tags and in quoted attributes. */
export function html(
  parts: TemplateStringsArray,
  ...values: readonly Content[]
): Markup {
  return new Markup(
    parts.reduce(
      (text, part, index) => text + toHtml(values[index - 1]) + part,
    ),
  );
}

function toHtml(value: Content): string {
  if (value === undefined || value === false) {
    return "";
  }
  if (typeof value === "object") {
    return value instanceof Markup ? value.text : value.map(toHtml).join("");
  }
  return escapeUntrusted(String(value)).replaceAll(
    /[&<>"']/gu,
    (character) => entities[character] ?? "",
  );
}

const pageStyle = `
:root {
  color-scheme: light dark;
  --page: #ffffff; --line: #d5dbe1; --text: #1c2128; --quiet: #59636e;
  --good: #0b6b4f; --warn: #8a5a00; --bad: #b42318; --fill: #0f7b6c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0e1116; --line: #323a44; --text: #e6eaef; --quiet: #9aa5b1;
    --good: #5cc8a1; --warn: #e0b050; --bad: #ff8a80; --fill: #46bfae;
  }
}
* { box-sizing: border-box; }
html { font: 15px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; padding: 2.5rem 1.5rem 3rem; max-width: 80rem; background: var(--page); color: var(--text); overflow-wrap: anywhere; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; margin: 1rem 0 0; padding: 0; list-style: none; }
a { color: var(--good); }
h1 { margin: 0; font-size: 1.75rem; line-height: 1.2; }
h2 { margin: 3rem 0 1rem; padding-bottom: 0.4rem; border-bottom: 1px solid var(--line); font-size: 1.2rem; }
h3 { margin: 1.75rem 0 0.5rem; font-size: 1rem; }
p { margin: 0.5rem 0; max-width: 48rem; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 0.75rem; }
footer, .dim, small, figcaption span { color: var(--quiet); font-size: 0.87rem; }
.good { color: var(--good); }
.warn { color: var(--warn); }
.bad { color: var(--bad); }
figure { display: inline-block; width: 37rem; max-width: 100%; margin: 0 1rem 1.5rem 0; }
figcaption { font-weight: 600; }
figcaption span { display: block; font-weight: 400; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { font-size: 12px; fill: var(--text); }
.frame { fill: none; stroke: var(--line); }
.bar { fill: var(--fill); }
.strike { fill: none; stroke: var(--text); stroke-width: 2; }
.dot { stroke: var(--fill); stroke-width: 8; stroke-linecap: round; }
.key { display: inline-block; width: 0.7em; height: 0.7em; margin-right: 0.3em; background: var(--fill); }
.key.strike { height: 2px; width: 1.1em; vertical-align: middle; background: var(--text); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 1rem 0.3rem 0; text-align: left; vertical-align: baseline; border-bottom: 1px solid var(--line); }
th { font-weight: 400; color: var(--quiet); }
.right { text-align: right; }
.rows { font-size: 0.9rem; white-space: nowrap; }
.values { width: 100%; max-width: 60rem; table-layout: fixed; }
.values th { width: 36%; }
.values small { display: block; }
@media print {
  * { print-color-adjust: exact; }
  nav { display: none; }
  .scroll { overflow: visible; }
  .rows { font-size: 0.65rem; }
  h2, h3, thead { break-after: avoid; }
  tr, figure { break-inside: avoid; }
}
`;

/**
 * Allows only the style sheet, by its hash: the page loads, sends and runs
 * nothing. The empty icon stops a browser from requesting one.
 */
const policy = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(pageStyle).digest("base64")}'; img-src data:; base-uri 'none'; form-action 'none'`;

/** Charts and blocks; each chapter begins with a heading of level 2. */
export interface Page {
  readonly title: string;
  readonly envelope: Envelope;
  readonly parts: ReadonlyArray<Block | Markup>;
}

/** Renders a self-contained HTML document. */
export function renderPage({ title, envelope, parts }: Page): string {
  const blocks = parts.flatMap((part) => (part instanceof Markup ? [] : part));
  const chapters = blocks.flatMap((block) =>
    block.kind === "heading" && block.level === 2 ? block.text : [],
  );
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
          ${title}: ${envelope.network}, block ${envelope.block.number}
        </title>
        <link rel="icon" href="data:," />
        ${new Markup(`<style>${pageStyle}</style>`)}
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          <p class="dim">${describeEnvelope(envelope)}</p>
          <nav aria-label="Contents">
            <ul>
              ${chapters.map((text) => html`<li><a href="#${anchorOf(text)}">${text}</a></li> `)}
            </ul>
          </nav>
          ${parts.map((part) => (part instanceof Markup ? part : renderBlock(part)))}
        </main>
        <footer>
          ${renderBlock(footnotesOf(blocks))}
          <p>This page loads nothing and sends nothing.</p>
        </footer>
      </body>
    </html> `.text;
}

function anchorOf(heading: string): string {
  return heading.toLowerCase().replaceAll(/\W+/gu, "-");
}

function renderBlock(block: Block): Markup {
  switch (block.kind) {
    case "heading":
      return block.level === 2
        ? html`<h2 id="${anchorOf(block.text)}">${block.text}</h2> `
        : html`<h3>${block.text}</h3> `;
    case "values":
      return html`<table class="values">
        <tbody>
          ${block.rows.map(
            ([label, value]) =>
              html`<tr>
                <th scope="row">${renderCell(label)}</th>
                <td>
                  ${renderCell(value)}${value.note !== undefined && html`<small>${value.note}</small>`}
                </td>
              </tr> `,
          )}
        </tbody>
      </table> `;
    case "table":
      return renderTable(block);
    case "notes":
      return html`${block.rows.map(([note]) => html`<p>${renderCell(note)}</p> `)}`;
    case "code":
      return html`<pre>${block.text}</pre> `;
  }
}

/** Scrolls by itself if the window is too narrow. */
function renderTable({ columns, rows }: Table): Markup {
  const alignments = columns.map(({ align = "left" }) => align);
  return html`<div class="scroll" tabindex="0">
    <table class="rows">
      <thead>
        <tr>
          ${columns.map(({ heading }, index) => html`<th scope="col" class="${alignments[index]}">${heading}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${row.map((cell, index) => html`<td class="${alignments[index]}">${renderCell(cell)}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div> `;
}

function renderCell({ text, tone }: Cell): Markup {
  return tone === undefined
    ? html`${text}`
    : html`<span class="${tone}">${text}</span>`;
}
