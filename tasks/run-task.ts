import { CustomError } from "@nomicfoundation/hardhat-utils/error";
import { errorResult, successfulResult } from "hardhat/utils/result";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NewTaskActionFunction } from "hardhat/types/tasks";
import type { Result } from "hardhat/types/utils";

import { VaultError, fallbackTo, vaultError } from "../src/errors.js";
import { projectRedactor } from "../src/plugin/network-secrets.js";
import { toHardhatError } from "../src/rpc/errors.js";
import { isMarked, messageOf } from "../src/rpc/thrown.js";
import { toSafeJson } from "../src/escape.js";
import { Redactor } from "../src/redact.js";
import { inFlags, pageOf, toDocument } from "./error-texts.js";
import type { Block } from "./output/blocks.js";
import { renderText, wrapText } from "./output/render-text.js";
import type { Options, ValuesOf } from "./definitions.js";
import type { CommonValues, Task } from "./definitions.js";
import { excludeAlternatives, parseOptions } from "./parse-options.js";
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
  /** False for exit code 1. */
  readonly ok: boolean;
}

export interface TaskSurroundings {
  readonly hre: HardhatRuntimeEnvironment;
  readonly terminal: Terminal;
  /** The options as typed, `--network` included. */
  readonly typed: TypedOptions;
}

export function taskAction<Described extends Options>(
  described: Task<Described>,
  work: (
    args: ValuesOf<Described> & CommonValues,
    surroundings: TaskSurroundings,
  ) => Promise<TaskReport | StreamedReport>,
): NewTaskActionFunction {
  return async (args: TypedOptions, hre) => {
    const typed = { ...args, network: hre.globalOptions.network };
    return await withTerminal(
      hre,
      async (terminal) =>
        await runTask(
          typed,
          async () => {
            const { options, alternatives } = described;
            const parsed = parseOptions(options, args);
            excludeAlternatives(alternatives, args);
            return await work(parsed, { hre, terminal, typed });
          },
          terminal,
          projectRedactor(hre),
        ),
      args["instance"],
    );
  };
}

/**
 * Runs a task, and prints its report or its error.
 *
 * An error is never rethrown: Hardhat would print its stack and its causes,
 * including secrets.
 */
export async function runTask(
  typed: TypedOptions,
  work: () => Promise<TaskReport | StreamedReport>,
  { out, err }: Pick<Terminal, "out" | "err">,
  redactor = new Redactor(),
): Promise<Result<undefined, undefined>> {
  const json = typed["json"] === true;
  try {
    const report = await work();
    if (report.streamed === undefined) {
      await out.write(
        json
          ? `${toSafeJson(toDocument(report.json))}\n`
          : `${renderText(report.blocks, out.style)}\n`,
      );
    }
    return report.ok === false ? errorResult() : successfulResult();
  } catch (thrown) {
    const error = inFlags(toVaultError(thrown, redactor), typed);
    const { code, shortMessage, fix, details } = error;
    const message = `${shortMessage} ${fix}`;
    const document = toSafeJson({ error: { code, message, details } });
    const isWritten =
      json &&
      code !== "VAULT_OUTPUT_NOT_WRITTEN" &&
      (await out.write(`${document}\n`).then(
        () => true,
        // If stdout cannot be written, stderr may still be.
        fallbackTo(false),
      ));
    if (!isWritten) {
      const { style } = err;
      const text =
        code === "VAULT_NOT_CONFIRMED"
          ? style.warn(message)
          : `${style.bad("Error")} ${shortMessage}\n${fix} ${style.dim(`(${code})`)}\n${style.dim(pageOf(code))}`;
      await err.write(`${wrapText(text, style)}\n`);
    }
    return errorResult();
  }
}

/** @param redactor Knows the secrets that Hardhat or a plugin may repeat. */
export function toVaultError(thrown: unknown, redactor: Redactor): VaultError {
  if (VaultError.isVaultError(thrown)) {
    return thrown;
  }
  // Hardhat's helpers, such as those for files, throw errors without a mark.
  return thrown instanceof CustomError || isMarked(thrown)
    ? toHardhatError(thrown, redactor)
    : vaultError(
        "VAULT_INTERNAL",
        { problem: redactor.quote(messageOf(thrown)) },
        thrown,
      );
}
