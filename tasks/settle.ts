import { capitalize } from "@nomicfoundation/hardhat-utils/string";
import { ZeroAddress } from "ethers";

import { vaultError } from "../src/errors.js";
import { escapeUntrusted, toSafeJson } from "../src/escape.js";
import { OTHER_ORIGIN } from "../src/guard/call.js";
import type { VaultHost } from "../src/host.js";
import { toJsonValue } from "../src/json.js";
import { HOW_TO_REPLACE, signingKinds } from "../src/plugin/doctor.js";
import {
  describeTime,
  groupDigits,
  operations,
} from "../src/protocol/index.js";
import type { VaultRound } from "../src/protocol/index.js";
import { NO_ROUND, hasEnded, isSameRound } from "../src/protocol/round.js";
import { buildSettlement, toSafeBatch } from "../src/settlement/calldata.js";
import { settleAll } from "../src/settlement/settle-all.js";
import type {
  ReplacementPreflight,
  SettleAllOptions,
  Settlement,
  SettlementEvent,
  SettlementPreflight,
  SettlementStatus,
} from "../src/settlement/types.js";
import {
  describeUnfinished,
  findUnfinished,
} from "../src/settlement/next-run.js";
import { settleTask } from "./definitions.js";
import type { TaskValues } from "./definitions.js";
import { messageForCommandLine, pageOf, repeatFlags } from "./error-texts.js";
import { withVault } from "./open-vault.js";
import {
  code,
  labelledValues,
  notes,
  present,
  title,
  toned,
} from "./output/blocks.js";
import type { Block, Cell, Content, Envelope, Tone } from "./output/blocks.js";
import { formatCountdown, nativeAmount } from "./output/format-value.js";
import type { FormatContext } from "./output/format-value.js";
import { readingsBlock } from "./output/readings.js";
import { say } from "./output/render-text.js";
import type { Output } from "./output/render-text.js";
import type { TypedOptions } from "./parse-options.js";
import { taskAction } from "./run-task.js";
import type { TaskReport } from "./run-task.js";
import {
  changesTable,
  effectBlocks,
  engineNames,
  withTokens,
} from "./simulate.js";
import type { Terminal } from "./terminal.js";

export default taskAction(settleTask, async (args, surroundings) => {
  const options = toOptions(args);
  const { terminal } = surroundings;
  return await withVault(
    surroundings,
    // These two need no key.
    args.assert || args.calldata ? "read" : "write",
    args,
    async (vault) =>
      args.calldata
        ? await printCalldata(vault, args, terminal.err)
        : await settle(vault, surroundings.typed, options, terminal),
  );
});

export async function settle(
  vault: VaultHost,
  typed: TypedOptions,
  options: SettleAllOptions,
  { err, ask }: Pick<Terminal, "err" | "ask">,
): Promise<TaskReport> {
  const { networkName: network } = vault;
  const tell = (...blocks: readonly Block[]): void => {
    void say(err, ...blocks);
  };
  const isAgreed = typed["yes"] === true;
  // A keeper's log has one document a run: errors and the hash go to stderr.
  const isLogged = isAgreed && typed["json"] === true;
  const { confirmations = 1 } = options;
  const wanted = confirmations > 1 ? ` --confirmations ${confirmations}` : "";
  const resume = `npx hardhat vault settle --resume${wanted}${repeatFlags(typed)}`;
  const context = { ...vault.settings, raw: false };
  let chainTime = 0;
  let tokens: SettlementPreflight["tokens"] = new Map();
  const propose = (preflight: SettlementPreflight): void => {
    ({ chainTime, tokens } = preflight);
    if (isLogged) {
      return;
    }
    tell(...preflightBlocks(preflight, network, { ...context, chainTime }));
    tell();
    if (
      preflight.outcome === "succeeds" &&
      hasEnded(preflight.round, chainTime) !== true
    ) {
      tell(earlyWarning(preflight));
      tell();
    }
  };
  const { block, chainId, settlement, refusal, isFinal } = await settleAll(
    vault,
    {
      ...options,
      onEvent: (event) => {
        if (event.type === "preflight") {
          propose(event.preflight);
          return;
        }
        if (!isLogged || !["mined", "confirmed"].includes(event.type)) {
          tell(notes(describeEvent(event)));
        }
        if (
          !isLogged &&
          event.type === "sending" &&
          options.resume !== true &&
          vault.connection.networkConfig.type === "http"
        ) {
          tell(notes(toned("dim", "To continue if this is interrupted:")));
          tell(code(resume));
        }
      },
      ...(isAgreed
        ? {}
        : options.bump === true
          ? {
              confirmReplacement: async (replacement) => {
                tell(...replacementBlocks(replacement, network));
                tell();
                return ask === undefined
                  ? "there is no terminal to ask on; --yes raises it without a question"
                  : (await ask("Raise the fee now?")) || "not confirmed";
              },
            }
          : options.resume === true
            ? {}
            : {
                confirm: async (preflight) =>
                  ask === undefined
                    ? vaultError("VAULT_NO_TERMINAL", {})
                    : (await ask(questionOf(preflight))) ||
                      vaultError("VAULT_NOT_CONFIRMED", {}),
              }),
    },
  );
  const { code: problem, preview, status, before, after } = settlement;
  const isStep =
    options.partial === true &&
    status === "not-settled" &&
    before !== null &&
    after !== null &&
    isSameRound(before, after) &&
    !after.settled;
  const reason =
    refusal !== undefined
      ? messageForCommandLine(refusal, typed)
      : isStep
        ? `This step was mined in block ${settlement.blockNumber}, and the round is still open, as --partial allows. The next run sends the next step.`
        : settlement.reason;
  // In process there is no journal to resume from.
  const isOpen = !isFinal && vault.connection.networkConfig.type === "http";
  const where = { network, chainId };
  const envelope = block === undefined ? undefined : { ...where, block };
  return {
    json: {
      ...(envelope ?? { ...where, block: null }),
      settlement: {
        ...settlement,
        reason: isOpen ? `${reason} To continue: ${resume}` : reason,
        preview: preview === null ? null : withTokens(preview, tokens),
      },
    },
    // A settlement that left tokens in the guard has a code.
    ok:
      (isStep || ["settled", "nothing-to-do", "cancelled"].includes(status)) &&
      problem === null,
    blocks: settlementBlocks(
      { ...settlement, reason },
      envelope,
      { ...context, chainTime: block?.timestamp ?? chainTime },
      isOpen ? resume : undefined,
    ),
  };
}

const questions = {
  true: "Settle this round now?",
  false: "This round has NOT ended. Settle it before its end?",
  null: "There is no round yet. Call settleAll all the same?",
};

function questionOf({
  round,
  chainTime,
  preview,
}: SettlementPreflight): string {
  return present([
    preview?.status === "not-settled" &&
      "The simulation does NOT settle the round.",
    questions[`${hasEnded(round, chainTime)}`],
  ]).join(" ");
}

export function toOptions(
  args: TaskValues<typeof settleTask>,
): SettleAllOptions {
  return {
    ifExpired: args.ifExpired,
    partial: args.partial,
    tokens: args.tokens,
    maxFeePerGas: args.maxFeePerGas,
    retryReverted: args.retryReverted,
    assertOnly: args.assert,
    resume: args.resume,
    resumeFirst: args.yes && !args.resume,
    bump: args.bump,
    cancel: args.cancel,
    from: args.from,
    confirmations:
      args.confirmations === undefined ? undefined : Number(args.confirmations),
    timeout: args.timeout,
  };
}

export function preflightBlocks(
  preflight: SettlementPreflight,
  network: string,
  context: FormatContext,
): readonly Block[] {
  const { chainId, round, contract, from, signing, balance } = preflight;
  const { gas, cost, maxCost, preview, guard } = preflight;
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
  const { chainId, from, nonce, hash } = replacement;
  const { earlierMaxCost, cost, maxCost } = replacement;
  return [
    title("About to raise the fee of this settlement"),
    labelledValues([
      ["Network", `${escapeUntrusted(network)} (chain ${chainId})`],
      ["Account", `${from}, nonce ${nonce}`],
      hash !== null && ["Transaction", hash],
      [
        "Cost until now",
        { ...nativeAmount(earlierMaxCost), note: "native currency, at most" },
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
    ...(resume === undefined
      ? []
      : [
          notes("To continue:"),
          code(resume),
          notes(blockNumber === null && `If it stays, ${HOW_TO_REPLACE}`),
        ]),
    ...(before === null || after === null
      ? []
      : [roundChanges(before, after, context)]),
    ...comparisonBlocks(settlement, context),
    notes(
      problem !== null &&
        problem !== "VAULT_NOT_CONFIRMED" &&
        toned("dim", pageOf(problem)),
    ),
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

async function printCalldata(
  vault: VaultHost,
  { from, ifExpired, safe, tokens }: TaskValues<typeof settleTask>,
  err: Output,
): Promise<TaskReport> {
  const built = await buildSettlement(vault, from, tokens, ifExpired);
  const { chainId, header, to, data, sender, estimatedGas, refusal } = built;
  // If this one is sent too, two rounds may be settled.
  const open = await findUnfinished(vault);
  const warnings = present([
    refusal !== null &&
      `${sender === ZeroAddress ? "the zero address" : sender} would see this call refused at block ${header.number}: ${escapeUntrusted(refusal.replace(/\.$/u, ""))}. The round may be settled already, or the contract may accept only another sender (--from).`,
    built.isContract && OTHER_ORIGIN,
    open !== null &&
      `a settlement is under way already: ${describeUnfinished(open)}. Finish it first, with --resume: both may be mined.`,
  ]).map((text) => toned("warn", `Warning: ${text}`));
  if (warnings.length > 0) {
    await say(err, notes(...warnings));
  }
  const { number, timestamp } = header;
  const document = safe
    ? toSafeBatch(built)
    : {
        network: vault.networkName,
        chainId,
        block: { number, timestamp },
        to,
        data,
        value: "0",
        estimatedGas,
      };
  return {
    json: document,
    // A wallet reads it, so it is JSON without --json, too.
    blocks: [code(toSafeJson(toJsonValue(document), 2))],
  };
}
