import askToConfirm from "@inquirer/confirm";
import type { NewTaskActionFunction } from "hardhat/types/tasks";

import type { BlockInfo } from "../src/rpc/node.js";
import { describeInput, parseAddress } from "../src/client/inputs.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { invalidArgument, vaultError } from "../src/errors.js";
import { describeTransfers } from "../src/rehearsal/describe-tokens.js";
import { buildSettlement } from "../src/settlement/calldata.js";
import { toSafeBatch } from "../src/settlement/safe-batch.js";
import { settleLocated } from "../src/settlement/settle-all.js";
import type {
  SettleAllOptions,
  SettlementPreflight,
} from "../src/settlement/types.js";
import { toJsonValue } from "../src/json.js";
import { escapeUntrusted, toSafeJson } from "../src/untrusted-text.js";
import { withVault } from "./open-vault.js";
import type { FormatContext } from "./output/format-value.js";
import {
  renderEvent,
  renderPreflight,
  renderSettlement,
} from "./output/settlement.js";
import { createStyle } from "./output/style.js";
import { wrapText } from "./output/table.js";
import type { Waiting } from "./output/waiting.js";
import { parseInteger, parseTimeout, repeatInstance } from "./parse-options.js";
import type { OutputStream } from "./output/destination.js";
import { runTask } from "./run-task.js";
import type { TaskArguments, TaskReport } from "./run-task.js";

export interface SettleTaskArguments extends TaskArguments {
  readonly at: string | undefined;
  readonly from: string | undefined;
  readonly yes: boolean;
  readonly assert: boolean;
  readonly calldata: boolean;
  readonly safe: boolean;
  readonly resume: boolean;
  readonly confirmations: string | undefined;
  readonly timeout: string | undefined;
}

/** What settling needs of a person and a terminal. */
export interface SettleConsole {
  readonly stderr: OutputStream;
  /** Undefined where there is nobody to ask. */
  readonly ask: ((question: string) => Promise<boolean>) | undefined;
}

const action: NewTaskActionFunction<SettleTaskArguments> = async (args, hre) =>
  await runTask(args, async () => {
    const options = parseSettleArguments(args);
    const needsNoKey = args.assert || args.calldata;
    return await withVault(
      hre,
      needsNoKey ? "read" : "write",
      args,
      async (vault, waiting) =>
        args.calldata
          ? await printCalldata(vault, args, waiting.stderr)
          : await settle(vault, args, options, processConsole(waiting)),
      options.timeout,
    );
  });

export default action;

/** Settles and reports, asking first unless `--yes`. */
export async function settle(
  vault: HardhatVault,
  args: Pick<SettleTaskArguments, "yes" | "wide">,
  options: SettleAllOptions,
  { stderr, ask }: SettleConsole,
): Promise<TaskReport> {
  const style = createStyle(stderr, args.wide);
  const say = (text: string): void => {
    stderr.write(`${text}\n`);
  };
  let chainTime = 0;
  let tokens: SettlementPreflight["tokens"] = new Map();
  const context = (): FormatContext => ({
    ...vault.settings,
    chainTime,
    raw: false,
  });
  const located = await settleLocated(vault, {
    ...options,
    onEvent: (event) => {
      if (event.type === "preflight") {
        ({ chainTime, tokens } = event.preflight);
        say(
          renderPreflight(
            event.preflight,
            { network: vault.networkName, chainId: event.preflight.chainId },
            context(),
            style,
          ),
        );
      } else {
        say(wrapText(renderEvent(event, style), style));
        if (
          event.type === "sending" &&
          vault.connection.networkConfig.type === "http"
        ) {
          say(
            wrapText(
              style.dim(
                repeatInstance(
                  "If this is interrupted, `vault settle --resume` goes on from here.",
                  vault.instanceName,
                ),
              ),
              style,
            ),
          );
        }
      }
    },
    ...(args.yes ? {} : { confirm: createConfirm(ask) }),
  });
  const { chainId, block, minedBlock } = located;
  const settlement = {
    ...located.settlement,
    reason:
      located.settlement.reason === null
        ? null
        : repeatInstance(located.settlement.reason, vault.instanceName),
  };
  const seen =
    minedBlock ?? (await blockOf(vault, settlement.blockNumber)) ?? block;
  const envelope = {
    network: vault.networkName,
    chainId,
    block:
      seen === undefined
        ? null
        : { number: seen.number, timestamp: seen.timestamp },
  };
  chainTime = envelope.block?.timestamp ?? chainTime;
  return {
    json: {
      ...envelope,
      settlement: {
        ...settlement,
        preview:
          settlement.preview === null
            ? null
            : describeTransfers(settlement.preview, tokens),
      },
    },
    ok:
      settlement.status === "settled" || settlement.status === "nothing-to-do",
    text: (outStyle) =>
      renderSettlement(
        settlement,
        envelope.block === null
          ? undefined
          : { ...envelope, block: envelope.block },
        context(),
        outStyle,
      ),
  };
}

/**
 * Reads the options of `vault settle`.
 *
 * @throws VaultError VAULT_INVALID_ARGUMENT, VAULT_INVALID_INTEGER,
 * VAULT_INVALID_ADDRESS
 */
export function parseSettleArguments(
  args: Omit<SettleTaskArguments, "json" | "wide" | "at" | "yes">,
): SettleAllOptions {
  const modes = (["assert", "calldata", "resume"] as const).filter(
    (mode) => args[mode],
  );
  if (modes.length > 1) {
    throw invalidArgument(
      modes.map((mode) => `--${mode}`).join(" and "),
      "they exclude each other",
    );
  }
  if (args.safe && !args.calldata) {
    throw invalidArgument("--safe", "it is a form of what --calldata prints");
  }
  return {
    assertOnly: args.assert,
    resume: args.resume,
    from:
      args.from === undefined ? undefined : parseAddress(args.from, "--from"),
    confirmations: parseConfirmations(args.confirmations),
    timeout: parseTimeout(args.timeout),
  };
}

function parseConfirmations(text: string | undefined): number | undefined {
  if (text === undefined) {
    return undefined;
  }
  const confirmations = Number(parseInteger(text, "--confirmations"));
  if (confirmations < 1 || !Number.isSafeInteger(confirmations)) {
    throw invalidArgument(
      "--confirmations",
      `a whole number of at least 1 is needed, got ${describeInput(text)}`,
    );
  }
  return confirmations;
}

async function printCalldata(
  vault: HardhatVault,
  { from, safe }: Pick<SettleTaskArguments, "from" | "safe">,
  stderr: OutputStream,
): Promise<TaskReport> {
  const { chainId, header, to, data, estimatedGas, refusal } =
    await buildSettlement(vault, from);
  const unsigned = {
    network: vault.networkName,
    chainId,
    block: { number: header.number, timestamp: header.timestamp },
    to,
    data,
    value: "0",
    estimatedGas,
  };
  if (refusal !== null) {
    const style = createStyle(stderr);
    stderr.write(
      `${wrapText(
        `${style.warn("Warning")} ${from ?? "The zero address"} would see this call refused at block ${header.number}: ${escapeUntrusted(refusal.replace(/\.$/u, ""))}. The round may be settled already, or the contract may want another sender (--from).`,
        style,
      )}\n`,
    );
  }
  const document = safe
    ? toSafeBatch(unsigned, { chainId, timestamp: header.timestamp })
    : unsigned;
  return {
    json: document,
    // It goes to a program in either case, the wallet's.
    text: () => toSafeJson(toJsonValue(document), 2),
  };
}

function createConfirm(
  ask: SettleConsole["ask"],
): NonNullable<SettleAllOptions["confirm"]> {
  return async () => {
    if (ask === undefined) {
      return vaultError("VAULT_NO_TERMINAL", {});
    }
    return (
      (await ask("Settle this round now?")) ||
      vaultError("VAULT_NOT_CONFIRMED", {})
    );
  };
}

/** What Node's readline says of a key. */
interface Keypress {
  readonly ctrl?: boolean;
  readonly name?: string;
}

function processConsole(waiting: Waiting): SettleConsole {
  const { stdin, stderr } = process;
  return {
    stderr: waiting.stderr,
    ask:
      stdin.isTTY && stderr.isTTY
        ? async (message) => {
            const closed = new AbortController();
            // The prompt would wait for ever after Ctrl-D, and with nothing
            // else to wait for Node would end without a word.
            const onKeypress = (
              _: unknown,
              key: Keypress | undefined,
            ): void => {
              if (key?.ctrl === true && key.name === "d") {
                closed.abort();
              }
            };
            stdin.on("keypress", onKeypress);
            try {
              return await waiting.pause(
                async () =>
                  await askToConfirm(
                    { message, default: false },
                    { output: stderr, signal: closed.signal },
                  ),
              );
            } catch {
              // Ctrl-C and a closed input are no Yes.
              return false;
            } finally {
              stdin.off("keypress", onKeypress);
            }
          }
        : undefined,
  };
}

/** The block of the settlement itself; its figures are known without it. */
async function blockOf(
  vault: HardhatVault,
  blockNumber: number | null,
): Promise<BlockInfo | undefined> {
  if (blockNumber === null) {
    return undefined;
  }
  try {
    return await vault.block(blockNumber);
  } catch {
    return undefined;
  }
}
