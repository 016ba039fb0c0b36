import { capitalize } from "@nomicfoundation/hardhat-utils/string";

import { contractRoles, groupDigits } from "../../src/protocol/index.js";
import type { Field } from "../../src/protocol/index.js";
import { describeTime } from "../../src/protocol/time.js";
import { fieldsOf } from "../../src/simulation/compare-readings.js";
import type { TokenDescription } from "../../src/simulation/describe-tokens.js";
import type { Simulated } from "../../src/simulation/simulate-settle-all.js";
import { NATIVE } from "../../src/simulation/transfers.js";
import type {
  ReadingChange,
  ReadingValue,
  Simulation,
  SimulationEngine,
  Transfer,
} from "../../src/simulation/types.js";
import { escapeUntrusted } from "../../src/untrusted-text.js";
import {
  NATIVE_DECIMALS,
  describeCount,
  formatValue,
  scale,
} from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { renderHeading } from "./heading.js";
import type { Envelope } from "./heading.js";
import { renderNotes } from "./readings.js";
import type { Style, View } from "./style.js";
import {
  knownFacts,
  renderFacts,
  renderTitledTable,
  wrapText,
} from "./table.js";
import type { Column, Fact } from "./table.js";

/** A simulated settlement, and what its tokens say of themselves. */
export interface ShownSimulation extends Simulated {
  readonly tokens: ReadonlyMap<string, TokenDescription>;
}

/** A simulated settlement for a person. */
export function renderSimulation(
  shown: ShownSimulation,
  envelope: Envelope,
  view: View,
): string {
  const { simulation } = shown;
  return [
    `${renderHeading("Simulated settlement", envelope, view)}\n${renderFacts(outcomeFacts(shown, view), view)}`,
    ...renderChanges(shown, view),
    ...unchangedOrders(shown),
    ...renderTitledTable(
      "Balances",
      [...beforeAndAfter("account"), { heading: "difference", align: "right" }],
      balanceRows(shown),
      view,
    ),
    ...renderTransfers(shown, view),
    [
      ...renderNotes(
        simulation.changes.flatMap(
          ({ reading, field }) => describeField(reading, field) ?? [],
        ),
        view,
      ),
      ...[...simulation.notes, `Nothing was sent to ${envelope.network}.`].map(
        (note) => wrapText(view.dim(escapeUntrusted(note)), view),
      ),
    ].join("\n"),
  ].join("\n\n");
}

/** What changes and what moves, as `vault settle` shows it too. */
export function renderEffect(shown: Effect, view: View): readonly string[] {
  return [...renderChanges(shown, view), ...renderTransfers(shown, view)];
}

type Effect = Pick<
  ShownSimulation,
  "simulation" | "sender" | "contracts" | "tokens"
>;

function beforeAndAfter(what: string): readonly Column[] {
  return [
    { heading: what },
    { heading: "before", align: "right" },
    { heading: "after", align: "right" },
  ];
}

function renderChanges({ simulation }: Effect, view: View): readonly string[] {
  return renderTitledTable(
    "Readings",
    [...beforeAndAfter("reading"), { heading: "" }],
    simulation.changes.map((change) => changeRow(change, view)),
    view,
  );
}

/** Of orders that were asked about, silence would say nothing. */
function unchangedOrders({
  simulation: { changes, status },
  ordersRead,
}: ShownSimulation): readonly string[] {
  const isChanged = changes.some(({ reading }) =>
    reading.startsWith("orders."),
  );
  return ordersRead === 0 || isChanged || status === "nothing-to-do"
    ? []
    : [`${describeCount(ordersRead, "order")} watched, and none changes.`];
}

/** How it ended, by whom, where and by what. */
export function outcomeFacts(
  { simulation, sender }: Pick<ShownSimulation, "simulation" | "sender">,
  style: Pick<Style, "good" | "bad">,
): readonly Fact[] {
  const { status, reason, engine, gasUsed, block } = simulation;
  const reasonText = escapeUntrusted(reason ?? "");
  const outcome = {
    settled: style.good("settled"),
    "not-settled": style.bad(`not settled: ${reasonText}`),
    reverted: style.bad(`reverted: ${reasonText}`),
    "nothing-to-do": `nothing to do: ${reasonText}`,
  }[status];
  return knownFacts([
    ["Outcome", outcome],
    [status === "settled" ? "Settled by" : "Called by", sender],
    ["Gas used", groupDigits(String(gasUsed ?? ""))],
    [
      "In block",
      block === null
        ? ""
        : `${block.number}, ${describeTime(BigInt(block.timestamp))}`,
    ],
    ["Executed by", engineNames[engine]],
  ]);
}

export const engineNames: Readonly<Record<SimulationEngine, string>> = {
  simulateV1: "the node (eth_simulateV1)",
  call: "the node (eth_call with code at the sender)",
  fork: "a fork in this process",
  "in-process": "the in-process network, and undone",
};

/** What moves: the amount, from whom and to whom. */
export function transferRows(shown: Effect): ReadonlyArray<readonly string[]> {
  const { simulation, tokens } = shown;
  return (simulation.transfers ?? []).map(({ token, from, to, amount }) => {
    const { show, unit } = describeToken(token, tokens);
    return [
      `${show(amount)} ${unit}`,
      nameAccount(from, shown),
      nameAccount(to, shown),
    ];
  });
}

function renderTransfers(shown: Effect, style: Style): readonly string[] {
  return renderTitledTable(
    "Transfers",
    [
      { heading: "amount", align: "right" },
      { heading: "from" },
      { heading: "to" },
    ],
    transferRows(shown),
    style,
  );
}

/** How a token's amounts are shown: by what it tells of itself, as far as it does. */
function describeToken(
  token: string,
  tokens: ShownSimulation["tokens"],
): { readonly show: (amount: bigint) => string; readonly unit: string } {
  const { symbol, decimals } =
    token === NATIVE
      ? { symbol: "native currency", decimals: NATIVE_DECIMALS }
      : (tokens.get(token) ?? { symbol: null, decimals: null });
  return {
    show: (amount) =>
      decimals === null
        ? `${groupDigits(amount.toString())} raw`
        : scale(amount, decimals),
    unit: escapeUntrusted(symbol ?? token),
  };
}

/** Whose address it is, where that is known. */
function nameAccount(account: string, { sender, contracts }: Effect): string {
  const role = contracts.find(({ address }) => address === account)?.role;
  return role === undefined
    ? account === sender
      ? "sender"
      : account
    : `${contractRoles[role].label} contract`;
}

/** A reading's field, before and after, and a note. */
export function changeRow(
  { reading, field, before, after }: ReadingChange,
  context: FormatContext,
): readonly string[] {
  const described = describeField(reading, field);
  const label = capitalize(
    `${reading} ${described?.label.toLowerCase() ?? field}`,
  );
  if (described === undefined) {
    return [label, showCode(before), showCode(after), ""];
  }
  const { text, note = "" } = formatValue(described, after, context);
  return [label, formatValue(described, before, context).text, text, note];
}

/** Of a reading that fails before or after, there is only the error's code. */
function showCode(code: ReadingValue): string {
  return code === null ? "no error" : String(code);
}

function describeField(reading: string, field: string): Field | undefined {
  return fieldsOf(reading).find(({ name }) => name === field);
}

/** Whose balance of what, before, after and the difference. */
export function balanceRows(shown: Effect): ReadonlyArray<readonly string[]> {
  const { simulation, tokens } = shown;
  return simulation.balances.map(({ account, token, before, after }) => {
    const { show, unit } = describeToken(token, tokens);
    return [
      capitalize(`${nameAccount(account, shown)}, ${unit}`),
      show(before),
      show(after),
      after < before
        ? `-${show(before - after)}`
        : `${after > before ? "+" : ""}${show(after - before)}`,
    ];
  });
}

/** A simulation for a JSON document, each transfer with its token's own words. */
export function describeTransfers<Found extends Simulation>(
  simulation: Found,
  tokens: ReadonlyMap<string, TokenDescription>,
): Omit<Found, "transfers"> & {
  readonly transfers: ReadonlyArray<Transfer & TokenDescription> | null;
} {
  const none = { symbol: null, decimals: null };
  return {
    ...simulation,
    transfers:
      simulation.transfers?.map((transfer) => ({
        ...transfer,
        ...(tokens.get(transfer.token) ?? none),
      })) ?? null,
  };
}
