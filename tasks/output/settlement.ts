import { operations, groupDigits } from "../../src/protocol/index.js";
import type { VaultRound } from "../../src/protocol/index.js";
import { hasEnded } from "../../src/protocol/round.js";
import { describeTime } from "../../src/protocol/time.js";
import { UNKNOWABLE } from "../../src/simulation/engine.js";
import type { Simulation } from "../../src/simulation/types.js";
import type {
  Settlement,
  SettlementEvent,
  SettlementPreflight,
  SettlementStatus,
  SigningKind,
} from "../../src/settlement/types.js";
import { escapeUntrusted } from "../../src/untrusted-text.js";
import {
  chapter,
  knownValues,
  labelledValues,
  notes,
  title,
} from "./blocks.js";
import type { Block, Cell, Content, Envelope } from "./blocks.js";
import { formatCountdown, formatNative, formatValue } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { readingsBlock } from "./readings.js";
import { changeRow, effectBlocks, engineNames } from "./simulation.js";

const signingNames: Readonly<Record<SigningKind, string>> = {
  local: "signed here with a configured key",
  remote: "signed by the node or a plugin",
  "in-process": "signed by the in-process network",
};

/** What is about to happen, for the person who has to agree to it. */
export function preflightBlocks(
  preflight: SettlementPreflight,
  { network, chainId }: Pick<Envelope, "network" | "chainId">,
  context: FormatContext,
): readonly Block[] {
  const { round, contract, from, signing, balance, gas, cost, maxCost } =
    preflight;
  const { preview } = preflight;
  const used = preview?.gasUsed ?? null;
  return [
    title("About to settle this round"),
    readingsBlock("getLatestRoundInfo", [{ value: round }], context),
    ...(preview === null ? [] : previewBlocks(preview, preflight, context)),
    labelledValues([
      ["Network", `${escapeUntrusted(network)} (chain ${chainId})`],
      ["Vault contract", { text: contract.address, note: contract.source }],
      ["Signer", { text: from, note: signingNames[signing] }],
      ["Balance", { text: formatNative(balance), note: "native token" }],
      ...(gas === null || cost === null || maxCost === null
        ? []
        : ([
            [
              "Gas",
              {
                text: groupDigits(gas.toString()),
                note:
                  used === null
                    ? "limit"
                    : `limit; ${groupDigits(used.toString())} used when simulated`,
              },
            ],
            [
              "Cost",
              {
                text: formatNative(cost),
                note: `at most ${formatNative(maxCost)}`,
              },
            ],
          ] as const)),
      ["Simulated", describePreview(preflight)],
    ]),
  ];
}

function describePreview({
  preview,
  outcome,
  reason,
}: SettlementPreflight): Cell {
  const note =
    preview === null
      ? "by a call, which shows no effect"
      : `by ${engineNames[preview.engine]}`;
  return reason !== null
    ? { text: `${outcome}: ${escapeUntrusted(reason)}`, tone: "bad", note }
    : preview?.status === "not-settled"
      ? {
          text: `${outcome}, and does not settle the round: ${escapeUntrusted(preview.reason ?? "")}`,
          tone: "bad",
          note,
        }
      : { text: outcome, tone: "good", note };
}

/** A warning of a round that has not ended yet. */
export function earlyWarning({
  round,
  chainTime,
}: SettlementPreflight): readonly Block[] {
  return hasEnded(round, chainTime)
    ? []
    : [
        notes({
          text: `WARNING: this round has NOT ended. It ends ${formatCountdown(round.endTime, chainTime)}, ${describeTime(round.endTime)}. A settlement now settles it before its end.`,
          tone: "bad",
        }),
      ];
}

/** All that will change, before anybody is asked. */
function previewBlocks(
  simulation: Simulation,
  { from: sender, contract, tokens }: SettlementPreflight,
  context: FormatContext,
): readonly Block[] {
  const contracts = [{ ...contract, role: "vault" } as const];
  const effect = effectBlocks(
    { simulation, sender, contracts, tokens },
    context,
  );
  return [
    chapter("What it will do"),
    ...(effect.length === 0
      ? [notes("No reading changes, and nothing is transferred.")]
      : effect),
    notes(
      ...simulation.notes
        // This holds for every settlement: no answer to the question hangs on it.
        .filter((note) => note !== UNKNOWABLE)
        .map((text): Cell => ({ text: escapeUntrusted(text), tone: "warn" })),
    ),
  ];
}

/** The differences between the preview and what happened. */
function comparisonBlocks(
  { preview, blockNumber }: Settlement,
  context: FormatContext,
): readonly Block[] {
  if (preview === null || blockNumber === null) {
    return [];
  }
  const { differences } = preview;
  return differences === null
    ? [
        notes({
          text: "Whether it came as previewed is not known.",
          tone: "dim",
        }),
      ]
    : differences.length === 0
      ? [
          notes({
            text: "Readings and token transfers are as previewed.",
            tone: "good",
          }),
        ]
      : [
          notes({ text: "Not as previewed:", tone: "warn" }),
          {
            kind: "table",
            columns: ["Reading", "Previewed", "Happened"].map((heading) => ({
              heading,
            })),
            rows: differences.map(({ previewed, happened, ...field }) =>
              changeRow(
                { ...field, before: previewed, after: happened },
                context,
              ).slice(0, 3),
            ),
          },
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
    case "hash":
      return `Transaction ${event.hash}`;
    case "mined":
      return `Mined in block ${event.blockNumber}`;
    case "confirmed":
      return `Confirmation ${event.confirmations} of ${event.wanted}`;
    case "trouble":
      return { text: escapeUntrusted(event.message), tone: "warn" };
  }
}

const outcomes: Readonly<Record<SettlementStatus, Cell>> = {
  settled: { text: "Settled", tone: "good" },
  "not-settled": { text: "Not settled", tone: "bad" },
  "nothing-to-do": { text: "Nothing to do", tone: "warn" },
  refused: { text: "Refused", tone: "bad" },
  reverted: { text: "Reverted", tone: "bad" },
  unconfirmed: { text: "Unconfirmed", tone: "bad" },
};

/** The outcome, with every field of the round that changed. */
export function settlementBlocks(
  settlement: Settlement,
  envelope: Envelope | undefined,
  context: FormatContext,
): readonly Block[] {
  const { status, reason, hash, blockNumber, gasUsed, before, after } =
    settlement;
  return [
    title("Settlement", envelope),
    knownValues([
      ["Outcome", outcomes[status]],
      ["Reason", escapeUntrusted(reason ?? "")],
      ["Transaction", hash ?? ""],
      ["Block", String(blockNumber ?? "")],
      ["Gas used", groupDigits(String(gasUsed ?? ""))],
    ]),
    ...(before === null || after === null
      ? []
      : [roundChanges(before, after, context)]),
    ...comparisonBlocks(settlement, context),
  ];
}

function roundChanges(
  before: VaultRound,
  after: VaultRound,
  context: FormatContext,
): Block {
  const rows = operations.getLatestRoundInfo.outputs
    .filter(({ name }) => before[name] !== after[name])
    .map((field) => [
      field.label,
      formatValue(field, before[field.name], context),
      formatValue(field, after[field.name], context),
    ]);
  return rows.length === 0
    ? notes({ text: "The round did not change.", tone: "dim" })
    : {
        kind: "table",
        columns: ["Field", "Before", "After"].map((heading) => ({ heading })),
        rows,
      };
}
