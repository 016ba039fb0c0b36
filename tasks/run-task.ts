import { errorResult, successfulResult } from "hardhat/utils/result";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NewTaskActionFunction } from "hardhat/types/tasks";
import type { Result } from "hardhat/types/utils";

import { VaultError, textsForCommandLine, vaultError } from "../src/errors.js";
import { messageOf } from "../src/rpc/errors.js";
import { quoteForeignText, toSafeJson } from "../src/untrusted-text.js";
import type { Block } from "./output/blocks.js";
import { outliveReaders, writeWhole } from "./output/destination.js";
import type { OutputStream, WriteText } from "./output/destination.js";
import { renderText, wrapText } from "./output/render-text.js";
import { createStyle } from "./output/style.js";
import { instanceFlag, toDocument, toFlag } from "./parse-options.js";

/** Where a task writes, so that a test needs no terminal. */
export interface TaskOutput {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
}

/** What a task has to say. */
export interface TaskReport {
  /** The document of `--json`; bigints become decimal strings. */
  readonly json: unknown;
  /** The same for a person. */
  readonly blocks: readonly Block[];
  /** False for exit code 1; true unless given. */
  readonly ok?: boolean;
}

/** The options of every task. */
export interface TaskArguments {
  readonly json: boolean;
  /** Addresses in the place of those that the settings name. */
  readonly at?: string | undefined;
  /** The set of contracts, where it is not the network's own. */
  readonly instance?: string | undefined;
  /** Of lines that go to a program, which want stdout for themselves. */
  readonly format?: string | undefined;
}

/** A task that has written all it has to say by itself, piece by piece. */
export interface StreamedReport {
  readonly streamed: true;
  /** False for exit code 1. */
  readonly ok: boolean;
}

/** The action of a task, {@link runTask | run to its end}. */
export function taskAction<Args extends TaskArguments>(
  work: (
    args: Args,
    hre: HardhatRuntimeEnvironment,
    write: WriteText,
  ) => Promise<TaskReport | StreamedReport>,
): NewTaskActionFunction<Args> {
  return async (args, hre) =>
    await runTask(args, async (write) => await work(args, hre, write));
}

/**
 * Runs a task to its end: prints its report, or its error, the way that
 * `--json` asks for.
 *
 * Errors are printed here and never thrown on: Hardhat would print a stack and
 * causes, secrets included.
 *
 * @param work Is given what writes to stdout, for output piece by piece.
 * @returns What Hardhat turns into the exit code.
 */
export async function runTask(
  args: TaskArguments,
  work: (write: WriteText) => Promise<TaskReport | StreamedReport>,
  { stdout, stderr }: TaskOutput = process,
): Promise<Result<undefined, undefined>> {
  const { json, format } = args;
  outliveReaders();
  try {
    const report =
      json || format !== undefined
        ? await withStdoutOnStderr(work)
        : await work(writeToTrueStdout);
    if (!("streamed" in report)) {
      await writeTo(
        stdout,
        json
          ? `${toSafeJson(toDocument(report.json))}\n`
          : `${renderText(report.blocks, createStyle(stdout))}\n`,
      );
    }
    return report.ok === false ? errorResult() : successfulResult();
  } catch (thrown) {
    const error = inFlags(toVaultError(thrown), args);
    const { code, shortMessage, fix, details } = error;
    if (json && code !== "VAULT_OUTPUT_NOT_WRITTEN") {
      try {
        const message = `${shortMessage} ${fix}`;
        const document = { error: { code, message, details } };
        await writeTo(stdout, `${toSafeJson(document)}\n`);
        return errorResult();
      } catch (unwritten) {
        // The disk is full, and stderr may be elsewhere.
        if (!isUnwritten(unwritten)) {
          throw unwritten;
        }
      }
    }
    const style = createStyle(stderr);
    const text = `${style.bad("Error")} ${shortMessage}\n${fix} ${style.dim(`(${code})`)}`;
    stderr.write(`${wrapText(text, style)}\n`);
    return errorResult();
  }
}

/** Options of the API whose flag has another name. */
const otherFlags: Readonly<Record<string, string>> = {
  blockTag: "--block",
  blockNumber: "--block",
  engine: "--fork",
  lastId: "--ids",
};

/** An error of the API in the words of the command line. */
function inFlags(
  error: VaultError,
  args: TaskArguments,
): Pick<VaultError, "code" | "shortMessage" | "fix" | "details"> {
  const where = String(error.details["where"]);
  const flag = Object.hasOwn(args, where) ? toFlag(where) : otherFlags[where];
  const names = flag === undefined ? {} : { where: flag };
  return {
    code: error.code,
    ...textsForCommandLine(error, {
      ...names,
      "--instance": instanceFlag(args.instance),
    }),
    details: { ...error.details, ...names },
  };
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
    isUnwritten(thrown)
      ? "VAULT_OUTPUT_NOT_WRITTEN"
      : isHardhatError
        ? "VAULT_HARDHAT_ERROR"
        : "VAULT_INTERNAL",
    { problem: quoteForeignText(messageOf(thrown)) },
    thrown,
  );
}

/** Whether it is the system's word that something was not written. */
function isUnwritten(thrown: unknown): boolean {
  return (
    thrown instanceof Error && "syscall" in thrown && thrown.syscall === "write"
  );
}

/** Writes to a stream of a task, past what another task's output is kept from. */
async function writeTo(stream: OutputStream, text: string): Promise<void> {
  if (stream === process.stdout) {
    // What was done is done, whether somebody reads of it or not.
    await writeWhole(text, writeToTrueStdout);
  } else {
    stream.write(text);
  }
}

/** The `write` of stdout while that is kept free for documents. */
let undiverted: typeof process.stdout.write | undefined;
let divertingTasks = 0;

/** Writes to stdout, also while it is diverted. */
const writeToTrueStdout: WriteText = (text, done) =>
  undiverted === undefined
    ? process.stdout.write(text, done)
    : Reflect.apply(undiverted, process.stdout, [text, done]);

/**
 * Lets everything that others print to stdout meanwhile (Solidity's
 * `console.log` in an in-process network, prompts for configuration variables)
 * go to stderr, so that stdout holds the document alone.
 *
 * @param work Is given what still writes to stdout.
 */
export async function withStdoutOnStderr<T>(
  work: (write: WriteText) => Promise<T>,
): Promise<T> {
  const { stdout, stderr } = process;
  // Of tasks that run at once, the first diverts and the last ends it.
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called as the stream's own
  const original = (undiverted ??= stdout.write);
  divertingTasks += 1;
  stdout.write = stderr.write.bind(stderr);
  try {
    return await work(writeToTrueStdout);
  } finally {
    divertingTasks -= 1;
    if (divertingTasks === 0) {
      stdout.write = original;
      undiverted = undefined;
    }
  }
}
