import { capitalize } from "@nomicfoundation/hardhat-utils/string";

import { signingKinds } from "../../src/plugin/doctor.js";
import { formatNative } from "../../src/protocol/amounts.js";
import {
  describeTime,
  groupDigits,
  operations,
} from "../../src/protocol/index.js";
import type { VaultRound } from "../../src/protocol/index.js";
import { NO_ROUND } from "../../src/protocol/round.js";
import type {
  ReplacementPreflight,
  Settlement,
  SettlementEvent,
  SettlementPreflight,
  SettlementStatus,
} from "../../src/settlement/types.js";
import { escapeUntrusted } from "../../src/escape.js";
import { code, labelledValues, notes, title, toned } from "./blocks.js";
import type { Block, Cell, Content, Envelope, Tone } from "./blocks.js";
import { formatCountdown } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { readingsBlock } from "./readings.js";
import { changesTable, effectBlocks, engineNames } from "./simulation.js";

/** @param most The highest possible amount. */
export function nativeAmount(wei: bigint, most?: bigint): Cell {
  const limit = most === undefined ? "" : `; at most ${formatNative(most)}`;
  return { text: formatNative(wei), note: `native currency${limit}` };
}

export function preflightBlocks(
  preflight: SettlementPreflight,
  network: string,
  context: FormatContext,
): readonly Block[] {
  const { chainId, round, contract, from, signing, balance } = preflight;
  const { gas, cost, maxCost, preview, guard, warnings } = preflight;
  const used = preview?.gasUsed ?? null;
  const usedNote =
    used === null ? "" : `; ${groupDigits(String(used))} used when simulated`;
  return [
    title("About to settle this round"),
    readingsBlock("getLatestRoundInfo", [{ value: round }], context),
    ...previewBlocks(preflight, context),
    labelledValues([
      ["Network", `${escapeUntrusted(network)} (chain ${chainId})`],
      ["Vault contract", { text: contract.address, note: contract.source }],
      guard !== null && [
        "Guard",
        { text: guard, note: "settles this round and no other, or reverts" },
      ],
      ["Signer", { text: from, note: signingKinds[signing] }],
      ["Balance", nativeAmount(balance)],
      gas !== null && [
        "Gas",
        { text: groupDigits(String(gas)), note: `limit${usedNote}` },
      ],
      cost !== null && ["Cost", nativeAmount(cost, maxCost ?? 0n)],
      ["Simulated", describePreview(preflight)],
    ]),
    notes(
      ...warnings.map((text) =>
        toned("warn", `Warning: ${escapeUntrusted(text)}`),
      ),
    ),
  ];
}

function describePreview({
  preview,
  outcome,
  reason: refusal,
}: SettlementPreflight): Cell {
  const reason = escapeUntrusted(refusal ?? preview?.reason ?? "");
  const note =
    preview === null
      ? "by a call, which shows no effect"
      : `by ${engineNames[preview.engine]}`;
  // In the last column: a long reason would widen every line above.
  const problem = `${note}: ${reason}`;
  return refusal !== null
    ? toned("bad", outcome, problem)
    : preview?.status === "not-settled"
      ? toned("bad", `${outcome}, and does not settle the round`, problem)
      : toned("good", outcome, note);
}

function previewBlocks(
  { preview, from: sender, contract, tokens }: SettlementPreflight,
  context: FormatContext,
): readonly Block[] {
  if (preview === null) {
    return [];
  }
  const contracts = [{ ...contract, role: "vault" } as const];
  const shown = { simulation: preview, sender, contracts, tokens };
  const effect = effectBlocks(shown, context);
  return [
    ...effect,
    notes(
      // The line "Simulated" shows a revert.
      effect.length === 0 &&
        preview.status !== "reverted" &&
        "No reading changes, and nothing is transferred.",
      ...preview.notes.map((note) => toned("warn", escapeUntrusted(note))),
    ),
  ];
}

export function earlyWarning({
  round: { endTime },
  chainTime,
}: SettlementPreflight): Block {
  const problem =
    endTime === 0n
      ? NO_ROUND
      : `this round has NOT ended. It ends ${formatCountdown(endTime, chainTime)}, ${describeTime(endTime)}. A settlement now settles it before its end.`;
  return notes(toned("bad", `WARNING: ${problem}`));
}

export function replacementBlocks(
  replacement: ReplacementPreflight,
  network: string,
): readonly Block[] {
  const { chainId, from, nonce, hash, cost, maxCost } = replacement;
  return [
    title("About to raise the fee of this settlement"),
    labelledValues([
      ["Network", `${escapeUntrusted(network)} (chain ${chainId})`],
      ["Account", `${from}, nonce ${nonce}`],
      hash !== null && ["Transaction", hash],
      [
        "Cost until now",
        {
          text: formatNative(replacement.earlierMaxCost),
          note: "native currency, at most",
        },
      ],
      ["Cost then", nativeAmount(cost, maxCost)],
    ]),
  ];
}

export function describeEvent(
  event: Exclude<SettlementEvent, { type: "preflight" }>,
): Content {
  switch (event.type) {
    case "resuming":
      return `Following the interrupted settlement: transaction ${event.hash ?? `with nonce ${event.nonce}`}`;
    case "resumed": {
      const { status, reason } = event.settlement;
      return `The interrupted settlement is finished: ${status}${reason === null ? "" : `. ${escapeUntrusted(reason)}`}`;
    }
    case "sending":
      return event.hash === null
        ? `Transaction with nonce ${event.nonce}; the node names its hash`
        : `Transaction ${event.hash}`;
    case "replacing":
      return event.kind === "settlement"
        ? `Replaced at a higher fee: transaction ${event.hash}`
        : `Cancellation: transaction ${event.hash}`;
    case "hash":
      return `Transaction ${event.hash}`;
    case "mined":
      return `Mined in block ${event.blockNumber}`;
    case "confirmed":
      return `Confirmation ${event.confirmations} of ${event.wanted}`;
    case "trouble":
      return toned("warn", escapeUntrusted(event.message));
  }
}

/** @param resume The command that continues a settlement that is under way. */
export function settlementBlocks(
  settlement: Settlement,
  envelope: Envelope | undefined,
  context: FormatContext,
  resume?: string,
): readonly Block[] {
  const { status, code: problem, reason, hash, blockNumber } = settlement;
  const { gasUsed, cost, before, after } = settlement;
  const isInHeading = blockNumber === envelope?.block.number;
  return [
    title(
      "Settlement",
      isInHeading || blockNumber === null ? envelope : undefined,
    ),
    labelledValues([
      ["Outcome", describeOutcome(settlement)],
      // A contract can revert with an empty text.
      problem !== "VAULT_NOT_CONFIRMED" &&
        reason !== null &&
        reason !== "" && ["Reason", escapeUntrusted(reason)],
      (hash !== null || status === "reverted") && [
        "Transaction",
        hash ?? "none: nothing was sent",
      ],
      blockNumber !== null && !isInHeading && ["Block", String(blockNumber)],
      gasUsed !== null && ["Gas used", groupDigits(String(gasUsed))],
      cost !== null && ["Cost", nativeAmount(cost)],
    ]),
    ...(resume === undefined ? [] : [notes("To continue:"), code(resume)]),
    ...(before === null || after === null
      ? []
      : [roundChanges(before, after, context)]),
    ...comparisonBlocks(settlement, context),
  ];
}

const tones: Readonly<Partial<Record<SettlementStatus, Tone>>> = {
  settled: "good",
  "nothing-to-do": "warn",
  cancelled: "warn",
};

function describeOutcome({ status, code: error, hash }: Settlement): Cell {
  if (error === "VAULT_NOT_CONFIRMED") {
    return toned("warn", "Cancelled. Nothing was sent.");
  }
  if (error === "VAULT_SETTLEMENT_NEEDED") {
    return toned("warn", "Settlement needed");
  }
  const isOnlySimulated = status === "reverted" && hash === null;
  const text = isOnlySimulated ? "would revert" : status.replaceAll("-", " ");
  return toned(tones[status] ?? "bad", capitalize(text));
}

function roundChanges(
  before: VaultRound,
  after: VaultRound,
  context: FormatContext,
): Block {
  const changes = operations.getLatestRoundInfo.outputs.flatMap(({ name }) =>
    before[name] === after[name]
      ? []
      : [
          {
            reading: "round",
            field: name,
            before: before[name],
            after: after[name],
          },
        ],
  );
  return changes.length === 0
    ? notes(toned("dim", "The round did not change."))
    : changesTable(changes, context);
}

function comparisonBlocks(
  { preview, differences, blockNumber }: Settlement,
  context: FormatContext,
): readonly Block[] {
  if (preview === null || blockNumber === null) {
    return [];
  }
  if (differences === null) {
    return [notes(toned("dim", "It is not known if it came as previewed."))];
  }
  return [
    notes(
      differences.length === 0
        ? toned("good", "Readings and token transfers are as previewed.")
        : toned("warn", "Not as previewed:"),
    ),
    changesTable(
      differences.map(({ previewed, happened, ...place }) => ({
        ...place,
        before: previewed,
        after: happened,
      })),
      context,
      ["Previewed", "Happened"],
    ),
  ];
}
