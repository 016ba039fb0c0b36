import { existsSync } from "node:fs";

import axe from "axe-core";
import { chromium } from "playwright-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";

const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

/** Why there is no browser, and how to get one; undefined where there is one. */
export const missingBrowser: string | undefined = existsSync(executablePath)
  ? undefined
  : `needs Chromium, and there is no ${executablePath}: apt-get install chromium, or CHROMIUM=<path>`;

/** Starts Chromium with an empty profile; it asks nobody for anything. */
export async function startBrowser(): Promise<Browser> {
  return await chromium.launch({
    executablePath,
    args: ["--disable-gpu", "--disable-quic"],
  });
}

/** The complaints are warnings, errors, dialogs, and requests but that for the page. */
export async function openFile(
  browser: Browser,
  file: string,
  options: BrowserContextOptions = {},
): Promise<{ readonly page: Page; readonly complaints: string[] }> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    ...options,
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  const url = `file://${file}`;
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (request.url() !== url) {
      complaints.push(`request ${request.url()}`);
    }
  });
  await page.goto(url);
  return { page, complaints };
}

/** Of the rows of a table, which are alike, axe-core sees the first ones. */
export async function findBarriers(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  return await page.evaluate<string[]>(
    `(async () => {
      const rows = [...document.querySelectorAll("tbody tr:nth-child(n+50)")]
        .map((row) => [row.parentNode, row]);
      rows.forEach(([, row]) => row.remove());
      const { violations } = await axe.run();
      rows.forEach(([body, row]) => body.append(row));
      return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ": " + html));
    })()`,
  );
}
