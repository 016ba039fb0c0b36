import { CustomError } from "@nomicfoundation/hardhat-utils/error";
import type { NetworkConfig } from "hardhat/types/config";
import type { ConfigurationVariableHooks } from "hardhat/types/hooks";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NewTaskActionFunction } from "hardhat/types/tasks";
import { errorResult, successfulResult } from "hardhat/utils/result";

import { notOneOf } from "../src/client/inputs.js";
import type { BlockTag } from "../src/client/inputs.js";
import { pinBlock } from "../src/client/read-at-block.js";
import type { VaultClient } from "../src/client/vault-client.js";
import {
  VaultError,
  fallbackTo,
  hasErrorCode,
  textsForCommandLine,
  vaultError,
} from "../src/errors.js";
import {
  escapeUntrusted,
  quoteForeignText,
  toSafeJson,
} from "../src/foreign-text.js";
import type { Redactor } from "../src/foreign-text.js";
import { FORK_NETWORK } from "../src/host.js";
import { asRecord, toJsonValue } from "../src/json.js";
import { requireInstance } from "../src/plugin/addresses.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { projectRedactor, redactorFor } from "../src/plugin/project.js";
import type { PinnedBlock } from "../src/rpc/blocks.js";
import {
  classify,
  messageOf,
  ownerOf,
  toHardhatError,
} from "../src/rpc/errors.js";
import { orAbort } from "../src/rpc/signals.js";
import type { CommonValues } from "./definitions.js";
import { renderText, wrapText } from "./output/screen.js";
import type { Envelope, Part } from "./output/screen.js";
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
  /** A time of `performance.now()`, from which `--timeout` counts. */
  readonly startedAt: number;
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
    const startedAt = performance.now();
    const rawArgs = { ...args, network: hre.globalOptions.network };
    const runIn = async (terminal: Terminal): Promise<boolean> => {
      const { out } = terminal;
      try {
        const values = parseTaskValues(task, args);
        const surroundings = { hre, terminal, rawArgs, startedAt };
        const report = await work(values, surroundings);
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

function actionWith(access: "read" | "write") {
  return <Values extends CommonValues>(
    task: Task<Values>,
    work: (
      vault: HardhatVault,
      args: Values,
      surroundings: TaskSurroundings,
    ) => TaskResult,
  ): NewTaskActionFunction =>
    taskAction(
      task,
      async (args, surroundings) =>
        await withVault(
          surroundings,
          { ...args, access },
          async (vault) => await work(vault, args, surroundings),
        ),
    );
}

/** The action of a task that reads from the selected network. */
export const readAction = actionWith("read");

/** The same for a task that sends transactions. */
export const writeAction = actionWith("write");

/** How a task opens the network. Times are milliseconds. */
export interface Opening extends Pick<CommonValues, "at" | "instance"> {
  /**
   * With `read` the connection resolves no private key, and prompts for none. A simulation may,
   * to find its sender.
   */
  readonly access: "read" | "write";
  /** Of the whole task. */
  readonly timeout?: number | undefined;
  /**
   * True if `timeout` is rather that of the connection, of the look-up of mocks and of each
   * variable of the configuration, and `work` has its own limits.
   */
  readonly limitsEachStep?: boolean;
  /**
   * Upper bound for the configured timeout of a request, after which Hardhat ends one that
   * nobody waits for any more. Default: what is left of `timeout`.
   */
  readonly requestTimeout?: number;
}

/** Opens the selected network for one task, and closes it afterwards. */
export async function withVault<T>(
  { hre, terminal, startedAt }: TaskSurroundings,
  opening: Opening,
  work: (vault: HardhatVault) => Promise<T>,
): Promise<T> {
  const { access, at, instance, timeout, limitsEachStep = false } = opening;
  /** Milliseconds. */
  const left = (): number | undefined =>
    timeout === undefined || limitsEachStep
      ? timeout
      : Math.max(1, Math.ceil(startedAt + timeout - performance.now()));
  const { requestTimeout = left() ?? Infinity } = opening;
  const { name: network, config } = selectedNetwork(hre);
  const waiting = `Waiting for ${escapeUntrusted(network)}`;
  terminal.progress(waiting);
  // Fails before a connection is opened.
  requireInstance(network, config, instance);
  // An in-process chain lives as long as its connection: a task that a script
  // runs must see the chain that the script's `hre.vault` sees.
  const isShared = config.type === "edr-simulated";
  let redactor = projectRedactor(hre);
  const connect = async () => {
    // Before the connection is made: a fork sends requests while it is made.
    redactor = await redactorFor(hre, config);
    return isShared
      ? await hre.network.getOrCreate(network)
      : await hre.network.create({
          network,
          // With an empty override, Hardhat resolves no configuration again.
          override: {
            ...(access === "read" &&
              config.accounts !== "remote" && { accounts: "remote" }),
            ...(requestTimeout < config.timeout && { timeout: requestTimeout }),
          },
        });
  };
  const { hooks, inTime } = limitOpening(network, timeout, left);
  hre.hooks.registerHandlers("configurationVariables", hooks);
  const connecting = connect();
  try {
    const { vault: own } = await inTime(async () => await connecting).catch(
      (error: unknown) => {
        const source = { network, redactor, isBehindHardhat: true };
        throw classify(error, source, "the connection").error;
      },
    );
    const vault = instance === undefined ? own : own.instance(instance);
    if (at === undefined) {
      // The reads need the same addresses: a node that does not answer ends the task here.
      await vault.useScalesOfMocks(left());
    }
    const located = at === undefined ? vault : vault.at(at, "--at");
    return await work(
      located.withOptions({
        timeout: limitsEachStep ? undefined : left(),
        onRetry: ({ method, attempt }) => {
          if (attempt > 1) {
            terminal.progress(`${waiting}: ${method} failed ${attempt} times`);
          }
        },
      }),
    );
  } catch (error) {
    throw toVaultError(error, redactor);
  } finally {
    hre.hooks.unregisterHandlers("configurationVariables", hooks);
    if (!isShared) {
      // Not awaited, since it waits for requests whose deadline is over, or for a
      // connection that was not opened in time. Nothing depends on what fails to close.
      connecting
        .then(async (connection) => {
          await connection.close();
        })
        .catch(() => undefined);
    }
  }
}

/** The network of `--network`, or Hardhat's default one. */
export function selectedNetwork(hre: HardhatRuntimeEnvironment): {
  readonly name: string;
  readonly config: NetworkConfig;
} {
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- typed as always there, but undefined without --network
  const name = hre.globalOptions.network ?? "default";
  const { networks } = hre.config;
  const names = Object.keys(networks).filter((one) => one !== FORK_NETWORK);
  const config = networks[name];
  if (config === undefined || !names.includes(name)) {
    throw notOneOf("--network", names, name);
  }
  return { name, config };
}

/**
 * Ends the wait for the connection, and for each variable of the configuration, in time, and
 * names the variable that a keystore has not given, or for which it asks without a terminal.
 */
function limitOpening(
  network: string,
  timeout: number | undefined,
  left: () => number | undefined,
) {
  const seconds = Number(timeout) / 1_000;
  /** The one that is awaited: Hardhat resolves one after the other. */
  let variable: string | undefined;
  const unresolved = (name: string, problem: string): VaultError =>
    vaultError("VAULT_CONFIG_VARIABLE", {
      where: `The configuration variable ${name}`,
      problem: `${problem} Set ${name} in the environment of this process: a scheduler such as cron has an environment of its own.`,
    });
  const late = (): VaultError => {
    if (variable !== undefined) {
      const problem = `neither a person nor a plugin gave its value within ${seconds} s.`;
      return unresolved(variable, problem);
    }
    const method = `the attempt to connect (${seconds} s)`;
    return vaultError("VAULT_RPC_TIMEOUT", { network, method });
  };
  const inTime = async <T>(
    work: () => Promise<T>,
    milliseconds = left(),
  ): Promise<T> => await orAbort(work, [], milliseconds, late);
  const hooks: Partial<ConfigurationVariableHooks> = {
    fetchValue: async (context, asked, next) => {
      const name = quoteForeignText(asked.name);
      variable = name;
      try {
        return await inTime(
          async () => await next(context, asked),
          // Before a deadline of the reads, which would not name the variable.
          Math.max(1, (left() ?? Infinity) - 10),
        );
      } catch (error) {
        throw hasErrorCode(error, "VAULT_HARDHAT_ERROR")
          ? unresolved(name, String(error.details["problem"]))
          : error;
      } finally {
        variable = undefined;
      }
    },
  };
  return { hooks, inTime };
}

export async function readEnvelope(vault: VaultClient): Promise<Envelope> {
  return (await pinVault(vault)).envelope;
}

/** Begins a series of reads that are all of one branch of the chain. */
export async function pinVault(
  vault: VaultClient,
  blockTag?: BlockTag,
): Promise<{ readonly envelope: Envelope; readonly pin: PinnedBlock }> {
  const [chainId, { block, pin }] = await Promise.all([
    vault.chainId(),
    pinBlock(vault.readContext({ blockTag })),
  ]);
  const { networkName: network } = vault;
  return { envelope: { network, chainId, block }, pin };
}

/** Hides secrets in the only text of an order, which anybody may have written. */
export function hideInOrder<Value>(vault: HardhatVault, value: Value): Value {
  const { exType } = asRecord(value);
  return typeof exType === "string"
    ? { ...value, exType: vault.rpc.redactor.hide(exType) }
    : value;
}

/** @param redactor Knows the secrets that Hardhat or a plugin may repeat. */
function toVaultError(thrown: unknown, redactor: Redactor): VaultError {
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
