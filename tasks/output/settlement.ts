import { operations } from "../../src/protocol/index.js";
import type { VaultRound } from "../../src/protocol/index.js";
import type {
  Settlement,
  SettlementEvent,
  SettlementPreflight,
  SettlementStatus,
  SigningKind,
} from "../../src/settlement/settle-all.js";
import { escapeUntrusted } from "../../src/untrusted-text.js";
import { nameFlags } from "../parse-options.js";
import { formatNative, formatValue, groupDigits } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { renderHeading } from "./heading.js";
import type { Envelope } from "./heading.js";
import { renderReadings } from "./readings.js";
import type { Style } from "./style.js";
import { renderFacts, renderTable } from "./table.js";
import type { Fact } from "./table.js";

const signingNames: Readonly<Record<SigningKind, string>> = {
  local: "signed here with a configured key",
  remote: "signed by the node or a plugin",
  "in-process": "signed by the in-process network",
};

const statusTexts: Readonly<Record<SettlementStatus, string>> = {
  settled: "Settled",
  "nothing-to-do": "Nothing to do",
  refused: "Refused",
  reverted: "Reverted",
  unconfirmed: "Unconfirmed",
};

const statusColours: Readonly<
  Record<SettlementStatus, "good" | "warn" | "bad">
> = {
  settled: "good",
  "nothing-to-do": "warn",
  refused: "bad",
  reverted: "bad",
  unconfirmed: "bad",
};

/** What is about to happen, for the person who has to agree to it. */
export function renderPreflight(
  preflight: SettlementPreflight,
  { network, chainId }: Pick<Envelope, "network" | "chainId">,
  context: FormatContext,
  style: Style,
): string {
  const { round, contract, from, signing, balance, gas, cost, maxCost } =
    preflight;
  return [
    style.title("About to settle this round"),
    renderReadings("getLatestRoundInfo", [{ value: round }], context, style),
    "",
    renderFacts(
      [
        ["Network", `${escapeUntrusted(network)} (chain ${chainId})`],
        ["Vault contract", contract.address, contract.source],
        ["Signer", from, signingNames[signing]],
        ["Balance", formatNative(balance), "native token"],
        ...(gas === null || cost === null || maxCost === null
          ? []
          : ([
              ["Gas", groupDigits(gas.toString()), "limit"],
              ["Cost", formatNative(cost), `at most ${formatNative(maxCost)}`],
            ] as const)),
        [
          "Simulated",
          preflight.reason === null
            ? style.good(preflight.outcome)
            : style.bad(
                `${preflight.outcome}: ${nameFlags(escapeUntrusted(preflight.reason))}`,
              ),
        ],
      ],
      style,
    ),
    "",
  ].join("\n");
}

/** One line of progress, or none. */
export function renderEvent(
  event: Exclude<SettlementEvent, { type: "preflight" }>,
  style: Style,
): string {
  switch (event.type) {
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

/** The outcome, with every field of the round that changed. */
export function renderSettlement(
  { status, reason, hash, blockNumber, gasUsed, before, after }: Settlement,
  envelope: Envelope | undefined,
  context: FormatContext,
  style: Style,
): string {
  const reasonText = reason === null ? "" : nameFlags(escapeUntrusted(reason));
  const facts: readonly Fact[] = [
    ["Outcome", style[statusColours[status]](statusTexts[status])],
    ["Reason", reasonText],
    ["Transaction", hash ?? ""],
    ["Block", String(blockNumber ?? "")],
    ["Gas used", groupDigits(String(gasUsed ?? ""))],
  ];
  return [
    envelope === undefined
      ? style.title("Settlement")
      : renderHeading("Settlement", envelope, style),
    renderFacts(
      facts.filter(([, value]) => value !== ""),
      style,
    ),
    ...(before === null || after === null
      ? []
      : ["", renderChanges(before, after, context, style)]),
  ].join("\n");
}

function renderChanges(
  before: VaultRound,
  after: VaultRound,
  context: FormatContext,
  style: Style,
): string {
  const rows = operations.getLatestRoundInfo.outputs
    .filter(({ name }) => before[name] !== after[name])
    .map((field) => [
      field.label,
      formatValue(field, before[field.name], context).text,
      "→",
      formatValue(field, after[field.name], context).text,
    ]);
  return rows.length === 0
    ? style.dim("The round did not change.")
    : renderTable(
        [
          { heading: "" },
          { heading: "before" },
          { heading: "" },
          { heading: "after" },
        ],
        rows,
        style,
      );
}
