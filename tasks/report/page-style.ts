/** How the page looks: light or dark, wide or narrow. */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --page: #ffffff; --card: #f6f8fa; --line: #d5dbe1; --grid: #e7ebef;
  --text: #1c2128; --quiet: #59636e; --bad: #b42318;
  --fill: #0f7b6c; --mark: #1c2128;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0e1116; --card: #171c23; --line: #323a44; --grid: #252c35;
    --text: #e6eaef; --quiet: #9aa5b1; --bad: #ff8a80;
    --fill: #46bfae; --mark: #e6eaef;
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
figure { margin: 0 0 1.5rem; min-width: 0; }
figcaption { font-weight: 600; }
figcaption span { display: block; font-weight: 400; min-height: 1.5em; }
svg { display: block; width: 100%; max-width: 34rem; height: auto; overflow: visible; }
svg text { font-size: 12px; fill: var(--text); }
.key { display: inline-block; width: 0.7em; height: 0.7em; margin: 0 0.3em 0 0.6em; border-radius: 2px; background: var(--fill); }
.key:first-child { margin-left: 0; }
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
.facts small { display: block; color: var(--quiet); }
.scroll { overflow-x: auto; font-size: 0.93rem; }
.scroll table { min-width: 100%; }
.scroll td { white-space: nowrap; }
:focus-visible { outline: 2px solid var(--fill); outline-offset: 2px; border-radius: 2px; }
@media (max-width: 40rem) {
  body { padding: 1.25rem 1rem 2rem; }
  header, section { margin-bottom: 2.25rem; }
  .tiles { grid-template-columns: 1fr 1fr; }
  .facts th { width: 45%; }
  svg text { font-size: 14px; }
}
`;
