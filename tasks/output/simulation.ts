import { capitalize } from "@nomicfoundation/hardhat-utils/string";

import { NATIVE_DECIMALS, scale } from "../../src/protocol/amounts.js";
import {
  contractRoles,
  describeTime,
  groupDigits,
} from "../../src/protocol/index.js";
import { readingFields } from "../../src/simulation/compare-readings.js";
import type { Simulated } from "../../src/simulation/simulate.js";
import { NATIVE } from "../../src/simulation/tokens.js";
import type {
  BalanceChange,
  ReadingChange,
  Simulation,
  SimulationEngine,
  TokenDescription,
  Transfer,
} from "../../src/simulation/types.js";
import { escapeUntrusted } from "../../src/escape.js";
import { labelledValues, notes, section, table, toned } from "./blocks.js";
import type { Block, Cell, Content } from "./blocks.js";
import { describeCount, formatValue } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { labelOf } from "./readings.js";

/** A simulated settlement, with symbol and decimals of its tokens. */
export interface ShownSimulation extends Simulated {
  readonly tokens: ReadonlyMap<string, TokenDescription>;
}

export function simulationBlocks(
  shown: ShownSimulation,
  network: string,
  context: FormatContext,
): readonly Block[] {
  const { simulation, sender } = shown;
  const { status, reason, engine, guard, gasUsed, block } = simulation;
  return [
    labelledValues([
      ["Outcome", describeOutcome(status, escapeUntrusted(reason ?? ""))],
      guard !== null && ["Guard", guard],
      [status === "settled" ? "Settled by" : "Called by", sender],
      gasUsed !== null && ["Gas used", groupDigits(String(gasUsed))],
      block !== null && [
        "In block",
        `${block.number}, ${describeTime(BigInt(block.timestamp))}`,
      ],
      ["Executed by", engineNames[engine]],
    ]),
    ...effectBlocks(shown, context),
    notes(
      areOrdersUnchanged(shown) &&
        `${describeCount(shown.ordersRead, "order")} watched; none changed.`,
    ),
    ...section(
      "Balances",
      table(
        [
          { heading: "Account" },
          { heading: "Before", align: "right" },
          { heading: "After", align: "right" },
          { heading: "Difference", align: "right" },
        ],
        balanceRows(shown, context),
      ),
    ),
    notes(
      ...[
        ...simulation.notes,
        `Nothing was sent to ${network}. Limits: "Simulating a settlement" in the documentation.`,
      ].map((text) => toned("dim", escapeUntrusted(text))),
    ),
  ];
}

function describeOutcome(status: Simulation["status"], reason: string): Cell {
  switch (status) {
    case "settled":
      return toned("good", "settled");
    case "not-settled":
      return toned("bad", `not settled: ${reason}`);
    case "reverted":
      return toned("bad", `reverted: ${reason}`);
    case "nothing-to-do":
      return { text: `nothing to do: ${reason}` };
  }
}

/** Changes and transfers, for `vault simulate` and `vault settle`. */
export function effectBlocks(
  shown: Effect,
  context: FormatContext,
): readonly Block[] {
  const { simulation, tokens } = shown;
  return [
    ...section("Changes", changesTable(simulation.changes, context)),
    ...section(
      "Transfers",
      table(
        [
          { heading: "Amount", align: "right" },
          { heading: "From" },
          { heading: "To" },
        ],
        (simulation.transfers ?? []).map(({ token, from, to, amount }) => {
          const { show, unit } = describeToken(token, tokens, context);
          return [
            `${show(amount)} ${unit}`,
            nameAccount(from, shown),
            nameAccount(to, shown),
          ];
        }),
      ),
    ),
  ];
}

type Effect = Pick<
  ShownSimulation,
  "simulation" | "sender" | "contracts" | "tokens"
>;

export function changesTable(
  changes: readonly ReadingChange[],
  context: FormatContext,
  [before, after]: readonly [string, string] = ["Before", "After"],
): Block {
  return table(
    [
      { heading: "Reading" },
      { heading: before, align: "right" },
      { heading: after, align: "right" },
      { heading: "Note" },
    ],
    changes.map((change) => changeRow(change, context)),
  );
}

/** False also if none is watched, or nothing was simulated. */
function areOrdersUnchanged({
  simulation: { changes, status },
  ordersRead,
}: ShownSimulation): boolean {
  return (
    ordersRead > 0 &&
    status !== "nothing-to-do" &&
    !changes.some(({ reading }) => reading.startsWith("orders."))
  );
}

export const engineNames: Readonly<Record<SimulationEngine, string>> = {
  simulateV1: "the node (eth_simulateV1)",
  fork: "a fork in this process",
  "in-process": "the in-process network, and undone",
};

/**
 * Scales a token's amounts, if the token has decimals, and names it. A symbol is a text of
 * the token's contract, which can be that of another one: the address tells them apart.
 */
function describeToken(
  token: string,
  tokens: ShownSimulation["tokens"],
  { raw }: FormatContext,
): { readonly show: (amount: bigint) => string; readonly unit: string } {
  const { symbol, decimals } =
    token === NATIVE
      ? { symbol: null, decimals: NATIVE_DECIMALS }
      : (tokens.get(token) ?? { symbol: null, decimals: null });
  return {
    show: (amount) =>
      raw
        ? `${amount} raw`
        : decimals === null
          ? `${groupDigits(amount.toString())} raw`
          : scale(amount, decimals),
    unit:
      token === NATIVE
        ? "native currency"
        : [symbol === null ? [] : escapeUntrusted(symbol), token]
            .flat()
            .join(" "),
  };
}

function nameAccount(account: string, { sender, contracts }: Effect): string {
  // Of several roles of one address, the vault's, which is last, settles.
  const role = contracts.findLast(({ address }) => address === account)?.role;
  return role === undefined
    ? account === sender
      ? "sender"
      : account
    : `${contractRoles[role].label} contract`;
}

/** As `status` names it; orders, which it has not, and the round by their kind. */
function variantOf(reading: string): string | undefined {
  const [group = "", name] = reading.split(".");
  return group === "orders"
    ? `order ${name}`
    : group === "round"
      ? group
      : name;
}

function changeRow(
  { reading, field, before, after }: ReadingChange,
  context: FormatContext,
): readonly Content[] {
  const described = readingFields(reading).find(({ name }) => name === field);
  const variant = variantOf(reading);
  const label =
    described === undefined
      ? capitalize(`${variant ?? reading} ${field}`)
      : labelOf(described, variant);
  if (described === undefined) {
    // A failed reading has only the code of its error.
    const codes = [before, after].map((code) => String(code ?? "no error"));
    return [label, ...codes, ""];
  }
  const cell = formatValue(described, after, context);
  const { note = "" } = cell;
  return [label, formatValue(described, before, context), cell, note];
}

function balanceRows(
  shown: Effect,
  context: FormatContext,
): ReadonlyArray<readonly string[]> {
  const { simulation, tokens } = shown;
  return simulation.balances.map(({ account, token, before, after }) => {
    const { show, unit } = describeToken(token, tokens, context);
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

/** A simulation for JSON; balances and transfers get symbol and decimals of their token. */
export function withTokens<Found extends Simulation>(
  simulation: Found,
  tokens: ReadonlyMap<string, TokenDescription>,
): Found & {
  readonly balances: ReadonlyArray<BalanceChange & TokenDescription>;
  readonly transfers: ReadonlyArray<Transfer & TokenDescription> | null;
} {
  const none = { symbol: null, decimals: null };
  const describe = <Moved extends { readonly token: string }>(one: Moved) => ({
    ...one,
    ...(tokens.get(one.token) ?? none),
  });
  return {
    ...simulation,
    balances: simulation.balances.map(describe),
    transfers: simulation.transfers?.map(describe) ?? null,
  };
}
