import type { ListedOrder } from "../../src/client/index.js";
import { escapeUntrusted } from "../../src/untrusted-text.js";
import { footnotesOf, notes, section, title, toned } from "../output/blocks.js";
import type { Block, Envelope } from "../output/blocks.js";
import { describeCount } from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import {
  Tally,
  describeScales,
  isOrder,
  orderTable,
} from "../output/orders.js";
import { pricesFigure } from "./charts.js";
import { html } from "./html.js";
import type { Markup } from "./html.js";
import { renderPage } from "./page.js";
import { renderHtml } from "./render-html.js";

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
  return renderPage(
    `Vault report: ${envelope.network}, block ${envelope.block.number}`,
    html`<main>
        ${renderHtml([title(`Vault report${named}`, envelope)])}
        ${chapters.map(
          ({ heading, chart, blocks }) =>
            html`<section>
              <h2>${heading}</h2>
              ${chart} ${renderHtml(blocks)}
            </section> `,
        )}
      </main>
      <footer>
        ${renderHtml([
          footnotesOf(chapters.flatMap(({ blocks }) => blocks)),
          notes("This page loads nothing and sends nothing."),
        ])}
      </footer>`,
  );
}

/** Browsers lay out this many rows without a delay. */
const MOST_ORDERS = 1_000;

export function ordersChapter(
  listed: readonly ListedOrder[],
  strike: bigint | undefined,
  context: FormatContext,
): Chapter {
  const tally = new Tally();
  for (const order of listed) {
    tally.add(order);
  }
  const orders = listed.filter(isOrder);
  const first = orders.slice(0, MOST_ORDERS);
  const [heading, where] =
    first.length === orders.length
      ? ["Every order", "Fees:"]
      : [
          `The first ${describeCount(first.length, "order")}`,
          "All orders, and fees:",
        ];
  const scales = `${describeScales(context)} ${where} npx hardhat vault orders --out orders.csv`;
  return {
    heading: "Orders",
    chart:
      orders.length === 0 ? undefined : pricesFigure(orders, strike, context),
    blocks: [
      notes(...tally.describe()),
      ...section(heading, orderTable(first, context)),
      notes(toned("dim", scales)),
    ],
  };
}
