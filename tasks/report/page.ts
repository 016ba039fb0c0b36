import { createHash } from "node:crypto";

import { Markup, html } from "./html.js";
import type { Content } from "./html.js";
import { pageScript } from "./page-script.js";
import { pageStyle } from "./page-style.js";

/**
 * What a browser may do for the page: apply its one style sheet and run its one
 * script, known by their hashes. It loads nothing, sends nothing, and runs
 * nothing that a text of the chain could bring. The icon, which is empty, keeps
 * a browser from asking the page's server for one.
 */
function policyFor(style: string): string {
  return [
    "default-src 'none'",
    `style-src '${hashOf(style)}'`,
    `script-src '${hashOf(pageScript)}'`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

/**
 * A whole page that needs no other file.
 *
 * @param ownStyle What this page adds to the style sheet; no text of others.
 */
export function renderPage(
  title: string,
  content: Content,
  ownStyle: string,
): string {
  const style = pageStyle + ownStyle;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta
          http-equiv="Content-Security-Policy"
          content="${new Markup(policyFor(style))}"
        />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="referrer" content="no-referrer" />
        <title>${title}</title>
        <link rel="icon" href="data:," />
        ${new Markup(`<style>${style}</style>`)}
      </head>
      <body>
        ${content} ${new Markup(`<script>${pageScript}</script>`)}
      </body>
    </html> `.text;
}
