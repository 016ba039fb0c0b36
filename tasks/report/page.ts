import { createHash } from "node:crypto";

import { Markup, html } from "./html.js";
import type { Content } from "./html.js";

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
section { margin-top: 3rem; }
h1 { margin: 0; font-size: 1.75rem; line-height: 1.2; letter-spacing: -0.01em; }
h2 { margin: 0 0 1rem; padding-bottom: 0.4rem; border-bottom: 1px solid var(--line); font-size: 1.2rem; line-height: 1.3; }
h3 { margin: 1.75rem 0 0.5rem; font-size: 1rem; }
p { margin: 0.5rem 0; max-width: 48rem; }
footer, .dim, small, figcaption span { color: var(--quiet); font-size: 0.87rem; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 0.75rem; }
.good { color: var(--good); }
.warn { color: var(--warn); }
.bad { color: var(--bad); }
figure { margin: 0 0 1.5rem; }
figcaption { font-weight: 600; }
figcaption span { display: block; font-weight: 400; }
svg { display: block; width: 100%; max-width: 40rem; height: auto; overflow: visible; }
svg text { font-size: 12px; fill: var(--text); }
.key { display: inline-block; width: 0.7em; height: 0.7em; margin: 0 0.3em 0 0.6em; border-radius: 2px; background: var(--fill); }
.key:first-child { margin-left: 0; }
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
.rows { width: 100%; font-size: 0.9rem; }
@media (max-width: 60rem) {
  body { padding: 1.25rem 1rem 2rem; }
  .values th { width: 45%; }
  svg text { font-size: 14px; }
  .rows thead { display: none; }
  .rows, .rows tbody, .rows tr { display: block; }
  .rows tr { padding: 0.5rem 0; border-bottom: 1px solid var(--line); }
  .rows td:not(.long) { white-space: normal; }
  .rows td { display: flex; gap: 1rem; padding: 0.1rem 0; border: 0; text-align: left; overflow-wrap: anywhere; }
  .rows td::before { content: attr(data-label); flex: 0 0 8rem; color: var(--quiet); }
  .rows td:empty { display: none; }
}
@media (max-width: 32rem) {
  .values { font-size: 0.8rem; }
  .values th { width: 36%; }
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

export function renderPage(title: string, content: Content): string {
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
        <title>${title}</title>
        <link rel="icon" href="data:," />
        ${new Markup(`<style>${pageStyle}</style>`)}
      </head>
      <body>
        ${content}
      </body>
    </html> `.text;
}
