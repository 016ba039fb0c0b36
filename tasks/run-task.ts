import { errorResult, successfulResult } from "hardhat/utils/result";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NewTaskActionFunction } from "hardhat/types/tasks";
import type { Result } from "hardhat/types/utils";

import { VaultError, fallbackTo, vaultError } from "../src/errors.js";
import { messageOf } from "../src/rpc/errors.js";
import { quoteForeignText, toSafeJson } from "../src/untrusted-text.js";
import type { Arguments, CommonValues, ValuesOf } from "./arguments.js";
import { inFlags, toDocument } from "./error-texts.js";
import type { Block } from "./output/blocks.js";
import { renderText, wrapText } from "./output/render-text.js";
import { parseArguments } from "./parse-arguments.js";
import type { TypedArguments } from "./parse-arguments.js";
import { withTerminal } from "./terminal.js";
import type { Terminal } from "./terminal.js";

/** What a task has to say. */
export interface TaskReport {
  /** The document of `--json`; bigints become decimal strings. */
  readonly json: unknown;
  /** The same for a person. */
  readonly blocks: readonly Block[];
  /** False for exit code 1; true unless given. */
  readonly ok?: boolean;
}

/** A task that has written all it has to say by itself, piece by piece. */
export interface StreamedReport {
  readonly streamed: true;
  /** False for exit code 1. */
  readonly ok: boolean;
}

/** What a task runs with, beside its arguments. */
export interface TaskSurroundings {
  readonly hre: HardhatRuntimeEnvironment;
  readonly terminal: Terminal;
}

/**
 * The action of a task: parses its arguments, and {@link runTask | runs} it.
 *
 * @param isReserved Stdout is for documents alone, also without `--json`.
 */
export function taskAction<Described extends Arguments>(
  described: Described,
  work: (
    args: ValuesOf<Described> & CommonValues,
    surroundings: TaskSurroundings,
  ) => Promise<TaskReport | StreamedReport>,
  isReserved = false,
): NewTaskActionFunction {
  return async (typed: TypedArguments, hre) =>
    await withTerminal(
      hre.hooks,
      isReserved || typed["json"] === true || typed["format"] !== undefined,
      async (terminal) =>
        await runTask(
          typed,
          async () =>
            await work(parseArguments(described, typed, hre), {
              hre,
              terminal,
            }),
          terminal,
        ),
    );
}

/**
 * Runs a task to its end: prints its report, or its error, the way that
 * `--json` asks for.
 *
 * Errors are printed here and never thrown on: Hardhat would print a stack and
 * causes, secrets included.
 *
 * @returns What Hardhat turns into the exit code.
 */
export async function runTask(
  typed: TypedArguments,
  work: () => Promise<TaskReport | StreamedReport>,
  { out, err }: Pick<Terminal, "out" | "err">,
): Promise<Result<undefined, undefined>> {
  const json = typed["json"] === true;
  try {
    const report = await work();
    if (!("streamed" in report)) {
      await out.write(
        json
          ? `${toSafeJson(toDocument(report.json))}\n`
          : `${renderText(report.blocks, out.style)}\n`,
      );
    }
    return report.ok === false ? errorResult() : successfulResult();
  } catch (thrown) {
    const error = inFlags(toVaultError(thrown), typed);
    const { code, shortMessage, fix, details } = error;
    const message = `${shortMessage} ${fix}`;
    const document = toSafeJson({ error: { code, message, details } });
    const isWritten =
      json &&
      code !== "VAULT_OUTPUT_NOT_WRITTEN" &&
      (await out.write(`${document}\n`).then(
        () => true,
        // The disk is full, and stderr may be elsewhere.
        fallbackTo(false),
      ));
    if (!isWritten) {
      const { style } = err;
      const text = `${style.bad("Error")} ${shortMessage}\n${fix} ${style.dim(`(${code})`)}`;
      await err.write(`${wrapText(text, style)}\n`);
    }
    return errorResult();
  }
}

function toVaultError(thrown: unknown): VaultError {
  if (VaultError.isVaultError(thrown)) {
    return thrown;
  }
  const isHardhatError =
    thrown instanceof Error &&
    "errorCode" in thrown &&
    typeof thrown.errorCode === "string" &&
    thrown.errorCode.startsWith("HHE");
  return vaultError(
    isHardhatError ? "VAULT_HARDHAT_ERROR" : "VAULT_INTERNAL",
    { problem: quoteForeignText(messageOf(thrown)) },
    thrown,
  );
}
