import { formatUnits } from "ethers";

import {
  contractRoles,
  operationEntry,
  standaloneReadings,
} from "../../src/protocol/index.js";
import type { Field } from "../../src/protocol/index.js";
import type { LocatedSimulation } from "../../src/rehearsal/simulate-settle-all.js";
import type { ReadingChange, ReadingValue } from "../../src/rehearsal/types.js";
import { escapeUntrusted } from "../../src/untrusted-text.js";
import { formatValue } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { renderHeading } from "./heading.js";
import type { Envelope } from "./heading.js";
import type { Style } from "./style.js";
import { alignColumns } from "./table.js";
import { formatTimestamp } from "./time.js";

/** Decimals of a chain's own currency, on every EVM chain. */
const NATIVE_DECIMALS = 18;

/** A simulated settlement for a person. */
export function renderSimulation(
  located: LocatedSimulation,
  envelope: Envelope,
  context: FormatContext,
  style: Style,
): string {
  const { simulation } = located;
  return [
    `${renderHeading("Simulated settlement", envelope, style)}\n${renderOutcome(located, style)}`,
    ...section(
      "Readings",
      simulation.changes.map((change) => changeRow(change, context, style)),
      style,
    ),
    ...section("Balances", balanceRows(located), style),
    style.dim(`Nothing was sent to ${escapeUntrusted(envelope.network)}.`),
  ].join("\n\n");
}

function renderOutcome(
  { simulation, sender }: LocatedSimulation,
  style: Style,
): string {
  const { status, reason, gasUsed, block } = simulation;
  const reasonText = escapeUntrusted(reason ?? "");
  const outcome = {
    settled: reason === null ? style.good("settled") : style.warn(reasonText),
    reverted: style.bad(`reverted: ${reasonText}`),
    "nothing-to-do": `nothing to do: ${reasonText}`,
  }[status];
  return alignColumns([
    ["Outcome", outcome],
    ["Settled by", sender],
    ...(gasUsed === null ? [] : [["Gas used", gasUsed.toString()]]),
    ...(block === null
      ? []
      : [
          [
            "In block",
            `${block.number}, ${formatTimestamp(BigInt(block.timestamp))}`,
          ],
        ]),
  ]);
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
}: LocatedSimulation): ReadonlyArray<readonly string[]> {
  return simulation.balances.map(({ account, token, before, after }) => {
    const role = contracts.find(({ address }) => address === account)?.role;
    const owner =
      role === undefined
        ? account === sender
          ? "sender"
          : account
        : `${contractRoles[role].label} contract`;
    const show = (amount: bigint): string =>
      token === "native"
        ? formatUnits(amount, NATIVE_DECIMALS)
        : amount.toString();
    return [
      capitalise(`${owner}, ${token === "native" ? "native currency" : token}`),
      show(before),
      show(after),
    ];
  });
}
