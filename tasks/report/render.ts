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
import {
  describeShare,
  fieldOf,
  formatValue,
  notesOn,
} from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import type { Cell } from "../output/blocks.js";
import type { Envelope } from "../output/heading.js";
import { factsOf } from "../output/readings.js";
import type { ShownSimulation } from "../output/simulation.js";
import { failuresOf, sectionsOf } from "../output/status-sections.js";
import type { StatusSection } from "../output/status-sections.js";
import type { ReportedRound } from "./charts.js";
import { html } from "./html.js";
import type { Content, Markup } from "./html.js";
import { renderOrders } from "./orders.js";
import { renderPage } from "./page.js";
import { renderSimulationPage } from "./simulation.js";
import { renderRounds } from "./rounds.js";
import { factsTable } from "./table.js";
import type { Fact } from "./table.js";

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
  readonly simulation: ShownSimulation | undefined;
}

/** A vault at one block, as one self-contained HTML document. */
export function renderReport(report: Report): string {
  const { envelope, snapshot, context, orders, rounds, simulation } = report;
  const { network, block } = envelope;
  const strike = isFailedReading(snapshot.round)
    ? undefined
    : snapshot.round.strikePrice;
  const sections = [
    renderHeader(report),
    section(
      "Readings",
      sectionsOf(snapshot).map((one) => renderReadings(one, context)),
    ),
    orders === undefined
      ? undefined
      : section("Orders", renderOrders(orders, strike, context)),
    rounds === undefined
      ? undefined
      : section("Rounds", renderRounds(rounds, envelope, context)),
    simulation === undefined
      ? undefined
      : section(
          "If the vault were settled now",
          renderSimulationPage(simulation, envelope, context),
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
  const show = (name: "strikePrice" | "APY" | "endTime", value: bigint): Cell =>
    formatValue(fieldOf("getLatestRoundInfo", name), value, context);
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
function countdown({ text, note }: Cell): Cell {
  return note === undefined ? { text } : { text: note, note: text };
}

function tile(label: string, { text, note }: Cell): Markup {
  return html`<div>
    <dt>${label}</dt>
    <dd>
      ${text}${note === undefined ? undefined : html`<small>${note}</small>`}
    </dd>
  </div> `;
}

/** All that one operation returns; a failure is shown in its place. */
function renderReadings(
  { operation, readings }: StatusSection,
  context: FormatContext,
): Markup {
  const { title } = operationEntry(operation);
  return html`<h3>${title}</h3>
    ${factsTable(
      readings.flatMap((reading): readonly Fact[] => {
        const { variant = title, value } = reading;
        return isFailedReading(value)
          ? [
              [
                capitalize(variant),
                html`<span class="bad"
                  >failed: ${value.error.shortMessage}</span
                >`,
              ],
            ]
          : factsOf(operation, reading, context);
      }),
    )}`;
}

function renderContracts({ contracts }: Report): Markup {
  return section(
    "Contracts",
    factsTable(
      [...contracts].map(([role, { address }]) => [
        capitalize(contractRoles[role].label),
        html`<code>${address}</code>`,
      ]),
    ),
  );
}

function renderFooter({ context, orders }: Report): Markup {
  const fields = readOperationNames
    .filter((name) => isStandalone(name) || orders !== undefined)
    .flatMap((name) => operationEntry(name).outputs);
  const notes = [
    ...notesOn(fields, context),
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
