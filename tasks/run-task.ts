import { CustomError } from "@nomicfoundation/hardhat-utils/error";
import { errorResult, successfulResult } from "hardhat/utils/result";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NewTaskActionFunction } from "hardhat/types/tasks";

import { VaultError, fallbackTo, vaultError } from "../src/errors.js";
import { projectRedactor } from "../src/plugin/network-secrets.js";
import {
  isMarked,
  messageOf,
  toHardhatError,
} from "../src/rpc/hardhat-errors.js";
import { toSafeJson } from "../src/escape.js";
import type { Redactor } from "../src/redact.js";
import { inFlags, pageOf, toDocument } from "./error-texts.js";
import type { Block } from "./output/blocks.js";
import { renderText, wrapText } from "./output/render-text.js";
import type { CommonValues, Task } from "./definitions.js";
import type { Options, ValuesOf } from "./options.js";
import { parseOptions } from "./parse-options.js";
import type { TypedOptions } from "./parse-options.js";
import { withTerminal } from "./terminal.js";
import type { Terminal } from "./terminal.js";

/** The result of a task. */
export interface TaskReport {
  readonly streamed?: undefined;
  /** The document of `--json`; bigints become decimal strings. */
  readonly json: unknown;
  /** The same for a person. */
  readonly blocks: readonly Block[];
  /** False for exit code 1. Default: true. */
  readonly ok?: boolean;
}

/** The result of a task that wrote its output itself. */
export interface StreamedReport {
  readonly streamed: true;
  readonly ok: boolean;
}

export interface TaskSurroundings {
  readonly hre: HardhatRuntimeEnvironment;
  readonly terminal: Terminal;
  /** The options as typed, `--network` included. */
  readonly typed: TypedOptions;
}

/**
 * Makes the action of a task: it parses the options, works, and prints the report or the
 * error. An error is never rethrown: Hardhat would print its stack and its causes,
 * including secrets.
 */
export function taskAction<Described extends Options>(
  described: Task<Described>,
  work: (
    args: ValuesOf<Described> & CommonValues,
    surroundings: TaskSurroundings,
  ) => Promise<TaskReport | StreamedReport>,
): NewTaskActionFunction {
  return async (args: TypedOptions, hre) => {
    const typed = { ...args, network: hre.globalOptions.network };
    const isJson = args["json"] === true;
    const runIn = async (terminal: Terminal): Promise<boolean> => {
      const { out } = terminal;
      try {
        const values = parseOptions(described, args);
        const report = await work(values, { hre, terminal, typed });
        if (report.streamed === undefined) {
          const text = isJson
            ? toSafeJson(toDocument(report.json))
            : renderText(report.blocks, out.style);
          await out.write(`${text}\n`);
        }
        return report.ok !== false;
      } catch (thrown) {
        const error = toVaultError(thrown, projectRedactor(hre));
        await printError(inFlags(error, typed), isJson, terminal);
        return false;
      }
    };
    const isFine = await withTerminal(hre, runIn, args["instance"]);
    return isFine ? successfulResult() : errorResult();
  };
}

async function printError(
  { code, shortMessage, fix, details }: ReturnType<typeof inFlags>,
  isJson: boolean,
  { out, err: { write, style } }: Terminal,
): Promise<void> {
  const message = `${shortMessage} ${fix}`;
  if (isJson && code !== "VAULT_OUTPUT_NOT_WRITTEN") {
    const document = toSafeJson({ error: { code, message, details } });
    // If stdout cannot be written, stderr may still be.
    const failed = "failed";
    if (
      (await out.write(`${document}\n`).catch(fallbackTo(failed))) !== failed
    ) {
      return;
    }
  }
  const text =
    code === "VAULT_NOT_CONFIRMED"
      ? style.warn(message)
      : `${style.bad("Error")} ${shortMessage}\n${fix} ${style.dim(`(${code})`)}\n${style.dim(pageOf(code))}`;
  await write(`${wrapText(text, style)}\n`);
}

/** @param redactor Knows the secrets that Hardhat or a plugin may repeat. */
export function toVaultError(thrown: unknown, redactor: Redactor): VaultError {
  if (VaultError.isVaultError(thrown)) {
    return thrown;
  }
  // Hardhat's helpers, such as those for files, throw errors without a mark.
  if (thrown instanceof CustomError || isMarked(thrown)) {
    return toHardhatError(thrown, redactor);
  }
  const problem = redactor.quote(messageOf(thrown));
  return vaultError("VAULT_INTERNAL", { problem }, thrown);
}
