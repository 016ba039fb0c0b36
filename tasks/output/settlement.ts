import { operations, groupDigits } from "../../src/protocol/index.js";
import type { VaultRound } from "../../src/protocol/index.js";
import { hasEnded } from "../../src/protocol/round.js";
import { describeTime } from "../../src/protocol/time.js";
import { UNKNOWABLE } from "../../src/simulation/engine.js";
import type { Simulation } from "../../src/simulation/types.js";
import type {
  PreviewDifference,
  Settlement,
  SettlementEvent,
  SettlementPreflight,
  SettlementStatus,
  SigningKind,
} from "../../src/settlement/types.js";
import { escapeUntrusted } from "../../src/untrusted-text.js";
import { formatCountdown, formatNative, formatValue } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { renderHeading } from "./heading.js";
import type { Envelope } from "./heading.js";
import { renderReadings } from "./readings.js";
import { changeRow, engineNames, renderEffect } from "./simulation.js";
import type { Style, View } from "./style.js";
import { knownFacts, renderFacts, renderTable, wrapText } from "./table.js";

const signingNames: Readonly<Record<SigningKind, string>> = {
  local: "signed here with a configured key",
  remote: "signed by the node or a plugin",
  "in-process": "signed by the in-process network",
};

/** What is about to happen, for the person who has to agree to it. */
export function renderPreflight(
  preflight: SettlementPreflight,
  { network, chainId }: Pick<Envelope, "network" | "chainId">,
  view: View,
): string {
  const { round, contract, from, signing, balance, gas, cost, maxCost } =
    preflight;
  const { chainTime } = preflight;
  const { preview, outcome, reason } = preflight;
  const used = preview?.gasUsed ?? null;
  return [
    view.title("About to settle this round"),
    renderReadings("getLatestRoundInfo", [{ value: round }], view),
    "",
    ...(preview === null ? [] : renderPreview(preview, preflight, view)),
    renderFacts(
      [
        ["Network", `${escapeUntrusted(network)} (chain ${chainId})`],
        ["Vault contract", contract.address, contract.source],
        ["Signer", from, signingNames[signing]],
        ["Balance", formatNative(balance), "native token"],
        ...(gas === null || cost === null || maxCost === null
          ? []
          : ([
              [
                "Gas",
                groupDigits(gas.toString()),
                used === null
                  ? "limit"
                  : `limit; ${groupDigits(used.toString())} used when simulated`,
              ],
              ["Cost", formatNative(cost), `at most ${formatNative(maxCost)}`],
            ] as const)),
        [
          "Simulated",
          reason !== null
            ? view.bad(`${outcome}: ${escapeUntrusted(reason)}`)
            : preview?.status === "not-settled"
              ? view.bad(
                  `${outcome}, and does not settle the round: ${escapeUntrusted(preview.reason ?? "")}`,
                )
              : view.good(outcome),
          preview === null
            ? "by a call, which shows no effect"
            : `by ${engineNames[preview.engine]}`,
        ],
      ],
      view,
    ),
    "",
    ...(hasEnded(round, chainTime)
      ? []
      : [
          wrapText(
            view.bad(
              `WARNING: this round has NOT ended. It ends ${formatCountdown(round.endTime, chainTime)}, ${describeTime(round.endTime)}. A settlement now settles it before its end.`,
            ),
            view,
          ),
          "",
        ]),
  ].join("\n");
}

/** All that will change, before anybody is asked. */
function renderPreview(
  simulation: Simulation,
  { from: sender, contract, tokens }: SettlementPreflight,
  view: View,
): readonly string[] {
  const contracts = [{ ...contract, role: "vault" } as const];
  const effect = renderEffect({ simulation, sender, contracts, tokens }, view);
  return [
    view.title("What it will do"),
    ...(effect.length === 0
      ? ["No reading changes, and nothing is transferred."]
      : effect),
    ...simulation.notes
      // This holds for every settlement: no answer to the question hangs on it.
      .filter((note) => note !== UNKNOWABLE)
      .map((note) => wrapText(view.warn(escapeUntrusted(note)), view)),
    "",
  ];
}

/** Whether it came as it was shown, line by line where not. */
function renderComparison(
  { preview, blockNumber }: Settlement,
  view: View,
): readonly string[] {
  if (preview === null || blockNumber === null) {
    return [];
  }
  const { differences } = preview;
  if (differences === null) {
    return ["", view.dim("Whether it came as previewed is not known.")];
  }
  return differences.length === 0
    ? ["", view.good("Readings and token transfers are as previewed.")]
    : [
        "",
        view.warn("Not as previewed:"),
        renderTable(
          [
            { heading: "reading" },
            { heading: "previewed" },
            { heading: "happened" },
          ],
          differences.map((difference) => differenceRow(difference, view)),
          view,
        ),
      ];
}

function differenceRow(
  { previewed, happened, ...field }: PreviewDifference,
  context: FormatContext,
): readonly string[] {
  return changeRow(
    { ...field, before: previewed, after: happened },
    context,
  ).slice(0, 3);
}

/** One line of progress, or none. */
export function renderEvent(
  event: Exclude<SettlementEvent, { type: "preflight" }>,
  style: Style,
): string {
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
      return style.warn(escapeUntrusted(event.message));
  }
}

const outcomes: Readonly<
  Record<
    SettlementStatus,
    readonly [text: string, colour: "good" | "warn" | "bad"]
  >
> = {
  settled: ["Settled", "good"],
  "not-settled": ["Not settled", "bad"],
  "nothing-to-do": ["Nothing to do", "warn"],
  refused: ["Refused", "bad"],
  reverted: ["Reverted", "bad"],
  unconfirmed: ["Unconfirmed", "bad"],
};

/** The outcome, with every field of the round that changed. */
export function renderSettlement(
  settlement: Settlement,
  envelope: Envelope | undefined,
  view: View,
): string {
  const { status, reason, hash, blockNumber, gasUsed, before, after } =
    settlement;
  const [outcome, colour] = outcomes[status];
  return [
    envelope === undefined
      ? view.title("Settlement")
      : renderHeading("Settlement", envelope, view),
    renderFacts(
      knownFacts([
        ["Outcome", view[colour](outcome)],
        ["Reason", escapeUntrusted(reason ?? "")],
        ["Transaction", hash ?? ""],
        ["Block", String(blockNumber ?? "")],
        ["Gas used", groupDigits(String(gasUsed ?? ""))],
      ]),
      view,
    ),
    ...(before === null || after === null
      ? []
      : ["", renderChanges(before, after, view)]),
    ...renderComparison(settlement, view),
  ].join("\n");
}

function renderChanges(
  before: VaultRound,
  after: VaultRound,
  view: View,
): string {
  const rows = operations.getLatestRoundInfo.outputs
    .filter(({ name }) => before[name] !== after[name])
    .map((field) => [
      field.label,
      formatValue(field, before[field.name], view).text,
      formatValue(field, after[field.name], view).text,
    ]);
  return rows.length === 0
    ? view.dim("The round did not change.")
    : renderTable(
        ["field", "before", "after"].map((heading) => ({ heading })),
        rows,
        view,
      );
}
