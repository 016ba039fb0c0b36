import { CustomError } from "@nomicfoundation/hardhat-utils/error";
import { errorResult, successfulResult } from "hardhat/utils/result";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NewTaskActionFunction } from "hardhat/types/tasks";

import {
  VaultError,
  fallbackTo,
  textsForCommandLine,
  vaultError,
} from "../src/errors.js";
import { projectRedactor } from "../src/plugin/project.js";
import { ownerOf, messageOf, toHardhatError } from "../src/rpc/errors.js";
import { toSafeJson } from "../src/foreign-text.js";
import type { Redactor } from "../src/foreign-text.js";
import { toJsonValue } from "../src/json.js";
import type { Part } from "./output/screen.js";
import { renderText, wrapText } from "./output/screen.js";
import { parseTaskValues, toFlag } from "./parse-options.js";
import type { RawArgs, Task } from "./parse-options.js";
import { withTerminal } from "./terminal.js";
import type { Terminal } from "./terminal.js";

/** The result of a task. */
export interface TaskReport {
  /** The document of `--json`; bigints become decimal strings. */
  readonly json: unknown;
  /** The same for a person. */
  readonly screen: readonly Part[];
  /** False for exit code 1. Default: true. */
  readonly ok?: boolean;
}

export interface TaskSurroundings {
  readonly hre: HardhatRuntimeEnvironment;
  readonly terminal: Terminal;
  /** The options as typed, `--network` included. */
  readonly rawArgs: RawArgs;
}

/** A task that writes its output itself returns if it succeeded. */
export type TaskResult = Promise<TaskReport | boolean>;

/**
 * Makes the action of a task: it parses the options, works, and prints the report or the
 * error. An error is never rethrown: Hardhat would print its stack and its causes,
 * including secrets.
 */
export function taskAction<Values>(
  task: Task<Values>,
  work: (args: Values, surroundings: TaskSurroundings) => TaskResult,
): NewTaskActionFunction {
  return async (args: RawArgs, hre) => {
    const rawArgs = { ...args, network: hre.globalOptions.network };
    const runIn = async (terminal: Terminal): Promise<boolean> => {
      const { out } = terminal;
      try {
        const values = parseTaskValues(task, args);
        const report = await work(values, { hre, terminal, rawArgs });
        if (typeof report === "boolean") {
          return report;
        }
        const text =
          args["json"] === true
            ? toSafeJson(toDocument(report.json))
            : renderText(report.screen, out.style);
        await out.write(`${text}\n`);
        return report.ok !== false;
      } catch (thrown) {
        const error = toVaultError(thrown, projectRedactor(hre));
        await printError(error, rawArgs, terminal);
        return false;
      }
    };
    const isFine = await withTerminal(hre, runIn, args["instance"]);
    return isFine ? successfulResult() : errorResult();
  };
}

/** @param redactor Knows the secrets that Hardhat or a plugin may repeat. */
export function toVaultError(thrown: unknown, redactor: Redactor): VaultError {
  if (VaultError.isVaultError(thrown)) {
    return thrown;
  }
  // Hardhat's helpers, such as those for files, throw errors without a mark.
  if (thrown instanceof CustomError || ownerOf(thrown) !== undefined) {
    return toHardhatError(thrown, redactor);
  }
  const problem = redactor.quote(messageOf(thrown));
  return vaultError("VAULT_INTERNAL", { problem }, thrown);
}

async function printError(
  error: VaultError,
  rawArgs: RawArgs,
  { out, err: { write, style } }: Terminal,
): Promise<void> {
  const { code } = error;
  const { shortMessage, fix, details } = inFlags(error, rawArgs);
  const message = `${shortMessage} ${fix}`;
  if (rawArgs["json"] === true && code !== "VAULT_OUTPUT_NOT_WRITTEN") {
    const document = toSafeJson({ error: { code, message, details } });
    const isDone = await out
      .write(`${document}\n`)
      .then(() => true)
      // If stdout cannot be written, stderr may still be.
      .catch(fallbackTo(false));
    if (isDone) {
      return;
    }
  }
  const text =
    code === "VAULT_NOT_CONFIRMED"
      ? style.paint("warn", message)
      : `${style.paint("bad", "Error")} ${shortMessage}\n${fix} ${style.paint("dim", `(${code})\n${pageOf(code)}`)}`;
  await write(`${wrapText(text, style)}\n`);
}

/** The flags of API options whose names differ. */
const otherFlags: Readonly<Record<string, string>> = {
  blockTag: "--block",
  blockNumber: "--block",
  engine: "--fork",
  lastId: "--ids",
  orders: "--ids",
};

/** The texts of an error, with flags in place of API options. */
export function inFlags(
  error: VaultError,
  rawArgs: RawArgs,
): Pick<VaultError, "shortMessage" | "fix" | "details"> {
  const flags: Record<string, string> = {};
  for (const key of ["where", "setting"]) {
    const name = String(error.details[key]);
    const flag = Object.hasOwn(rawArgs, name) ? toFlag(name) : otherFlags[name];
    if (flag !== undefined) {
      flags[key] = flag;
    }
  }
  const tags = { ...flags, "--network": repeatFlags(rawArgs) };
  return {
    ...textsForCommandLine(error, tags),
    details: { ...error.details, ...flags },
  };
}

export function messageForCommandLine(
  error: VaultError,
  rawArgs: RawArgs = {},
): string {
  const { shortMessage, fix } = inFlags(error, rawArgs);
  return `${shortMessage} ${fix}`;
}

/** Repeats the options that choose the contracts in a suggested command, and others. */
export function repeatFlags(
  rawArgs: RawArgs,
  ...others: readonly string[]
): string {
  return [...others, "at", "instance", "network"]
    .filter((name) => typeof rawArgs[name] === "string")
    .map((name) => ` --${name} ${String(rawArgs[name]).replaceAll(/\s/gu, "")}`)
    .join("");
}

/** A value for a JSON document; errors get the texts of the command line. */
export function toDocument(value: unknown): unknown {
  return toJsonValue(value, (error) => messageForCommandLine(error));
}

/** The paragraph about an error on the documentation's site. */
export function pageOf(code: string): string {
  return `https://hardhat-vault.github.io/hardhat-vault/documents/Error_codes.html#${code.toLowerCase()}`;
}
