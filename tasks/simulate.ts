import { capitalize } from "@nomicfoundation/hardhat-utils/string";

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
import { simulateSettleAll } from "../src/simulation/simulate.js";
import type {
  SimulateSettleAllOptions,
  Simulated,
} from "../src/simulation/simulate.js";
import { NATIVE, describeTokens } from "../src/simulation/tokens.js";
import type {
  BalanceChange,
  ReadingChange,
  Simulation,
  SimulationEngine,
  TokenDescription,
  Transfer,
} from "../src/simulation/types.js";
import { tasks } from "./definitions.js";
import { readAction, selectedNetwork } from "./open-vault.js";
import {
  labelledValues,
  notes,
  section,
  table,
  title,
  toned,
} from "./output/blocks.js";
import type { Block, Content } from "./output/blocks.js";
import { formatValue } from "./output/format-value.js";
import type { FormatContext } from "./output/format-value.js";
import { labelOf } from "./output/readings.js";

export default readAction(
  tasks.simulate,
  async (vault, args, { hre, terminal }) => {
    const { from, atTime, ids, tokens, block, hardfork, fork } = args;
    const { networkName: network, settings } = vault;
    terminal.progress(`Simulating a settlement of ${network}`);
    const shown = await simulateToShow(
      vault,
      {
        from,
        atTime,
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
      json: { ...envelope, simulation: withTokens(simulation, shown.tokens) },
      ok: ["settled", "nothing-to-do"].includes(simulation.status),
      blocks: [
        title("Simulated settlement", envelope),
        ...simulationBlocks(shown, network, context),
      ],
    };
  },
);

/** A simulated settlement, with symbol and decimals of its tokens. */
export interface ShownSimulation extends Simulated {
  readonly tokens: ReadonlyMap<string, TokenDescription>;
}

/** What the preview of a settlement has, too. */
type Effect = Pick<
  ShownSimulation,
  "simulation" | "sender" | "contracts" | "tokens"
>;

/** Simulates, and reads symbol and decimals of the tokens that move. */
export async function simulateToShow(
  vault: VaultHost,
  options: SimulateSettleAllOptions,
  findDefaultSender?: () => Promise<string>,
): Promise<ShownSimulation> {
  const simulated = await simulateSettleAll(vault, options, findDefaultSender);
  const { balances, transfers } = simulated.simulation;
  const moved = [...balances, ...(transfers ?? [])].map(({ token }) => token);
  const tokens = await describeTokens(vault, moved, simulated.pin);
  return { ...simulated, tokens };
}

export const engineNames: Readonly<Record<SimulationEngine, string>> = {
  simulateV1: "the node (eth_simulateV1)",
  fork: "a fork in this process",
  "in-process": "the in-process network, and undone",
};

export function simulationBlocks(
  shown: Effect & Pick<ShownSimulation, "ordersRead">,
  network: string,
  context: FormatContext,
): readonly Block[] {
  const { simulation, sender, ordersRead } = shown;
  const { status, reason, engine, guard, gasUsed, block } = simulation;
  const why = reason === null ? "" : `: ${escapeUntrusted(reason)}`;
  const outcome = status.replaceAll("-", " ") + why;
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
      ordersRead > 0 && ["Orders watched", String(ordersRead)],
    ]),
    ...effectBlocks(shown, context),
    notes(
      toned(
        "dim",
        `Nothing was sent to ${escapeUntrusted(network)}. Limits: "Simulating a settlement" in the documentation.`,
      ),
    ),
  ];
}

/** Changes, transfers and balances, and the remarks on them. */
export function effectBlocks(
  effect: Effect,
  context: FormatContext,
): readonly Block[] {
  const { changes, transfers, balances, notes: remarks } = effect.simulation;
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
        (transfers ?? []).map(({ token, from, to, amount }) => {
          const { show, unit } = describeToken(token, effect, context);
          const accounts = [from, to].map((one) => nameAccount(one, effect));
          return [`${show(amount)} ${unit}`, ...accounts];
        }),
      ),
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
        balances.map(({ account, token, before, after }) => {
          const { show, unit } = describeToken(token, effect, context);
          const name = capitalize(`${nameAccount(account, effect)}, ${unit}`);
          const difference =
            after < before
              ? `-${show(before - after)}`
              : `${after > before ? "+" : ""}${show(after - before)}`;
          return [name, show(before), show(after), difference];
        }),
      ),
    ),
    notes(...remarks.map((text) => toned("warn", escapeUntrusted(text)))),
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
