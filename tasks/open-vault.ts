import type { ConfigurationVariableHooks } from "hardhat/types/hooks";
import type { NewTaskActionFunction } from "hardhat/types/tasks";

import type { BlockTag } from "../src/client/inputs.js";
import { readHeader } from "../src/client/read-at-block.js";
import type { VaultClient } from "../src/client/vault-client.js";
import { hasErrorCode, vaultError } from "../src/errors.js";
import type { VaultError } from "../src/errors.js";
import { asRecord } from "../src/json.js";
import { settingsOf } from "../src/plugin/addresses.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { projectRedactor, redactorFor } from "../src/plugin/network-secrets.js";
import { quoteForeignText } from "../src/redact.js";
import { classify } from "../src/rpc/errors.js";
import { isAbortOf, orAbort } from "../src/rpc/signals.js";
import type { PinnedBlock } from "../src/rpc/blocks.js";
import { escapeUntrusted } from "../src/escape.js";
import type { CommonValues, Task } from "./definitions.js";
import type { Options, ValuesOf } from "./options.js";
import type { Envelope } from "./output/blocks.js";
import { selectedNetwork } from "./parse-options.js";
import { taskAction, toVaultError } from "./run-task.js";
import type {
  StreamedReport,
  TaskReport,
  TaskSurroundings,
} from "./run-task.js";

/**
 * Opens the selected network for one task, and closes it afterwards.
 *
 * @param access `read` opens an HTTP network without its accounts: it never
 * resolves a private key, nor prompts for one.
 * @param timeout Milliseconds, of the connection and of each variable of the configuration.
 * @param longestTimeout Upper bound, in milliseconds, for the configured timeout
 * of a request, after which Hardhat ends one that nobody waits for any more.
 */
export async function withVault<T>(
  { hre, terminal }: TaskSurroundings,
  access: "read" | "write",
  { at, instance, timeout }: Pick<CommonValues, "at" | "instance" | "timeout">,
  work: (vault: HardhatVault) => Promise<T>,
  longestTimeout = timeout ?? Infinity,
): Promise<T> {
  const { name: network, config } = selectedNetwork(hre);
  const shown = escapeUntrusted(network);
  terminal.progress(`Waiting for ${shown}`);
  // Fails before a connection is opened.
  settingsOf(network, config, instance);
  // An in-process chain lives as long as its connection: a task that a script
  // runs must see the chain that the script's `hre.vault` sees.
  const isShared = config.type === "edr-simulated";
  let redactor = projectRedactor(hre);
  const open = async () => {
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
            ...(longestTimeout < config.timeout && { timeout: longestTimeout }),
          },
        });
  };
  const variables = limitVariables(network, timeout);
  hre.hooks.registerHandlers("configurationVariables", variables.hooks);
  const opening = open();
  try {
    const connection = await variables
      .inTime(opening)
      .catch((error: unknown) => {
        const source = { network, redactor, isBehindHardhat: true };
        throw classify(error, source, "the connection").error;
      });
    const { vault: own } = connection;
    const vault = instance === undefined ? own : own.instance(instance);
    const located =
      at === undefined ? await vault.withScalesOfMocks() : vault.at(at, "--at");
    return await work(
      located.withOptions({
        onRetry: ({ method, reason, problem, attempt }) => {
          if (reason === "pending" || attempt > 1) {
            terminal.progress(
              `Waiting for ${shown}: ${reason === "pending" ? problem : `${method} failed ${attempt} times`}`,
            );
          }
        },
      }),
    );
  } catch (error) {
    throw toVaultError(error, redactor);
  } finally {
    hre.hooks.unregisterHandlers("configurationVariables", variables.hooks);
    if (!isShared) {
      // Not awaited, since it waits for requests whose deadline is over, or for a
      // connection that was not opened in time. Nothing depends on what fails to close.
      opening
        .then(async (connection) => {
          await connection.close();
        })
        .catch(() => undefined);
    }
  }
}

/**
 * Ends the wait for the connection, and for each variable of the configuration, in time, and
 * names the variable for which a keystore asks without a terminal.
 */
function limitVariables(network: string, timeout: number | undefined) {
  /** Hardhat resolves one after the other. */
  let resolving: string | undefined;
  const unresolved = (variable: string, problem: string): VaultError => {
    const name = quoteForeignText(variable);
    return vaultError("VAULT_CONFIG_VARIABLE", {
      where: `The configuration variable ${name}`,
      problem: `${problem} Set ${name} in the environment of this process: a scheduler such as cron has an environment of its own.`,
    });
  };
  const inTime = async <T>(work: Promise<T>): Promise<T> => {
    const limits = timeout === undefined ? [] : [AbortSignal.timeout(timeout)];
    return await orAbort(work, ...limits).catch((error: unknown) => {
      if (!isAbortOf(limits, error)) {
        throw error;
      }
      throw resolving === undefined
        ? vaultError("VAULT_RPC_TIMEOUT", { network, method: "the connection" })
        : unresolved(
            resolving,
            `neither a person nor a plugin gave its value within ${(timeout ?? 0) / 1_000} s.`,
          );
    });
  };
  const hooks: Partial<ConfigurationVariableHooks> = {
    fetchValue: async (context, variable, next) => {
      resolving = variable.name;
      try {
        return await inTime(next(context, variable));
      } catch (error) {
        throw hasErrorCode(error, "VAULT_HARDHAT_ERROR")
          ? unresolved(variable.name, String(error.details["problem"]))
          : error;
      } finally {
        resolving = undefined;
      }
    },
  };
  return { hooks, inTime };
}

function actionWith(access: "read" | "write") {
  return <Described extends Options>(
    described: Task<Described>,
    work: (
      vault: HardhatVault,
      args: ValuesOf<Described> & CommonValues,
      surroundings: TaskSurroundings,
    ) => Promise<TaskReport | StreamedReport>,
  ): NewTaskActionFunction =>
    taskAction(described, async (args, surroundings) => {
      const { timeout } = args;
      return await withVault(
        surroundings,
        access,
        args,
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

export async function readEnvelope(
  vault: VaultClient,
  blockTag?: BlockTag,
): Promise<Envelope> {
  return (await pinVault(vault, blockTag)).envelope;
}

/** Begins a series of reads that are all of one branch of the chain. */
export async function pinVault(
  vault: VaultClient,
  blockTag?: BlockTag,
): Promise<{
  readonly envelope: Envelope;
  readonly pin: PinnedBlock;
}> {
  const [chainId, { block, pin }] = await Promise.all([
    vault.chainId(),
    readHeader(vault.readContext({ blockTag })),
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
