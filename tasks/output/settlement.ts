import { formatEther } from "ethers";

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
import { formatValue } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { renderHeading } from "./heading.js";
import type { Envelope } from "./heading.js";
import { renderReadings } from "./readings.js";
import type { Style } from "./style.js";
import { alignColumns } from "./table.js";

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
    alignColumns([
      ["Network", `${escapeUntrusted(network)} (chain ${chainId})`, ""],
      ["Vault contract", contract.address, style.dim(contract.source)],
      ["Signer", from, style.dim(signingNames[signing])],
      ["Balance", formatEther(balance), style.dim("native token")],
      ...(gas === null || cost === null || maxCost === null
        ? []
        : [
            ["Gas", gas.toString(), style.dim("limit")],
            [
              "Cost",
              formatEther(cost),
              style.dim(`at most ${formatEther(maxCost)}`),
            ],
          ]),
      [
        "Simulated",
        preflight.reason === null
          ? style.good(preflight.outcome)
          : style.bad(
              `${preflight.outcome}: ${escapeUntrusted(preflight.reason)}`,
            ),
        "",
      ],
    ]),
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
  const facts = [
    ["Outcome", style[statusColours[status]](statusTexts[status])],
    ...(reason === null ? [] : [["Reason", escapeUntrusted(reason)]]),
    ...(hash === null ? [] : [["Transaction", hash]]),
    ...(blockNumber === null ? [] : [["Block", String(blockNumber)]]),
    ...(gasUsed === null ? [] : [["Gas used", gasUsed.toString()]]),
  ];
  return [
    envelope === undefined
      ? style.title("Settlement")
      : renderHeading("Settlement", envelope, style),
    alignColumns(facts),
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
    : alignColumns([
        ["", style.dim("before"), "", style.dim("after")],
        ...rows,
      ]);
}
