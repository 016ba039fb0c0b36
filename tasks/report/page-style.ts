/** How the page looks: on a screen, light or dark, wide or narrow, and on paper. */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --page: #ffffff; --card: #f6f8fa; --line: #d5dbe1; --grid: #e7ebef;
  --text: #1c2128; --quiet: #59636e; --bad: #b42318;
  --call: #0b69c7; --put: #b75301; --other: #7b61c4; --fill: #0f7b6c; --rest: #cbe0dc; --mark: #1c2128;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0e1116; --card: #171c23; --line: #323a44; --grid: #252c35;
    --text: #e6eaef; --quiet: #9aa5b1; --bad: #ff8a80;
    --call: #62adff; --put: #f5a25d; --other: #b8a3f5; --fill: #46bfae; --rest: #244540; --mark: #e6eaef;
  }
}
* { box-sizing: border-box; }
html { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 2.5rem 1.5rem 3rem; max-width: 72rem; background: var(--page); color: var(--text); }
header, section { margin-bottom: 3rem; }
h1 { margin: 0; font-size: 1.75rem; line-height: 1.2; letter-spacing: -0.01em; }
h2 { margin: 0 0 1rem; padding-bottom: 0.4rem; border-bottom: 1px solid var(--line); font-size: 1.2rem; line-height: 1.3; }
h3 { margin: 1.75rem 0 0.5rem; font-size: 1rem; }
p { margin: 0.5rem 0; max-width: 48rem; }
code { font: 0.92em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
footer, .quiet, figcaption span { color: var(--quiet); font-size: 0.87rem; }
footer { border-top: 1px solid var(--line); padding-top: 0.75rem; }
.bad { color: var(--bad); }
.where { display: flex; flex-wrap: wrap; gap: 0 1.25rem; margin: 0.35rem 0 0; padding: 0; list-style: none; color: var(--quiet); max-width: none; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: 0.75rem; margin: 1.5rem 0 0; }
.tiles div { padding: 0.7rem 0.9rem 0.8rem; border: 1px solid var(--line); border-radius: 8px; background: var(--card); }
.tiles dt { color: var(--quiet); font-size: 0.87rem; }
.tiles dd { margin: 0; font-size: 1.3rem; font-weight: 600; line-height: 1.3; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.tiles small { display: block; color: var(--quiet); font-size: 0.8rem; font-weight: 400; }
.beside { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); gap: 1.5rem 2.5rem; align-items: start; }
figure { margin: 0; min-width: 0; }
figcaption { font-weight: 600; }
figcaption span { display: block; font-weight: 400; min-height: 1.5em; }
svg { display: block; width: 100%; max-width: 34rem; height: auto; overflow: visible; }
svg text { font-size: 12px; fill: var(--text); }
.key { display: inline-block; width: 0.7em; height: 0.7em; margin: 0 0.3em 0 0.6em; border-radius: 2px; background: var(--other); print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.key:first-child { margin-left: 0; }
.key.call { background: var(--call); }
.key.fill { background: var(--fill); }
.key.put { background: var(--put); }
.key.rest { background: var(--rest); }
.key.line { height: 2px; width: 1.1em; vertical-align: middle; background: var(--mark); border-radius: 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.9rem 0.3rem 0; text-align: left; vertical-align: baseline; border-bottom: 1px solid var(--grid); }
th { font-weight: 400; color: var(--quiet); }
thead th { border-bottom-color: var(--line); white-space: nowrap; vertical-align: bottom; }
tbody tr:last-child > * { border-bottom: 0; }
th:last-child, td:last-child { padding-right: 0; }
.n { text-align: right; white-space: nowrap; }
.facts { width: 100%; table-layout: fixed; overflow-wrap: break-word; }
.facts th { width: 16.5rem; }
.beside .facts th { width: 40%; }
.facts small { display: block; color: var(--quiet); }
.scroll { overflow-x: auto; font-size: 0.93rem; }
.scroll table { min-width: 100%; }
.scroll td { white-space: nowrap; }
/* Widths are given, so that only the rows in sight cost anything. */
.many table:not([data-few]), .many table:not([data-few]) > * { display: block; }
.many table:not([data-few]) tr { display: grid; }
.many table:not([data-few]) tbody tr { content-visibility: auto; contain-intrinsic-size: auto 2rem; }
.many table:not([data-few]) tr > * { overflow: hidden; text-overflow: ellipsis; }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }
th button:hover { color: var(--text); text-decoration: underline; }
th button::after { content: "\\00a0\\2195"; opacity: 0.45; }
th[aria-sort] button { color: var(--text); font-weight: 600; }
th[aria-sort] button::after { opacity: 1; }
th[aria-sort="ascending"] button::after { content: "\\00a0\\2191"; }
th[aria-sort="descending"] button::after { content: "\\00a0\\2193"; }
.pages { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem 0.75rem; margin-top: 0.75rem; font-size: 0.93rem; }
.pages button { font: inherit; color: var(--text); background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 0.25rem 0.8rem; cursor: pointer; }
.pages button:disabled { opacity: 0.45; cursor: default; }
:focus-visible { outline: 2px solid var(--call); outline-offset: 2px; border-radius: 2px; }
@media (max-width: 40rem) {
  body { padding: 1.25rem 1rem 2rem; }
  header, section { margin-bottom: 2.25rem; }
  .tiles { grid-template-columns: 1fr 1fr; }
  .facts th { width: 45%; }
  svg text { font-size: 14px; }
}
@media print {
  :root {
    color-scheme: light;
    --page: #ffffff; --card: #ffffff; --line: #b8bfc6; --grid: #dde1e5;
    --text: #000000; --quiet: #454c53; --bad: #9b1c12;
    --call: #0b69c7; --put: #b75301; --other: #7b61c4; --fill: #0f7b6c; --rest: #cbe0dc; --mark: #000000;
  }
  @page { margin: 14mm 12mm; }
  @page wide { size: landscape; }
  html { font-size: 11px; }
  body { padding: 0; max-width: none; }
  header, section { margin-bottom: 1.75rem; }
  .beside { grid-template-columns: 1fr 1fr; }
  figure, .tiles div, tr { break-inside: avoid; }
  h2, h3, figcaption { break-after: avoid; }
  .scroll { overflow: visible; }
  .orders table { font-size: 8px; }
  .orders th, .orders td { padding-right: 0.5rem; }
  .many table:not([data-few]) { min-width: 0; }
  .many table:not([data-few]) tbody tr { content-visibility: visible; }
  .wide { page: wide; }
  .pages button, th button::after { display: none; }
}
`;
