import { capitalize } from "@nomicfoundation/hardhat-utils/string";

import { isFailedOrder } from "../../src/client/index.js";
import type { ListedOrder } from "../../src/client/index.js";
import type { LocatedAddress } from "../../src/client/addresses.js";
import { isFailedReading } from "../../src/client/failed-reading.js";
import type { VaultSnapshot } from "../../src/client/snapshot.js";
import { contractRoles } from "../../src/protocol/index.js";
import type { ContractRole } from "../../src/protocol/index.js";
import { escapeUntrusted } from "../../src/untrusted-text.js";
import {
  footnotesOf,
  labelledValues,
  notes,
  section,
  title,
  toned,
} from "../output/blocks.js";
import type { Block, Envelope } from "../output/blocks.js";
import { describeCount } from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import {
  Tally,
  describeScales,
  isOrder,
  orderTable,
} from "../output/orders.js";
import { failuresOf, snapshotBlocks } from "../output/readings.js";
import { roundBlocks } from "../output/rounds.js";
import type { ReportedRound } from "../output/rounds.js";
import { simulationBlocks } from "../output/simulation.js";
import type { ShownSimulation } from "../output/simulation.js";
import { pricesFigure, strikesFigure } from "./charts.js";
import { html } from "./html.js";
import type { Markup } from "./html.js";
import { renderPage } from "./page.js";
import { renderHtml } from "./render-html.js";

/** All that a report shows. */
export interface Report {
  readonly envelope: Envelope;
  /** The name of the instance; undefined for the network's own contracts. */
  readonly instance: string | undefined;
  readonly contracts: ReadonlyMap<ContractRole, LocatedAddress>;
  readonly snapshot: VaultSnapshot;
  readonly context: FormatContext;
  /** Undefined if nobody asked for them, as below. */
  readonly orders: readonly ListedOrder[] | undefined;
  readonly rounds: readonly ReportedRound[] | undefined;
  readonly simulation: ShownSimulation | undefined;
}

interface Chapter {
  readonly heading: string;
  readonly chart?: Markup | undefined;
  readonly blocks: readonly Block[];
}

/** A vault at one block, as one self-contained HTML document. */
export function renderReport(report: Report): string {
  const { envelope, instance, contracts, snapshot, context } = report;
  const { orders, rounds, simulation } = report;
  const { network, block } = envelope;
  const chapters: readonly Chapter[] = [
    { heading: "Readings", blocks: snapshotBlocks(snapshot, context) },
    ...(orders === undefined ? [] : [ordersChapter(orders, report)]),
    ...(rounds === undefined
      ? []
      : [
          {
            heading: "Rounds",
            chart: strikesFigure(rounds, context),
            blocks: roundBlocks(rounds, block.number, context),
          },
        ]),
    ...(simulation === undefined
      ? []
      : [
          {
            heading: "If the vault were settled now",
            blocks: simulationBlocks(simulation, network, context),
          },
        ]),
    {
      heading: "Contracts",
      blocks: [
        labelledValues(
          [...contracts].map(([role, { address }]) => [
            capitalize(contractRoles[role].label),
            address,
          ]),
        ),
      ],
    },
  ];
  const named = instance === undefined ? "" : `: ${escapeUntrusted(instance)}`;
  return renderPage(
    `Vault report: ${network}, block ${block.number}`,
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

/** Browsers lay out so many rows without a delay. */
const MOST_ORDERS = 1_000;

/** Opening prices, and orders one by one. */
function ordersChapter(
  listed: readonly ListedOrder[],
  { snapshot: { round }, context }: Report,
): Chapter {
  const tally = new Tally();
  for (const order of listed) {
    tally.add(order);
  }
  const orders = listed.filter(isOrder);
  const first = orders.slice(0, MOST_ORDERS);
  const isWhole = first.length === orders.length;
  const strike = isFailedReading(round) ? undefined : round.strikePrice;
  return {
    heading: "Orders",
    chart:
      orders.length === 0 ? undefined : pricesFigure(orders, strike, context),
    blocks: [
      notes(...tally.describe()),
      ...section(
        isWhole
          ? "Every order"
          : `The first ${describeCount(first.length, "order")}`,
        orderTable(first, context),
      ),
      notes(
        toned(
          "dim",
          `${describeScales(context)} ${isWhole ? "Fees:" : "All orders, and fees:"} npx hardhat vault orders --out orders.csv`,
        ),
      ),
    ],
  };
}

/** The number of readings and orders that could not be read. */
export function countFailures({ snapshot, orders = [] }: Report): number {
  return failuresOf(snapshot).length + orders.filter(isFailedOrder).length;
}
