import { ZeroAddress } from "ethers";

import type { VaultHost } from "../src/host.js";
import { invalidArgument, vaultError } from "../src/errors.js";
import { withTokens } from "./output/simulation.js";
import { buildSettlement, toSafeBatch } from "../src/settlement/calldata.js";
import {
  describeUnfinished,
  findUnfinished,
} from "../src/settlement/next-run.js";
import { settleAll } from "../src/settlement/settle-all.js";
import type {
  SettleAllOptions,
  SettlementPreflight,
} from "../src/settlement/types.js";
import { hasEnded, isSameRound } from "../src/protocol/round.js";
import { OTHER_ORIGIN } from "../src/guard/call.js";
import { keysOf } from "../src/protocol/index.js";
import { toJsonValue } from "../src/json.js";
import { escapeUntrusted, toSafeJson } from "../src/escape.js";
import { settleTask } from "./definitions.js";
import type { TaskValues } from "./definitions.js";
import { messageForCommandLine, repeatFlags } from "./error-texts.js";
import { withVault } from "./open-vault.js";
import { code, notes, present, toned } from "./output/blocks.js";
import type { Block } from "./output/blocks.js";
import { say } from "./output/render-text.js";
import {
  describeEvent,
  earlyWarning,
  preflightBlocks,
  replacementBlocks,
  settlementBlocks,
} from "./output/settlement.js";
import { toFlag } from "./parse-options.js";
import type { TypedOptions } from "./parse-options.js";
import { taskAction } from "./run-task.js";
import type { TaskReport } from "./run-task.js";
import type { Output } from "./output/style.js";
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
  const { block, chainId, settlement, refusal, openReason } = await settleAll(
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
        : (openReason ?? settlement.reason);
  const isOpen = reason !== null && reason === openReason;
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
  headAge,
  preview,
}: SettlementPreflight): string {
  return present([
    headAge !== null && `The newest block is ${headAge} s old.`,
    preview?.status === "not-settled" &&
      "The simulation does NOT settle the round.",
    questions[`${hasEnded(round, chainTime)}`],
  ]).join(" ");
}

const requirements = {
  safe: "calldata",
  bump: "resume",
  cancel: "resume",
} as const;

/** @throws VaultError VAULT_INVALID_ARGUMENT for flags that need others */
export function toOptions(
  args: TaskValues<typeof settleTask>,
): SettleAllOptions {
  for (const name of keysOf(requirements)) {
    const needed = toFlag(requirements[name]);
    if (args[name] && !args[requirements[name]]) {
      const problem = `it needs ${needed}`;
      throw invalidArgument(toFlag(name), problem, `Add ${needed}.`);
    }
  }
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
