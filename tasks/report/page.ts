import { createHash } from "node:crypto";

import { Markup, html } from "./html.js";
import type { Content } from "./html.js";
import { pageStyle } from "./page-style.js";

/**
 * What a browser may do for the page: apply its one style sheet, known by its
 * hash. It loads nothing, sends nothing and runs nothing. The icon, which is
 * empty, keeps a browser from asking the page's server for one.
 */
const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(pageStyle).digest("base64")}'`,
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** A whole page that needs no other file. */
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
