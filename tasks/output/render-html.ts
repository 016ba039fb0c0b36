import { createHash } from "node:crypto";

import { escapeUntrusted } from "../../src/foreign-text.js";
import { describeEnvelope, footnotesOf } from "./screen.js";
import type { Part, Cell, Envelope, Table } from "./screen.js";

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
    (character) => `&#${character.charCodeAt(0)};`,
  );
}

const pageStyle = `
:root {
  color-scheme: light dark;
  --page: light-dark(#ffffff, #0e1116); --text: light-dark(#1c2128, #e6eaef);
  --line: light-dark(#d5dbe1, #323a44); --quiet: light-dark(#59636e, #9aa5b1);
  --good: light-dark(#0b6b4f, #5cc8a1); --warn: light-dark(#8a5a00, #e0b050);
  --bad: light-dark(#b42318, #ff8a80);
}
body { margin: 0 auto; padding: 2rem 1.5rem; max-width: 80rem; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--line); }
.dim, small, th { color: var(--quiet); font-size: 0.87rem; font-weight: 400; }
.good { color: var(--good); }
.warn { color: var(--warn); }
.bad { color: var(--bad); }
figure { display: inline-block; width: 37rem; max-width: 100%; margin: 0 1rem 1.5rem 0; }
svg { display: block; width: 100%; overflow: visible; }
svg text { font-size: 12px; fill: var(--text); }
.frame, .line { fill: none; stroke: var(--quiet); }
.bar { fill: var(--good); }
.dot { stroke: var(--good); stroke-width: 8; stroke-linecap: round; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 1rem 0.3rem 0; text-align: left; vertical-align: baseline; border-bottom: 1px solid var(--line); }
.right { text-align: right; }
td:first-child { color: var(--quiet); }
thead + tbody { white-space: nowrap; }
small { display: block; }
@media print {
  :root { color-scheme: light; print-color-adjust: exact; }
  h1, h2, h3 { break-after: avoid; }
  figure, tr { break-inside: avoid; }
  .scroll { overflow-x: visible; }
}
`;

/**
 * Allows only the style sheet, by its hash: the page loads, sends and runs
 * nothing.
 */
const policy = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(pageStyle).digest("base64")}'; base-uri 'none'; form-action 'none'`;

/** Renders a self-contained HTML document of charts and parts. */
export function renderPage(
  title: string,
  envelope: Envelope,
  parts: ReadonlyArray<Part | Markup>,
): string {
  const shown = parts.flatMap((part) => (part instanceof Markup ? [] : part));
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta
          http-equiv="Content-Security-Policy"
          content="${new Markup(policy)}"
        />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>
          ${title}: ${envelope.network}, block ${envelope.block.number}
        </title>
        ${new Markup(`<style>${pageStyle}</style>`)}
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          <p class="dim">${describeEnvelope(envelope)}</p>
          ${[...parts, footnotesOf(shown)].map((part) => (part instanceof Markup ? part : renderPart(part)))}
        </main>
      </body>
    </html> `.text;
}

function renderPart(part: Part): Markup {
  switch (part.kind) {
    case "heading":
      return part.level === 2
        ? html`<h2>${part.text}</h2> `
        : html`<h3>${part.text}</h3> `;
    case "values":
      return renderTable([], part.rows);
    case "table":
      return renderTable(part.columns, part.rows);
    case "notes":
      return html`${part.rows.map(([note]) => html`<p>${renderCell(note)}</p> `)}`;
    case "code":
      return html`<pre>${part.text}</pre> `;
  }
}

/** Scrolls by itself if the window is too narrow. */
function renderTable(
  columns: Table["columns"],
  rows: ReadonlyArray<readonly Cell[]>,
): Markup {
  const head = html`<thead>
    <tr>
      ${columns.map(({ heading, align }) => html`<th scope="col" class="${align}">${heading}</th>`)}
    </tr>
  </thead>`;
  return html`<div class="scroll" tabindex="0">
    <table>
      ${columns.length > 0 && head}
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${row.map((cell, index) => html`<td class="${columns[index]?.align}">${renderCell(cell)}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div> `;
}

function renderCell({ text, tone, note }: Cell): Markup {
  return html`<span class="${tone}">${text}</span
    >${note !== undefined && html`<small>${note}</small>`}`;
}

const [WIDTH, HEIGHT] = [480, 210];
/** The drawing without the labels of its axes. */
const [LEFT, TOP, RIGHT, BOTTOM] = [20, 28, WIDTH - 20, HEIGHT - 34];

/** An axis, whose ends have the least and the most of its values as labels. */
export interface Axis {
  readonly label: string;
  readonly values: readonly number[];
  /** Default: as a number. */
  readonly describe?: (value: number) => string;
}

/** From a value to a pixel. */
type Scale = (value: number) => string;

/**
 * Draws SVG, so that the page needs no script.
 *
 * @param draw Returns the path of each shape, by its class.
 */
export function chart(
  caption: string,
  x: Axis,
  y: Axis,
  draw: (toX: Scale, toY: Scale, bottom: number) => Record<string, string>,
): Markup {
  const ends = ({ values }: Axis) =>
    [Math.min(...values), Math.max(...values)] as const;
  const scaleOf = (axis: Axis, start: number, end: number): Scale => {
    const [from, to] = ends(axis);
    const range = Math.max(to - from, Number.MIN_VALUE);
    return (value) =>
      (start + ((value - from) / range) * (end - start)).toFixed(2);
  };
  const toText = (value: number): string => value.toLocaleString("en");
  const [xFrom, xTo] = ends(x).map(x.describe ?? toText);
  const [yFrom, yTo] = ends(y).map(y.describe ?? toText);
  const shapes = {
    frame: `M${LEFT} ${TOP}H${RIGHT}V${BOTTOM}H${LEFT}z`,
    ...draw(scaleOf(x, LEFT, RIGHT), scaleOf(y, BOTTOM, TOP), BOTTOM),
  };
  return html`<figure>
    <figcaption>${caption}</figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${caption}">
      <text x="${LEFT}" y="${TOP - 8}">↑ ${y.label}: ${yTo}</text>
      <text x="${LEFT}" y="${BOTTOM + 14}">${yFrom}</text>
      <text x="${LEFT}" y="${HEIGHT - 4}">${xFrom}</text>
      <text x="${RIGHT}" y="${HEIGHT - 4}" text-anchor="end">
        ${x.label}: ${xTo} →
      </text>
      ${Object.entries(shapes).map(([name, path]) => html`<path class="${name}" d="${path}" /> `)}
    </svg>
  </figure> `;
}
