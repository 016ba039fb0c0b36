import { isFailedOrder } from "../../src/client/index.js";
import type { ListedOrder, PastRound } from "../../src/client/index.js";
import type { LocatedAddress } from "../../src/client/addresses.js";
import { isFailedReading } from "../../src/client/failed-reading.js";
import type { VaultSnapshot } from "../../src/client/snapshot.js";
import {
  OrderState,
  contractRoles,
  isStandalone,
  operationEntry,
  operations,
  readOperationNames,
} from "../../src/protocol/index.js";
import type { ContractRole } from "../../src/protocol/index.js";
import { describeShare } from "../output/bar.js";
import { groupDigits, notesOn } from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import type { Envelope } from "../output/heading.js";
import type { ShownRehearsal } from "../output/simulation.js";
import { formatTimestamp } from "../output/time.js";
import { figure, poolsChart, timelineChart } from "./charts.js";
import { capitalise, factsTable, figureOf, readingRows } from "./facts.js";
import { html } from "./html.js";
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
  readonly rounds: readonly PastRound[] | undefined;
  readonly rehearsal: ShownRehearsal | undefined;
}

/** A vault at one block, as one HTML document that needs nothing else. */
export function renderReport(report: Report): string {
  const { envelope, snapshot, context, orders, rounds, rehearsal } = report;
  const { network, block } = envelope;
  const round = isFailedReading(snapshot.round) ? undefined : snapshot.round;
  const shownOrders =
    orders === undefined
      ? undefined
      : renderOrders(orders, round?.strikePrice, context);
  const sections = [
    renderHeader(report),
    renderRound(report),
    renderPools(report),
    section("Rates and margins", factsTable(otherReadings(report))),
    shownOrders === undefined
      ? undefined
      : section("Orders", shownOrders.content),
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
    shownOrders?.style ?? "",
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
  const fields = operations.getLatestRoundInfo.outputs;
  const [strikePrice, apy] = fields;
  const end = fields.find(({ name }) => name === "endTime");
  const open = (orders ?? []).filter(
    (order) => !isFailedOrder(order) && order.state === OrderState.OPEN,
  ).length;
  const tiles: Markup[] = isFailedReading(round)
    ? []
    : [
        tile("Strike price", figureOf(strikePrice, round.strikePrice, context)),
        tile("APY", figureOf(apy, round.APY, context)),
        tile("Filled", {
          text: describeShare(round.filledVolume, round.maxVolume),
        }),
        round.settled || end === undefined
          ? tile("Round", { text: "settled" })
          : tile(
              "Round ends",
              countdown(figureOf(end, round.endTime, context)),
            ),
      ];
  return html`<header>
    <h1>Vault report</h1>
    <ul class="where">
      <li>${network} (chain ${chainId})</li>
      ${instance === undefined ? undefined : html`<li>instance ${instance}</li>`}
      <li>block ${groupDigits(String(block.number))}</li>
      <li>${formatTimestamp(BigInt(block.timestamp))}</li>
    </ul>
    <dl class="tiles">
      ${tiles}${orders === undefined ? undefined : tile("Open orders", { text: groupDigits(String(open)), note: "of those shown" })}
    </dl>
  </header> `;
}

interface TileValue {
  readonly text: string;
  readonly note?: string;
  readonly title?: Content;
}

/** How long it is until then matters more than when that is. */
function countdown({ text, note, title }: TileValue): TileValue {
  return note === undefined
    ? { text, title }
    : { text: note, note: text, title };
}

function tile(label: string, { text, note, title }: TileValue): Markup {
  return html`<div><dt>${label}</dt><dd${title}>${text}${note === undefined ? undefined : html`<small>${note}</small>`}</dd></div>
`;
}

function renderRound({ snapshot, envelope, context }: Report): Markup {
  const { round } = snapshot;
  return section(
    "Latest round",
    html`<div class="beside">
      ${factsTable(readingRows("getLatestRoundInfo", snapshot, context))}${
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

function renderPools({ snapshot, context }: Report): Markup {
  const pools = Object.entries(snapshot.pools).flatMap(([name, amounts]) =>
    isFailedReading(amounts) ? [] : [[capitalise(name), amounts] as const],
  );
  return section(
    operationEntry("getLPAmountInfo").title,
    html`<div class="beside">
      ${factsTable(readingRows("getLPAmountInfo", snapshot, context))}${figure(
        "Locked of what is deposited",
        html`<i class="key fill"></i>locked<i class="key rest"></i>available`,
        poolsChart(pools),
      )}
    </div> `,
  );
}

/** What has no chart: an operation that is new among them. */
function otherReadings({ snapshot, context }: Report): readonly Markup[] {
  return readOperationNames
    .filter(isStandalone)
    .filter(
      (name) => name !== "getLatestRoundInfo" && name !== "getLPAmountInfo",
    )
    .flatMap((operation) => readingRows(operation, snapshot, context));
}

function renderContracts({ contracts }: Report): Markup {
  return section(
    "Contracts",
    factsTable(
      [...contracts].map(
        ([role, { address }]) =>
          html`<tr>
            <th scope="row">${capitalise(contractRoles[role].label)}</th>
            <td><code>${address}</code></td>
          </tr> `,
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
  const readings = Object.values(snapshot).flatMap((value): unknown[] =>
    isFailedReading(value) || typeof value !== "object"
      ? [value]
      : Object.values(value),
  );
  return (
    readings.filter(isFailedReading).length +
    orders.filter(isFailedOrder).length
  );
}
