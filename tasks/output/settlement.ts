// The screens of a settlement and of a simulation.

import { capitalize } from "@nomicfoundation/hardhat-utils/string";

import { escapeUntrusted } from "../../src/foreign-text.js";
import {
  hasEnded,
  NATIVE_DECIMALS,
  NO_ROUND,
  scale,
} from "../../src/protocol/round.js";
import {
  contractRoles,
  describeTime,
  groupDigits,
} from "../../src/protocol/index.js";
import { signingKinds } from "../../src/sending/signer.js";
import { HOW_TO_REPLACE } from "../../src/settlement/next-run.js";
import type { Simulated } from "../../src/simulation/simulate.js";
import { NATIVE } from "../../src/simulation/tokens.js";
import {
  changesBetween,
  readingFields,
} from "../../src/simulation/watch-list.js";
import type {
  ReadingChange,
  Settlement,
  SettlementEvent,
  SettlementPreflight,
  Simulation,
} from "../../src/types.js";
import { pageOf } from "../run-task.js";
import {
  labelledValues,
  notes,
  present,
  section,
  table,
  title,
  toned,
} from "./screen.js";
import type { Part, Content, Envelope, LabelledValue } from "./screen.js";
import {
  formatCountdown,
  formatValue,
  labelOf,
  nativeAmount,
  readingsPart,
} from "./values.js";
import type { FormatContext } from "./values.js";

/** A simulation, with what names its accounts and tokens. */
export type ShownSimulation = Pick<
  Simulated,
  "simulation" | "sender" | "contracts"
> &
  Pick<SettlementPreflight, "tokens">;

/** How a simulation ended, and its effect. */
export function simulationParts(
  shown: ShownSimulation,
  context: FormatContext,
): readonly Part[] {
  const { simulation, sender, tokens } = shown;
  const { engine, block, changes, transfers, balances } = simulation;
  const show = (amount: bigint, token: string): string => {
    const decimals =
      token === NATIVE ? NATIVE_DECIMALS : tokens.get(token)?.decimals;
    return typeof decimals !== "number" || context.raw
      ? `${groupDigits(String(amount))} raw`
      : scale(amount, decimals);
  };
  return [
    labelledValues([
      ...outcomeRows("Simulated", simulation),
      ["Called by", sender],
      block !== null && [
        "In block",
        `${block.number}, ${describeTime(BigInt(block.timestamp))}`,
      ],
      ["Engine", engine],
    ]),
    ...section("Changes", changesTable(changes, context)),
    ...section(
      "Transfers",
      table(
        ["Amount", "From", "To"],
        (transfers ?? []).map(({ token, from, to, amount }) => [
          `${show(amount, token)} ${nameToken(token, shown)}`,
          nameAccount(from, shown),
          nameAccount(to, shown),
        ]),
      ),
    ),
    ...section(
      "Balances",
      table(
        ["Account", "Before", "After"],
        balances.map(({ account, token, before, after }) => [
          `${capitalize(nameAccount(account, shown))}, ${nameToken(token, shown)}`,
          show(before, token),
          show(after, token),
        ]),
      ),
    ),
    notes(
      ...simulation.notes.map((text) => toned("warn", escapeUntrusted(text))),
    ),
  ];
}

function outcomeRows(
  label: string,
  { status, code, reason, guard, gasUsed }: Settlement | Simulation,
): ReadonlyArray<LabelledValue | false> {
  const isHarmless = status === "nothing-to-do" || status === "cancelled";
  const isSettled = status === "settled";
  // It is settled, and tokens stay in the guard: the reason is what counts.
  const isBad = isSettled && code !== null;
  const tone = isHarmless ? "warn" : isSettled && !isBad ? "good" : "bad";
  const why = escapeUntrusted(reason ?? "");
  return [
    [label, toned(tone, capitalize(status.replaceAll("-", " ")))],
    reason !== null && ["Reason", isBad ? toned("bad", why) : why],
    guard !== null && ["Guard", guard],
    gasUsed !== null && ["Gas used", groupDigits(String(gasUsed))],
  ];
}

function changesTable(
  changes: readonly ReadingChange[],
  context: FormatContext,
  values: readonly [string, string] = ["Before", "After"],
): Part {
  const rows = changes.map(({ reading, field, before, after }) => {
    const [group, name] = reading.split(".");
    const variant = group === "orders" ? `order ${name}` : (name ?? group);
    const described = readingFields(reading).find((one) => one.name === field);
    // A failed reading has only the code of its error.
    const cells = [before, after].map((value) =>
      described === undefined
        ? String(value ?? "no error")
        : formatValue(described, value, context),
    );
    return [labelOf(described ?? { label: field }, variant), ...cells];
  });
  return table(["Reading", ...values], rows);
}

/** A symbol may be that of another token, too: the address tells them apart. */
function nameToken(token: string, { tokens }: ShownSimulation): string {
  const symbol = tokens.get(token)?.symbol ?? "";
  return token === NATIVE
    ? "native currency"
    : `${escapeUntrusted(symbol)} ${token}`.trimStart();
}

function nameAccount(
  account: string,
  { sender, contracts }: ShownSimulation,
): string {
  // Of several roles of one address, the vault's, which is last, settles.
  const contract = contracts.findLast(({ address }) => address === account);
  if (contract !== undefined) {
    return `${contractRoles[contract.role].label} contract`;
  }
  return account === sender ? "sender" : account;
}

/** A simulation for JSON; balances and transfers get symbol and decimals of their token. */
export function withTokens(
  simulation: Simulation,
  tokens: ShownSimulation["tokens"],
): object {
  const describe = (moved: { readonly token: string }): object => ({
    ...moved,
    ...(tokens.get(moved.token) ?? { symbol: null, decimals: null }),
  });
  return {
    ...simulation,
    balances: simulation.balances.map(describe),
    transfers: simulation.transfers?.map(describe) ?? null,
  };
}

/** What speaks against this settlement. */
export function warningsOf({
  round,
  chainTime,
  preview,
}: SettlementPreflight): readonly string[] {
  const ended = hasEnded(round, chainTime);
  return present([
    preview?.status === "not-settled" &&
      "WARNING: the simulation does NOT settle the round.",
    ended === null && `WARNING: ${NO_ROUND}`,
    ended === false &&
      `WARNING: this round has NOT ended. It ends ${formatCountdown(round.endTime, chainTime)}.`,
  ]);
}

export function preflightParts(
  preflight: SettlementPreflight,
  network: string,
  context: FormatContext,
): readonly Part[] {
  const { chainId, round, contract, from, signing, balance } = preflight;
  const { cost, maxCost, outcome, preview, guard, tokens } = preflight;
  const contracts = [{ ...contract, role: "vault" } as const];
  return [
    title("About to settle this round"),
    readingsPart("getLatestRoundInfo", [{ value: round }], context),
    ...(preview === null
      ? [notes(`A plain call ${outcome}. It shows no effect.`)]
      : simulationParts(
          { simulation: preview, sender: from, contracts, tokens },
          context,
        )),
    labelledValues([
      ["Network", `${escapeUntrusted(network)} (chain ${chainId})`],
      ["Vault contract", { text: contract.address, note: contract.source }],
      guard !== null && ["Guard", guard],
      ["Signer", { text: from, note: signingKinds[signing] }],
      ["Balance", nativeAmount(balance)],
      cost !== null && ["Cost", nativeAmount(cost, maxCost ?? 0n)],
    ]),
    notes(...warningsOf(preflight).map((warning) => toned("bad", warning))),
  ];
}

export function describeEvent(
  event: Exclude<SettlementEvent, { type: "preflight" }>,
): Content {
  switch (event.type) {
    case "resuming":
      return `Following the interrupted settlement: transaction ${event.hash ?? `with nonce ${event.nonce}`}`;
    case "sending":
    case "hash":
      return event.hash === null
        ? "Transaction handed to the node, which returns its hash"
        : `Transaction ${event.hash}`;
    case "replacing":
      return event.kind === "settlement"
        ? `Replaced at a higher fee: transaction ${event.hash}`
        : `Cancellation: transaction ${event.hash}`;
    case "mined":
      return `Mined in block ${event.blockNumber}`;
    case "confirmed":
      return `Confirmation ${event.confirmations} of ${event.wanted}`;
    case "trouble":
      return toned("warn", escapeUntrusted(event.message));
  }
}

/** @param resume The command that continues a settlement that is under way. */
export function settlementParts(
  settlement: Settlement,
  envelope: Envelope | undefined,
  context: FormatContext,
  resume?: string,
): readonly Part[] {
  const { status, code, hash, blockNumber, cost } = settlement;
  const { before, after, differences } = settlement;
  const changes = changesBetween(
    new Map([["round", before ?? after]]),
    new Map([["round", after ?? before]]),
  );
  return [
    title("Settlement", envelope),
    labelledValues([
      ...outcomeRows("Outcome", settlement),
      (hash !== null || status === "reverted") && [
        "Transaction",
        hash ?? "none: nothing was sent",
      ],
      blockNumber !== null && ["In block", String(blockNumber)],
      cost !== null && ["Cost", nativeAmount(cost)],
    ]),
    notes(
      resume !== undefined &&
        `To continue: \`${resume}\`. If it stays, ${HOW_TO_REPLACE}`,
    ),
    changesTable(changes, context),
    notes(
      differences?.length === 0 &&
        toned("good", "Readings and token transfers are as previewed."),
    ),
    ...section(
      "Not as previewed",
      changesTable(
        (differences ?? []).map(({ previewed, happened, ...place }) => ({
          ...place,
          before: previewed,
          after: happened,
        })),
        context,
        ["Previewed", "Happened"],
      ),
    ),
    notes(code !== null && toned("dim", pageOf(code))),
  ];
}
