import { signingKinds } from "../../src/plugin/doctor.js";
import { formatNative } from "../../src/protocol/amounts.js";
import {
  describeTime,
  groupDigits,
  operations,
} from "../../src/protocol/index.js";
import type { VaultRound } from "../../src/protocol/index.js";
import { NO_ROUND } from "../../src/protocol/round.js";
import type { Simulation } from "../../src/simulation/types.js";
import type {
  ReplacementPreflight,
  Settlement,
  SettlementEvent,
  SettlementPreflight,
  SettlementStatus,
} from "../../src/settlement/types.js";
import { escapeUntrusted } from "../../src/escape.js";
import { labelledValues, notes, title, toned } from "./blocks.js";
import type { Block, Cell, Content, Envelope } from "./blocks.js";
import { formatCountdown } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { readingsBlock } from "./readings.js";
import { changesTable, effectBlocks, engineNames } from "./simulation.js";

export function preflightBlocks(
  preflight: SettlementPreflight,
  { network, chainId }: Pick<Envelope, "network" | "chainId">,
  context: FormatContext,
): readonly Block[] {
  const { round, contract, from, signing, balance } = preflight;
  const { gas, cost, maxCost, preview, guard } = preflight;
  const used = preview?.gasUsed ?? null;
  const usedNote =
    used === null ? "" : `; ${groupDigits(String(used))} used when simulated`;
  return [
    title("About to settle this round"),
    readingsBlock("getLatestRoundInfo", [{ value: round }], context),
    ...(preview === null ? [] : previewBlocks(preview, preflight, context)),
    labelledValues([
      ["Network", `${escapeUntrusted(network)} (chain ${chainId})`],
      ["Vault contract", { text: contract.address, note: contract.source }],
      guard !== null && [
        "Guard",
        { text: guard, note: "settles this round and no other, or reverts" },
      ],
      ["Signer", { text: from, note: signingKinds[signing] }],
      ["Balance", { text: formatNative(balance), note: "native currency" }],
      gas !== null && [
        "Gas",
        { text: groupDigits(String(gas)), note: `limit${usedNote}` },
      ],
      cost !== null && [
        "Cost",
        {
          text: formatNative(cost),
          note: `native currency; at most ${formatNative(maxCost ?? 0n)}`,
        },
      ],
      ["Simulated", describePreview(preflight)],
    ]),
    notes(
      ...preflight.warnings.map((text) =>
        toned("warn", `Warning: ${escapeUntrusted(text)}`),
      ),
    ),
  ];
}

function describePreview(preflight: SettlementPreflight): Cell {
  const { preview, outcome } = preflight;
  const reason = escapeUntrusted(preflight.reason ?? preview?.reason ?? "");
  const note =
    preview === null
      ? "by a call, which shows no effect"
      : `by ${engineNames[preview.engine]}`;
  // In the last column: a long reason would widen every line above.
  const problem = `${note}: ${reason}`;
  return preflight.reason !== null
    ? toned("bad", outcome, problem)
    : preview?.status === "not-settled"
      ? toned("bad", `${outcome}, and does not settle the round`, problem)
      : toned("good", outcome, note);
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
    ...effect,
    notes(
      // The line "Simulated" shows a revert.
      effect.length === 0 &&
        simulation.status !== "reverted" &&
        "No reading changes, and nothing is transferred.",
      ...simulation.notes.map((note) => toned("warn", escapeUntrusted(note))),
    ),
  ];
}

function comparisonBlocks(
  { preview, blockNumber }: Settlement,
  context: FormatContext,
): readonly Block[] {
  if (preview === null || blockNumber === null) {
    return [];
  }
  const { differences } = preview;
  return differences === null
    ? [notes(toned("dim", "It is not known if it came as previewed."))]
    : differences.length === 0
      ? [notes(toned("good", "Readings and token transfers are as previewed."))]
      : [
          notes(toned("warn", "Not as previewed:")),
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

export function replacementBlocks(
  { from, nonce, hash, earlierMaxCost, cost, maxCost }: ReplacementPreflight,
  network: string,
  chainId: number,
): readonly Block[] {
  const native = (text: bigint, note: string): Cell => ({
    text: formatNative(text),
    note,
  });
  return [
    title("About to raise the fee of this settlement"),
    labelledValues([
      ["Network", `${escapeUntrusted(network)} (chain ${chainId})`],
      ["Account", `${from}, nonce ${nonce}`],
      hash !== null && ["Transaction", hash],
      ["Cost until now", native(earlierMaxCost, "native currency, at most")],
      [
        "Cost then",
        native(cost, `native currency; at most ${formatNative(maxCost)}`),
      ],
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

const outcomes: Readonly<Record<SettlementStatus, Cell>> = {
  settled: toned("good", "Settled"),
  "not-settled": toned("bad", "Not settled"),
  "nothing-to-do": toned("warn", "Nothing to do"),
  refused: toned("bad", "Refused"),
  reverted: toned("bad", "Reverted"),
  unconfirmed: toned("bad", "Unconfirmed"),
  cancelled: toned("warn", "Cancelled"),
};

export function settlementBlocks(
  settlement: Settlement,
  envelope: Envelope | undefined,
  context: FormatContext,
): readonly Block[] {
  const { status, code, reason, hash, blockNumber, before, after } = settlement;
  const { gasUsed, cost } = settlement;
  const isInHeading = blockNumber === envelope?.block.number;
  return [
    title(
      "Settlement",
      isInHeading || blockNumber === null ? envelope : undefined,
    ),
    labelledValues([
      [
        "Outcome",
        code === "VAULT_SETTLEMENT_NEEDED"
          ? toned("warn", "Settlement needed")
          : outcomes[status],
      ],
      // A contract can revert with an empty text.
      reason !== null && reason !== "" && ["Reason", escapeUntrusted(reason)],
      (hash !== null || status === "reverted") && [
        "Transaction",
        hash ?? "none: nothing was sent",
      ],
      blockNumber !== null && !isInHeading && ["Block", String(blockNumber)],
      gasUsed !== null && ["Gas used", groupDigits(String(gasUsed))],
      cost !== null && [
        "Cost",
        { text: formatNative(cost), note: "native currency" },
      ],
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
  const changes = operations.getLatestRoundInfo.outputs.map(({ name }) => ({
    reading: "round",
    field: name,
    before: before[name],
    after: after[name],
  }));
  const changed = changes.filter((change) => change.before !== change.after);
  return changed.length === 0
    ? notes(toned("dim", "The round did not change."))
    : changesTable(changed, context);
}
