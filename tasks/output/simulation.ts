import {
  contractRoles,
  operationEntry,
  standaloneReadings,
} from "../../src/protocol/index.js";
import type { Field } from "../../src/protocol/index.js";
import { NATIVE } from "../../src/rehearsal/balances.js";
import type { TokenDescription } from "../../src/rehearsal/describe-tokens.js";
import type { Rehearsed } from "../../src/rehearsal/simulate-settle-all.js";
import type {
  ReadingChange,
  ReadingValue,
  RehearsalEngine,
} from "../../src/rehearsal/types.js";
import { escapeUntrusted } from "../../src/untrusted-text.js";
import {
  describeCount,
  formatNative,
  formatValue,
  groupDigits,
  scale,
  shortenAddress,
} from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { renderHeading } from "./heading.js";
import type { Envelope } from "./heading.js";
import { renderNotes } from "./readings.js";
import type { Style } from "./style.js";
import { renderFacts, renderTable, wrapText } from "./table.js";
import type { Fact } from "./table.js";
import { formatTimestamp } from "./time.js";

/** A rehearsed settlement, and what its tokens say of themselves. */
export interface ShownRehearsal extends Rehearsed {
  readonly tokens: ReadonlyMap<string, TokenDescription>;
  /** How many orders were watched. */
  readonly orders: number;
}

/** A simulated settlement for a person. */
export function renderSimulation(
  shown: ShownRehearsal,
  envelope: Envelope,
  context: FormatContext,
  style: Style,
): string {
  const { simulation } = shown;
  return [
    `${renderHeading("Simulated settlement", envelope, style)}\n${renderOutcome(shown, style)}`,
    ...section(
      "Readings",
      "",
      simulation.changes.map((change) => changeRow(change, context)),
      style,
    ),
    ...unchangedOrders(shown),
    ...section("Balances", "difference", balanceRows(shown), style),
    ...renderTransfers(shown, style),
    [
      ...renderNotes(changedFields(simulation), context, style),
      ...[...simulation.notes, `Nothing was sent to ${envelope.network}.`].map(
        (note) => wrapText(style.dim(escapeUntrusted(note)), style),
      ),
    ].join("\n"),
  ].join("\n\n");
}

/** What changes and what moves, as `vault settle` shows it too. */
export function renderEffect(
  shown: Effect,
  context: FormatContext,
  style: Style,
): readonly string[] {
  return [
    ...section(
      "Readings",
      "",
      shown.simulation.changes.map((change) => changeRow(change, context)),
      style,
    ),
    ...renderTransfers(shown, style),
  ];
}

type Effect = Pick<
  ShownRehearsal,
  "simulation" | "sender" | "contracts" | "tokens"
>;

function changedFields({ changes }: Rehearsed["simulation"]): readonly Field[] {
  return changes.flatMap(
    ({ reading, field }) => describeField(reading, field) ?? [],
  );
}

/** Of orders that were asked about, silence would say nothing. */
function unchangedOrders({
  simulation: { changes, status },
  orders,
}: ShownRehearsal): readonly string[] {
  const isChanged = changes.some(({ reading }) =>
    reading.startsWith("orders."),
  );
  return orders === 0 || isChanged || status === "nothing-to-do"
    ? []
    : [`${describeCount(orders, "order")} watched, and none changes.`];
}

function renderOutcome(shown: ShownRehearsal, style: Style): string {
  return renderFacts(outcomeFacts(shown, style), style);
}

/** How it ended, by whom, where and by what. */
export function outcomeFacts(
  { simulation, sender }: Pick<ShownRehearsal, "simulation" | "sender">,
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
  return [
    ["Outcome", outcome],
    [status === "settled" ? "Settled by" : "Called by", sender],
    ...(gasUsed === null
      ? []
      : [["Gas used", groupDigits(gasUsed.toString())] satisfies Fact]),
    ...(block === null
      ? []
      : [
          [
            "In block",
            `${block.number}, ${formatTimestamp(BigInt(block.timestamp))}`,
          ] satisfies Fact,
        ]),
    ["Executed by", engineNames[engine]],
  ];
}

export const engineNames: Readonly<Record<RehearsalEngine, string>> = {
  simulateV1: "the node (eth_simulateV1)",
  call: "the node (eth_call with code at the sender)",
  fork: "a fork in this process",
  "in-process": "the in-process network, and undone",
};

/** What moves: the amount, from whom and to whom. */
export function transferRows({
  simulation,
  tokens,
  sender,
  contracts,
}: Effect): ReadonlyArray<readonly string[]> {
  return (simulation.transfers ?? []).map(({ token, from, to, amount }) => [
    formatAmount(token, amount, tokens),
    nameAccount(from, sender, contracts),
    nameAccount(to, sender, contracts),
  ]);
}

function renderTransfers(shown: Effect, style: Style): readonly string[] {
  const rows = transferRows(shown);
  return rows.length === 0
    ? []
    : [
        `${style.title("Transfers")}\n${renderTable(
          [
            { heading: "amount", align: "right" },
            { heading: "from", shorten: shortenIfAddress },
            { heading: "to", shorten: shortenIfAddress },
          ],
          rows,
          style,
        )}`,
      ];
}

/** An account may also be named. */
function shortenIfAddress(account: string): string {
  return account.startsWith("0x") ? shortenAddress(account) : account;
}

/** An amount by the token's own decimals and symbol, where it tells them. */
function formatAmount(
  token: string,
  amount: bigint,
  tokens: ShownRehearsal["tokens"],
): string {
  if (token === NATIVE) {
    return `${formatNative(amount)} native currency`;
  }
  const { symbol, decimals } = tokens.get(token) ?? {};
  const figure =
    decimals === undefined
      ? `${groupDigits(amount.toString())} raw`
      : scale(amount, decimals);
  return `${figure} ${symbol === undefined ? token : escapeUntrusted(symbol)}`;
}

/** Whose address it is, where that is known. */
function nameAccount(
  account: string,
  sender: string,
  contracts: ShownRehearsal["contracts"],
): string {
  const role = contracts.find(({ address }) => address === account)?.role;
  return role === undefined
    ? account === sender
      ? "sender"
      : account
    : `${contractRoles[role].label} contract`;
}

function section(
  title: string,
  last: string,
  rows: ReadonlyArray<readonly string[]>,
  style: Style,
): readonly string[] {
  return rows.length === 0
    ? []
    : [
        `${style.title(title)}\n${renderTable(
          [
            { heading: "" },
            { heading: "before", align: "right" },
            { heading: "after", align: "right" },
            { heading: last, align: last === "" ? "left" : "right" },
          ],
          rows,
          style,
        )}`,
      ];
}

/** A reading's field, before and after, and a note. */
export function changeRow(
  { reading, field, before, after }: ReadingChange,
  context: FormatContext,
): readonly string[] {
  const described = describeField(reading, field);
  const label = `${reading} ${described?.label.toLowerCase() ?? field}`;
  if (described === undefined) {
    return [capitalise(label), showCode(before), showCode(after), ""];
  }
  const shown = formatValue(described, after, context);
  return [
    capitalise(label),
    formatValue(described, before, context).text,
    shown.text,
    shown.note ?? "",
  ];
}

/** Of a reading that fails before or after, there is only the error's code. */
function showCode(code: ReadingValue): string {
  return code === null ? "no error" : String(code);
}

function capitalise(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function describeField(reading: string, field: string): Field | undefined {
  const operation =
    standaloneReadings.find(({ path }) => path.join(".") === reading)
      ?.operation ?? "getOrderInfo";
  return operationEntry(operation).outputs.find(({ name }) => name === field);
}

/** Whose balance of what, before, after and the difference. */
export function balanceRows({
  simulation,
  sender,
  contracts,
  tokens,
}: ShownRehearsal): ReadonlyArray<readonly string[]> {
  return simulation.balances.map(({ account, token, before, after }) => {
    const { symbol, decimals } = tokens.get(token) ?? {};
    const show = (amount: bigint): string =>
      token === NATIVE
        ? formatNative(amount)
        : decimals === undefined
          ? `${groupDigits(amount.toString())} raw`
          : scale(amount, decimals);
    const unit =
      token === NATIVE
        ? "native currency"
        : symbol === undefined
          ? token
          : escapeUntrusted(symbol);
    return [
      capitalise(`${nameAccount(account, sender, contracts)}, ${unit}`),
      show(before),
      show(after),
      after < before
        ? `-${show(before - after)}`
        : `${after > before ? "+" : ""}${show(after - before)}`,
    ];
  });
}
