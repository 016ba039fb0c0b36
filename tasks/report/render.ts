import { capitalize } from "@nomicfoundation/hardhat-utils/string";

import { isFailedOrder } from "../../src/client/index.js";
import type { ListedOrder } from "../../src/client/index.js";
import type { LocatedAddress } from "../../src/client/addresses.js";
import { isFailedReading } from "../../src/client/failed-reading.js";
import type { VaultSnapshot } from "../../src/client/snapshot.js";
import {
  OrderState,
  contractRoles,
  isStandalone,
  operationEntry,
  readOperationNames,
  groupDigits,
} from "../../src/protocol/index.js";
import type { ContractRole } from "../../src/protocol/index.js";
import { describeTime } from "../../src/protocol/time.js";
import { describeShare, fieldOf, notesOn } from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import type { Envelope } from "../output/heading.js";
import type { ShownRehearsal } from "../output/simulation.js";
import { failuresOf, sectionsOf } from "../output/status-sections.js";
import { figure, poolsChart, timelineChart } from "./charts.js";
import type { ReportedRound } from "./charts.js";
import { factRow, factsTable, figureOf, readingRows } from "./facts.js";
import type { Figure } from "./facts.js";
import { attribute, html } from "./html.js";
import type { Content, Markup } from "./html.js";
import { renderOrders } from "./orders.js";
import { renderPage } from "./page.js";
import { renderRehearsal } from "./rehearsal.js";
import { renderRounds } from "./rounds.js";

/** All that a report shows. */
export interface Report {
  readonly envelope: Envelope;
  /** The name of the set of contracts, where it is not the network's own. */
  readonly instance: string | undefined;
  readonly contracts: ReadonlyMap<ContractRole, LocatedAddress>;
  readonly snapshot: VaultSnapshot;
  readonly context: FormatContext;
  /** Undefined where nobody asked for them, as below. */
  readonly orders: readonly ListedOrder[] | undefined;
  readonly rounds: readonly ReportedRound[] | undefined;
  readonly rehearsal: ShownRehearsal | undefined;
}

/** A vault at one block, as one HTML document that needs nothing else. */
export function renderReport(report: Report): string {
  const { envelope, snapshot, context, orders, rounds, rehearsal } = report;
  const { network, block } = envelope;
  const round = isFailedReading(snapshot.round) ? undefined : snapshot.round;
  const rows = new Map(
    sectionsOf(snapshot).map((ofOne) => [
      ofOne.operation,
      readingRows(ofOne, context),
    ]),
  );
  const sections = [
    renderHeader(report),
    renderRound(report, rows.get("getLatestRoundInfo")),
    renderPools(report, rows.get("getLPAmountInfo")),
    section(
      "Rates and margins",
      // What has no chart: an operation that is new among them.
      factsTable(
        [...rows].flatMap(([name, ofOne]) =>
          name === "getLatestRoundInfo" || name === "getLPAmountInfo"
            ? []
            : ofOne,
        ),
      ),
    ),
    orders === undefined
      ? undefined
      : section("Orders", renderOrders(orders, round?.strikePrice, context)),
    rounds === undefined
      ? undefined
      : section("Rounds", renderRounds(rounds, envelope, context)),
    rehearsal === undefined
      ? undefined
      : section(
          "If the vault were settled now",
          renderRehearsal(rehearsal, envelope, context),
        ),
    renderContracts(report),
  ];
  return renderPage(
    `Vault report: ${network}, block ${block.number}`,
    html`<main>${sections}</main>
      ${renderFooter(report)}`,
  );
}

function section(title: string, content: Content): Markup {
  return html`<section>
    <h2>${title}</h2>
    ${content}
  </section> `;
}

function renderHeader({
  envelope: { network, chainId, block },
  instance,
  snapshot: { round },
  context,
  orders,
}: Report): Markup {
  const show = (
    name: "strikePrice" | "APY" | "endTime",
    value: bigint,
  ): Figure => figureOf(fieldOf("getLatestRoundInfo", name), value, context);
  const open = (orders ?? []).filter(
    (order) => !isFailedOrder(order) && order.state === OrderState.open,
  ).length;
  const tiles: Markup[] = isFailedReading(round)
    ? []
    : [
        tile("Strike price", show("strikePrice", round.strikePrice)),
        tile("APY", show("APY", round.APY)),
        tile("Filled", {
          text: describeShare(round.filledVolume, round.maxVolume),
        }),
        round.settled
          ? tile("Round", { text: "settled" })
          : tile("Round ends", countdown(show("endTime", round.endTime))),
      ];
  return html`<header>
    <h1>Vault report</h1>
    <ul class="where">
      <li>${network} (chain ${chainId})</li>
      ${instance === undefined ? undefined : html`<li>instance ${instance}</li>`}
      <li>block ${groupDigits(String(block.number))}</li>
      <li>${describeTime(BigInt(block.timestamp))}</li>
    </ul>
    <dl class="tiles">
      ${tiles}${orders === undefined ? undefined : tile("Open orders", { text: groupDigits(String(open)), note: "of those read" })}
    </dl>
  </header> `;
}

/** How long it is until then matters more than when that is. */
function countdown({ text, note, title }: Figure): Figure {
  return note === undefined
    ? { text, title }
    : { text: note, note: text, title };
}

function tile(label: string, { text, note, title }: Figure): Markup {
  return html`<div><dt>${label}</dt><dd${attribute("title", title)}>${text}${note === undefined ? undefined : html`<small>${note}</small>`}</dd></div>
`;
}

function renderRound(
  { snapshot: { round }, envelope }: Report,
  rows: Content,
): Markup {
  return section(
    "Latest round",
    html`<div class="beside">
      ${factsTable(rows)}${
        isFailedReading(round)
          ? undefined
          : figure(
              "How far the round has come",
              html`<i class="key fill"></i>time passed, volume filled`,
              timelineChart(round, envelope.block),
            )
      }
    </div> `,
  );
}

function renderPools({ snapshot }: Report, rows: Content): Markup {
  const pools = Object.entries(snapshot.pools).flatMap(([name, amounts]) =>
    isFailedReading(amounts) ? [] : [[capitalize(name), amounts] as const],
  );
  return section(
    operationEntry("getLPAmountInfo").title,
    html`<div class="beside">
      ${factsTable(rows)}${figure(
        "Locked of what is deposited",
        html`<i class="key fill"></i>locked<i class="key rest"></i>available`,
        poolsChart(pools),
      )}
    </div> `,
  );
}

function renderContracts({ contracts }: Report): Markup {
  return section(
    "Contracts",
    factsTable(
      [...contracts].map(([role, { address }]) =>
        factRow(capitalize(contractRoles[role].label), {
          text: html`<code>${address}</code>`,
        }),
      ),
    ),
  );
}

function renderFooter({ context, orders }: Report): Markup {
  const fields = readOperationNames
    .filter((name) => isStandalone(name) || orders !== undefined)
    .flatMap((name) => operationEntry(name).outputs);
  const notes = [
    ...notesOn(fields, context),
    "Figures carry their integer, as on the wire, as a tooltip.",
    "This page loads nothing and sends nothing.",
  ];
  return html`<footer>${notes.map((note) => html`<p>${note}</p> `)}</footer> `;
}

/** How many of the readings and orders could not be read. */
export function countFailures({ snapshot, orders = [] }: Report): number {
  return (
    failuresOf(sectionsOf(snapshot)).length +
    orders.filter(isFailedOrder).length
  );
}
