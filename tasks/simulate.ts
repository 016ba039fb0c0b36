import { capitalize } from "@nomicfoundation/hardhat-utils/string";

import { hasErrorCode } from "../src/errors.js";
import type { VaultHost } from "../src/host.js";
import { escapeUntrusted } from "../src/escape.js";
import { NATIVE_DECIMALS, scale } from "../src/protocol/amounts.js";
import {
  contractRoles,
  describeTime,
  groupDigits,
} from "../src/protocol/index.js";
import { findSender } from "../src/sending/signer.js";
import { readingFields } from "../src/simulation/watch-list.js";
import type { SimulateSettleAllOptions } from "../src/simulation/options.js";
import { simulateSettleAll } from "../src/simulation/simulate.js";
import type { Simulated } from "../src/simulation/simulate.js";
import { NATIVE, describeTokens } from "../src/simulation/tokens.js";
import type {
  BalanceChange,
  ReadingChange,
  Simulation,
  SimulationEngine,
  TokenDescription,
  Transfer,
} from "../src/simulation/types.js";
import { simulateTask } from "./definitions.js";
import { readAction } from "./open-vault.js";
import {
  labelledValues,
  notes,
  section,
  table,
  title,
  toned,
} from "./output/blocks.js";
import type { Block, Content } from "./output/blocks.js";
import { describeCount, formatValue } from "./output/format-value.js";
import type { FormatContext } from "./output/format-value.js";
import { labelOf } from "./output/readings.js";
import { selectedNetwork } from "./parse-options.js";
import { Time } from "./parsers.js";

export default readAction(
  simulateTask,
  async (vault, args, { hre, terminal }) => {
    const { from, atTime, ids, tokens, block, hardfork, fork } = args;
    const { networkName: network, settings } = vault;
    terminal.progress(`Simulating a settlement of ${network}`);
    const shown = await simulateToShow(
      vault,
      {
        from,
        atTime: atTime instanceof Time ? atTime.text : atTime,
        orders: ids,
        tokens,
        blockNumber: block,
        hardfork,
        engine: fork ? "fork" : undefined,
      },
      async () => await findSender(vault.rpc, selectedNetwork(hre).config),
    );
    const { simulation, chainId, block: start } = shown;
    const envelope = { network, chainId, block: start };
    const { timestamp: chainTime } = simulation.block ?? start;
    const context = { ...settings, chainTime, raw: false };
    return {
      json: {
        ...envelope,
        simulation: withTokens(simulation, shown.tokens),
      },
      ok: ["settled", "nothing-to-do"].includes(simulation.status),
      blocks: [
        title("Simulated settlement", envelope),
        ...simulationBlocks(shown, network, context),
      ],
    };
  },
);

/** Simulates, and reads symbol and decimals of the tokens that move. */
export async function simulateToShow(
  vault: VaultHost,
  options: SimulateSettleAllOptions,
  findDefaultSender?: () => Promise<string>,
): Promise<ShownSimulation> {
  const simulated = await simulateSettleAll(vault, options, findDefaultSender);
  const { simulation, pin } = simulated;
  const moved = [...simulation.balances, ...(simulation.transfers ?? [])];
  const addresses = moved.map(({ token }) => token);
  try {
    const tokens = await describeTokens(vault, addresses, pin);
    return { ...simulated, tokens };
  } catch (error) {
    if (
      !hasErrorCode(error, "VAULT_RPC_TIMEOUT", "VAULT_NETWORK_UNREACHABLE")
    ) {
      throw error;
    }
    const note = `Symbols and decimals of the tokens are not known: ${error.shortMessage}`;
    const described = { ...simulation, notes: [...simulation.notes, note] };
    return { ...simulated, simulation: described, tokens: new Map() };
  }
}

/** A simulated settlement, with symbol and decimals of its tokens. */
export interface ShownSimulation extends Simulated {
  readonly tokens: ReadonlyMap<string, TokenDescription>;
}

type Effect = Pick<
  ShownSimulation,
  "simulation" | "sender" | "contracts" | "tokens"
>;

export const engineNames: Readonly<Record<SimulationEngine, string>> = {
  simulateV1: "the node (eth_simulateV1)",
  fork: "a fork in this process",
  "in-process": "the in-process network, and undone",
};

export function simulationBlocks(
  shown: ShownSimulation,
  network: string,
  context: FormatContext,
): readonly Block[] {
  const { simulation, sender, ordersRead, kept } = shown;
  const { status, reason, engine, guard, gasUsed, block } = simulation;
  const why = reason === null ? "" : `: ${escapeUntrusted(reason)}`;
  const outcome = status.replaceAll("-", " ") + why;
  // `vault settle` refuses then: the note that lists these tokens is no remark.
  const isLoss = (note: string): boolean =>
    kept.length > 0 && note.includes(kept.join(", "));
  return [
    labelledValues([
      [
        "Outcome",
        status === "nothing-to-do"
          ? outcome
          : toned(status === "settled" ? "good" : "bad", outcome),
      ],
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
      ordersRead > 0 &&
        status !== "nothing-to-do" &&
        !simulation.changes.some(({ reading }) =>
          reading.startsWith("orders."),
        ) &&
        `${describeCount(ordersRead, "order")} watched; none changed.`,
    ),
    ...section("Balances", balancesTable(shown, context)),
    notes(
      ...[
        ...simulation.notes,
        `Nothing was sent to ${network}. Limits: "Simulating a settlement" in the documentation.`,
      ].map((text) =>
        toned(isLoss(text) ? "bad" : "dim", escapeUntrusted(text)),
      ),
    ),
  ];
}

/** Changes and transfers, for `vault simulate` and `vault settle`. */
export function effectBlocks(
  shown: Effect,
  context: FormatContext,
): readonly Block[] {
  const { changes, transfers } = shown.simulation;
  const rows = (transfers ?? []).map(({ token, from, to, amount }) => {
    const { show, unit } = describeToken(token, shown, context);
    const accounts = [from, to].map((one) => nameAccount(one, shown));
    return [`${show(amount)} ${unit}`, ...accounts];
  });
  return [
    ...section("Changes", changesTable(changes, context)),
    ...section(
      "Transfers",
      table(
        [
          { heading: "Amount", align: "right" },
          { heading: "From" },
          { heading: "To" },
        ],
        rows,
      ),
    ),
  ];
}

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

function changeRow(
  { reading, field, before, after }: ReadingChange,
  context: FormatContext,
): readonly Content[] {
  const [group = "", name] = reading.split(".");
  // As `status` names it; orders, which it has not, and the round by their kind.
  const variant =
    group === "orders" ? `order ${name}` : group === "round" ? group : name;
  const described = readingFields(reading).find((one) => one.name === field);
  if (described === undefined) {
    // A failed reading has only the code of its error.
    const codes = [before, after].map((code) => String(code ?? "no error"));
    return [capitalize(`${variant ?? reading} ${field}`), ...codes, ""];
  }
  const cell = formatValue(described, after, context);
  const earlier = formatValue(described, before, context);
  return [labelOf(described, variant), earlier, cell, cell.note ?? ""];
}

function balancesTable(shown: Effect, context: FormatContext): Block {
  return table(
    [
      { heading: "Account" },
      { heading: "Before", align: "right" },
      { heading: "After", align: "right" },
      { heading: "Difference", align: "right" },
    ],
    shown.simulation.balances.map(({ account, token, before, after }) => {
      const { show, unit } = describeToken(token, shown, context);
      const name = capitalize(`${nameAccount(account, shown)}, ${unit}`);
      const difference =
        after < before
          ? `-${show(before - after)}`
          : `${after > before ? "+" : ""}${show(after - before)}`;
      return [name, show(before), show(after), difference];
    }),
  );
}

/**
 * Scales a token's amounts, if the token has decimals, and names it. A symbol is a text of
 * the token's contract, which can be that of another one: the address tells them apart.
 */
function describeToken(
  token: string,
  { tokens }: Effect,
  { raw }: FormatContext,
): { readonly show: (amount: bigint) => string; readonly unit: string } {
  const isNative = token === NATIVE;
  const { symbol = null, decimals = null } = tokens.get(token) ?? {};
  const scaledBy = isNative ? NATIVE_DECIMALS : decimals;
  const prefix = symbol === null ? "" : `${escapeUntrusted(symbol)} `;
  return {
    show: (amount) =>
      raw
        ? `${amount} raw`
        : scaledBy === null
          ? `${groupDigits(String(amount))} raw`
          : scale(amount, scaledBy),
    unit: isNative ? "native currency" : prefix + token,
  };
}

function nameAccount(account: string, { sender, contracts }: Effect): string {
  // Of several roles of one address, the vault's, which is last, settles.
  const role = contracts.findLast(({ address }) => address === account)?.role;
  return role !== undefined
    ? `${contractRoles[role].label} contract`
    : account === sender
      ? "sender"
      : account;
}

/** A simulation for JSON; balances and transfers get symbol and decimals of their token. */
export function withTokens<Found extends Simulation>(
  simulation: Found,
  tokens: ReadonlyMap<string, TokenDescription>,
): Found & {
  readonly balances: ReadonlyArray<BalanceChange & TokenDescription>;
  readonly transfers: ReadonlyArray<Transfer & TokenDescription> | null;
} {
  const describe = <Moved extends { readonly token: string }>(one: Moved) => ({
    ...one,
    ...(tokens.get(one.token) ?? { symbol: null, decimals: null }),
  });
  return {
    ...simulation,
    balances: simulation.balances.map(describe),
    transfers: simulation.transfers?.map(describe) ?? null,
  };
}
