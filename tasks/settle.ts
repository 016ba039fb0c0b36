import { capitalize } from "@nomicfoundation/hardhat-utils/string";

import { vaultError } from "../src/errors.js";
import type { VaultError } from "../src/errors.js";
import { escapeUntrusted } from "../src/escape.js";
import { isInProcess } from "../src/host.js";
import type { VaultHost } from "../src/host.js";
import { HOW_TO_REPLACE } from "../src/plugin/doctor.js";
import { signingKinds } from "../src/plugin/settlement-checks.js";
import { groupDigits } from "../src/protocol/index.js";
import { NO_ROUND, hasEnded, isSameRound } from "../src/protocol/round.js";
import { stillOpen } from "../src/settlement/effect.js";
import { settleAll } from "../src/settlement/settle-all.js";
import type {
  ReplacementPreflight,
  SettleAllOptions,
  Settlement,
  SettlementEvent,
  SettlementPreflight,
} from "../src/settlement/options.js";
import { changesBetween } from "../src/simulation/watch-list.js";
import { printCalldata } from "./calldata.js";
import { tasks } from "./definitions.js";
import type { TaskValues } from "./definitions.js";
import { withVault } from "./open-vault.js";
import {
  labelledValues,
  notes,
  present,
  title,
  toned,
} from "./output/blocks.js";
import type { Block, Cell, Content, Envelope } from "./output/blocks.js";
import { formatCountdown, nativeAmount } from "./output/format-value.js";
import type { FormatContext } from "./output/format-value.js";
import { readingsBlock } from "./output/readings.js";
import { say } from "./output/render-text.js";
import type { RawArgs } from "./parse-options.js";
import {
  messageForCommandLine,
  pageOf,
  repeatFlags,
  taskAction,
} from "./run-task.js";
import type { TaskReport } from "./run-task.js";
import {
  changesTable,
  effectBlocks,
  engineNames,
  withTokens,
} from "./simulate.js";
import type { Terminal } from "./terminal.js";

export default taskAction(tasks.settle, async (args, surroundings) => {
  const { terminal, rawArgs } = surroundings;
  return await withVault(
    surroundings,
    { ...args, access: isSigning(args) ? "write" : "read" },
    async (vault) =>
      args.calldata
        ? await printCalldata(vault, args, terminal.err)
        : await settle(vault, rawArgs, toOptions(args), terminal),
  );
});

/** False for what needs no key: a locked one must not keep anybody from following. */
function isSigning(args: TaskValues<"settle">): boolean {
  return args.resume
    ? args.bump || args.cancel
    : !args.assert && !args.calldata;
}

export function toOptions(args: TaskValues<"settle">): SettleAllOptions {
  const { confirmations } = args;
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
      confirmations === undefined ? undefined : Number(confirmations),
    timeout: args.timeout,
  };
}

export async function settle(
  vault: VaultHost,
  rawArgs: RawArgs,
  options: SettleAllOptions,
  { err, ask }: Pick<Terminal, "err" | "ask">,
): Promise<TaskReport> {
  const { networkName: network, settings } = vault;
  const tell = (...blocks: readonly Block[]): void => {
    void say(err, ...blocks);
  };
  const isAgreed = rawArgs["yes"] === true;
  // A keeper's log has one document a run: errors and the hash go to stderr.
  const isLogged = isAgreed && rawArgs["json"] === true;
  const { confirmations, partial } = options;
  const flags = [
    partial === true ? " --partial" : "",
    confirmations === undefined ? "" : ` --confirmations ${confirmations}`,
    repeatFlags(rawArgs),
  ];
  const resume = `npx hardhat vault settle --resume${flags.join("")}`;
  let chainTime = 0;
  let tokens: SettlementPreflight["tokens"] = new Map();

  const onPreflight = (preflight: SettlementPreflight): void => {
    ({ chainTime, tokens } = preflight);
    if (!isLogged) {
      const context = { ...settings, chainTime, raw: false };
      tell(...preflightBlocks(preflight, network, context));
      const doubts = doubtsAbout(preflight);
      if (preflight.outcome === "succeeds" && doubts.length > 0) {
        tell();
        tell(notes(...doubts.map((doubt) => toned("bad", doubt))));
      }
      tell();
    }
  };
  const onEvent = (event: SettlementEvent): void => {
    if (event.type === "preflight") {
      onPreflight(event.preflight);
      return;
    }
    if (!isLogged || !["mined", "confirmed"].includes(event.type)) {
      tell(notes(describeEvent(event)));
    }
    if (
      event.type === "sending" &&
      !isLogged &&
      options.resume !== true &&
      !isInProcess(vault)
    ) {
      tell(notes(toned("dim", `If this is interrupted: \`${resume}\``)));
    }
  };
  const confirm = async (
    preflight: SettlementPreflight,
  ): Promise<true | VaultError> => {
    const question =
      doubtsAbout(preflight).length === 0
        ? "Settle this round now?"
        : "Settle in spite of the warning?";
    return ask === undefined
      ? vaultError("VAULT_NO_TERMINAL", {})
      : (await ask(question)) || vaultError("VAULT_NOT_CONFIRMED", {});
  };
  const confirmReplacement = async (
    replacement: ReplacementPreflight,
  ): Promise<true | string> => {
    tell(...replacementBlocks(replacement, network));
    tell();
    return ask === undefined
      ? "there is no terminal to ask on; --yes raises it without a question"
      : (await ask("Raise the fee now?")) || "not confirmed";
  };

  const { block, chainId, settlement, refusal, isFinal } = await settleAll(
    vault,
    {
      ...options,
      onEvent,
      confirm: isAgreed || options.resume === true ? undefined : confirm,
      confirmReplacement:
        isAgreed || options.bump !== true ? undefined : confirmReplacement,
    },
  );
  const { code: problem, preview, status, before, after } = settlement;
  const isStep =
    options.partial === true &&
    status === "not-settled" &&
    before !== null &&
    after?.settled === false &&
    isSameRound(before, after);
  const refused =
    refusal === undefined ? undefined : messageForCommandLine(refusal, rawArgs);
  const reason =
    refused !== undefined
      ? isFinal
        ? refused
        : stillOpen(refused)
      : isStep
        ? `This step was mined in block ${settlement.blockNumber}, and the round is still open, as --partial allows. The next run sends the next step.`
        : settlement.reason;
  // In process there is no journal to resume from.
  const isOpen = !isFinal && !isInProcess(vault);
  const place = { network, chainId };
  const envelope = block === undefined ? undefined : { ...place, block };
  return {
    json: {
      ...place,
      block: block ?? null,
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
      { ...settings, raw: false, chainTime: block?.timestamp ?? chainTime },
      isOpen ? resume : undefined,
    ),
  };
}

/** What speaks against this settlement, though its call succeeds. */
function doubtsAbout({
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

export function preflightBlocks(
  preflight: SettlementPreflight,
  network: string,
  context: FormatContext,
): readonly Block[] {
  const { chainId, round, contract, from, signing, balance } = preflight;
  const { gas, cost, maxCost, preview, guard, tokens } = preflight;
  const contracts = [{ ...contract, role: "vault" } as const];
  return [
    title("About to settle this round"),
    readingsBlock("getLatestRoundInfo", [{ value: round }], context),
    ...(preview === null
      ? []
      : effectBlocks(
          { simulation: preview, sender: from, contracts, tokens },
          context,
        )),
    labelledValues([
      ["Network", `${escapeUntrusted(network)} (chain ${chainId})`],
      ["Vault contract", { text: contract.address, note: contract.source }],
      guard !== null && [
        "Guard",
        { text: guard, note: "settles this round and no other, or reverts" },
      ],
      ["Signer", { text: from, note: signingKinds[signing] }],
      ["Balance", nativeAmount(balance)],
      gas !== null && ["Gas limit", groupDigits(String(gas))],
      cost !== null && ["Cost", nativeAmount(cost, maxCost ?? 0n)],
      ["Simulated", describePreview(preflight)],
    ]),
  ];
}

function describePreview({
  preview,
  outcome,
  reason,
}: SettlementPreflight): Cell {
  const engine =
    preview === null
      ? "by a call, which shows no effect"
      : `by ${engineNames[preview.engine]}`;
  if (outcome === "succeeds" && preview?.status !== "not-settled") {
    return toned("good", outcome, engine);
  }
  const text =
    outcome === "reverts" ? outcome : "succeeds, and does not settle the round";
  const why = escapeUntrusted(reason ?? preview?.reason ?? "");
  // In the last column: a long reason would widen every line above.
  return toned("bad", text, `${engine}: ${why}`);
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
      ["Cost until now", `at most ${nativeAmount(earlierMaxCost)}`],
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
  const { gasUsed, cost } = settlement;
  // A contract can revert with an empty text.
  const why = problem === "VAULT_NOT_CONFIRMED" ? "" : (reason ?? "");
  const isInHeading = [null, envelope?.block.number].includes(blockNumber);
  return [
    title("Settlement", isInHeading ? envelope : undefined),
    labelledValues([
      ["Outcome", describeOutcome(settlement)],
      why !== "" && ["Reason", escapeUntrusted(why)],
      (hash !== null || status === "reverted") && [
        "Transaction",
        hash ?? "none: nothing was sent",
      ],
      !isInHeading &&
        envelope !== undefined && [
          "Network",
          `${escapeUntrusted(envelope.network)} (chain ${envelope.chainId})`,
        ],
      !isInHeading && ["Block", String(blockNumber)],
      gasUsed !== null && ["Gas used", groupDigits(String(gasUsed))],
      cost !== null && ["Cost", nativeAmount(cost)],
    ]),
    notes(
      resume !== undefined && `To continue: \`${resume}\``,
      resume !== undefined &&
        blockNumber === null &&
        `If it stays, ${HOW_TO_REPLACE}`,
    ),
    ...changeBlocks(settlement, context),
    notes(
      problem !== null &&
        problem !== "VAULT_NOT_CONFIRMED" &&
        toned("dim", pageOf(problem)),
    ),
  ];
}

function describeOutcome({ status, code: error, hash }: Settlement): Cell {
  if (error === "VAULT_NOT_CONFIRMED") {
    return toned("warn", "Cancelled. Nothing was sent.");
  }
  if (error === "VAULT_SETTLEMENT_NEEDED") {
    return toned("warn", "Settlement needed");
  }
  const isOnlySimulated = status === "reverted" && hash === null;
  const text = isOnlySimulated ? "would revert" : status.replaceAll("-", " ");
  const isHarmless = status === "nothing-to-do" || status === "cancelled";
  const tone = status === "settled" ? "good" : isHarmless ? "warn" : "bad";
  return toned(tone, capitalize(text));
}

/** What became of the round, and whether it is what the preview showed. */
function changeBlocks(
  { before, after, preview, differences, blockNumber }: Settlement,
  context: FormatContext,
): readonly Block[] {
  const changes = changesBetween(
    new Map([["round", before]]),
    new Map([["round", after]]),
  );
  const isMined = preview !== null && blockNumber !== null;
  return [
    ...(before === null || after === null
      ? []
      : [
          changesTable(changes, context),
          notes(
            changes.length === 0 && toned("dim", "The round did not change."),
          ),
        ]),
    notes(
      isMined &&
        (differences === null
          ? toned("dim", "It is not known if it came as previewed.")
          : differences.length === 0
            ? toned("good", "Readings and token transfers are as previewed.")
            : toned("warn", "Not as previewed:")),
    ),
    changesTable(
      (isMined ? (differences ?? []) : []).map(
        ({ previewed, happened, ...place }) => ({
          ...place,
          before: previewed,
          after: happened,
        }),
      ),
      context,
      ["Previewed", "Happened"],
    ),
  ];
}
