import type { NetworkConfig } from "hardhat/types/config";
import type { ConfigurationVariableHooks } from "hardhat/types/hooks";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NewTaskActionFunction } from "hardhat/types/tasks";

import { notOneOf } from "../src/client/inputs.js";
import type { BlockTag } from "../src/client/inputs.js";
import { pinBlock } from "../src/client/read-at-block.js";
import type { VaultClient } from "../src/client/vault-client.js";
import { hasErrorCode, vaultError } from "../src/errors.js";
import type { VaultError } from "../src/errors.js";
import { FORK_NETWORK } from "../src/host.js";
import { asRecord } from "../src/json.js";
import { requireInstance } from "../src/plugin/addresses.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { projectRedactor, redactorFor } from "../src/plugin/project.js";
import { escapeUntrusted, quoteForeignText } from "../src/foreign-text.js";
import { classify } from "../src/rpc/errors.js";
import { DEFAULT_TIMEOUT_MS } from "../src/rpc/rpc-client.js";
import { orAbort } from "../src/rpc/signals.js";
import type { PinnedBlock } from "../src/rpc/blocks.js";
import type { CommonValues } from "./definitions.js";
import type { Envelope } from "./output/screen.js";
import type { Task } from "./parse-options.js";
import { taskAction, toVaultError } from "./run-task.js";
import type { TaskResult, TaskSurroundings } from "./run-task.js";

/** How a task opens the network. Times are milliseconds. */
export interface Opening extends Pick<CommonValues, "at" | "instance"> {
  /**
   * With `read` the connection resolves no private key, and prompts for none. A simulation may,
   * to find its sender.
   */
  readonly access: "read" | "write";
  /** Of the connection, and of each variable of the configuration. */
  readonly timeout?: number | undefined;
  /**
   * Upper bound for the configured timeout of a request, after which Hardhat ends one that
   * nobody waits for any more. Default: `timeout`.
   */
  readonly requestTimeout?: number;
}

/** Opens the selected network for one task, and closes it afterwards. */
export async function withVault<T>(
  { hre, terminal }: TaskSurroundings,
  opening: Opening,
  work: (vault: HardhatVault) => Promise<T>,
): Promise<T> {
  const { access, at, instance, timeout } = opening;
  const { requestTimeout = timeout ?? Infinity } = opening;
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
  const { hooks, inTime } = limitOpening(network, timeout);
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
      const { rpc } = vault.withOptions({ timeout }, DEFAULT_TIMEOUT_MS);
      const find = async () => await vault.useScalesOfMocks();
      await rpc.withinDeadline("the requests that look up mocks", find);
    }
    const located = at === undefined ? vault : vault.at(at, "--at");
    return await work(
      located.withOptions({
        onRetry: ({ method, reason, problem, attempt }) => {
          if (reason === "pending") {
            terminal.progress(`${waiting}: ${problem}`);
          } else if (attempt > 1) {
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
function limitOpening(network: string, timeout: number | undefined) {
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
  const inTime = async <T>(work: () => Promise<T>): Promise<T> =>
    await orAbort(work, [], timeout, late);
  const hooks: Partial<ConfigurationVariableHooks> = {
    fetchValue: async (context, asked, next) => {
      const name = quoteForeignText(asked.name);
      variable = name;
      try {
        return await inTime(async () => await next(context, asked));
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

function actionWith(access: "read" | "write") {
  return <Values extends CommonValues>(
    task: Task<Values>,
    work: (
      vault: HardhatVault,
      args: Values,
      surroundings: TaskSurroundings,
    ) => TaskResult,
  ): NewTaskActionFunction =>
    taskAction(task, async (args, surroundings) => {
      const { timeout } = args;
      return await withVault(
        surroundings,
        { ...args, access },
        async (vault) =>
          await work(vault.withOptions({ timeout }), args, surroundings),
      );
    });
}

/**
 * The action of a task that reads from the selected network, with a vault that has one
 * deadline for all requests.
 */
export const readAction = actionWith("read");

/** The same for a task that sends transactions. */
export const writeAction = actionWith("write");

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
