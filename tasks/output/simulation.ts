import { formatUnits } from "ethers";

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
import { formatValue, groupDigits } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { renderHeading } from "./heading.js";
import type { Envelope } from "./heading.js";
import type { Style } from "./style.js";
import { alignColumns, renderFacts, renderTable, wrapText } from "./table.js";
import type { Fact } from "./table.js";
import { formatTimestamp } from "./time.js";

/** Decimals of a chain's own currency, on every EVM chain. */
const NATIVE_DECIMALS = 18;

/** A rehearsed settlement, and what its tokens say of themselves. */
export interface ShownRehearsal extends Rehearsed {
  readonly tokens: ReadonlyMap<string, TokenDescription>;
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
      simulation.changes.map((change) => changeRow(change, context, style)),
      style,
    ),
    ...section("Balances", balanceRows(shown), style),
    ...renderTransfers(shown, style),
    ...(simulation.notes.length === 0
      ? []
      : [
          simulation.notes
            .map((note) => wrapText(escapeUntrusted(note), style))
            .map((note) => style.dim(note))
            .join("\n"),
        ]),
    style.dim(`Nothing was sent to ${escapeUntrusted(envelope.network)}.`),
  ].join("\n\n");
}

function renderOutcome(
  { simulation, sender }: ShownRehearsal,
  style: Style,
): string {
  const { status, reason, engine, gasUsed, block } = simulation;
  const reasonText = escapeUntrusted(reason ?? "");
  const outcome = {
    settled: style.good("settled"),
    "not-settled": style.bad(`not settled: ${reasonText}`),
    reverted: style.bad(`reverted: ${reasonText}`),
    "nothing-to-do": `nothing to do: ${reasonText}`,
  }[status];
  return renderFacts(
    [
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
    ],
    style,
  );
}

const engineNames: Readonly<Record<RehearsalEngine, string>> = {
  simulateV1: "the node (eth_simulateV1)",
  call: "the node (eth_call with code at the sender)",
  fork: "a fork in this process",
  "in-process": "the in-process network, and undone",
};

function renderTransfers(
  { simulation, tokens, sender, contracts }: ShownRehearsal,
  style: Style,
): readonly string[] {
  const rows = (simulation.transfers ?? []).map(
    ({ token, from, to, amount }) => [
      formatAmount(token, amount, tokens),
      nameAccount(from, sender, contracts),
      nameAccount(to, sender, contracts),
    ],
  );
  return rows.length === 0
    ? []
    : [
        renderTable(
          [{ heading: "Transfers" }, { heading: "from" }, { heading: "to" }],
          rows,
          style,
        ),
      ];
}

/** An amount by the token's own decimals and symbol, where it tells them. */
function formatAmount(
  token: string,
  amount: bigint,
  tokens: ShownRehearsal["tokens"],
): string {
  if (token === NATIVE) {
    return `${formatUnits(amount, NATIVE_DECIMALS)} native currency`;
  }
  const { symbol, decimals } = tokens.get(token) ?? {};
  const figure =
    decimals === undefined
      ? `${groupDigits(amount.toString())} raw`
      : formatUnits(amount, decimals);
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
  rows: ReadonlyArray<readonly string[]>,
  style: Style,
): readonly string[] {
  return rows.length === 0
    ? []
    : [
        alignColumns([
          [style.title(title), style.dim("before"), style.dim("after"), ""],
          ...rows.map((row) => [...row, ""].slice(0, 4)),
        ]),
      ];
}

function changeRow(
  { reading, field, before, after }: ReadingChange,
  context: FormatContext,
  style: Style,
): readonly string[] {
  const described = describeField(reading, field);
  const label = `${reading} ${described?.label.toLowerCase() ?? field}`;
  if (described === undefined) {
    return [capitalise(label), showCode(before), showCode(after)];
  }
  const shown = formatValue(described, after, context);
  return [
    capitalise(label),
    formatValue(described, before, context).text,
    shown.text,
    style.dim(shown.note ?? ""),
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

function balanceRows({
  simulation,
  sender,
  contracts,
  tokens,
}: ShownRehearsal): ReadonlyArray<readonly string[]> {
  return simulation.balances.map(({ account, token, before, after }) => {
    const { symbol, decimals } = tokens.get(token) ?? {};
    const show = (amount: bigint): string =>
      token === NATIVE
        ? formatUnits(amount, NATIVE_DECIMALS)
        : decimals === undefined
          ? amount.toString()
          : formatUnits(amount, decimals);
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
    ];
  });
}
