import type {
  ConfigurationVariableHooks,
  HookManager,
  UserInterruptionHooks,
} from "hardhat/types/hooks";
import type { NewTaskActionFunction } from "hardhat/types/tasks";

import type { BlockTag } from "../src/client/inputs.js";
import { readHeader } from "../src/client/snapshot.js";
import type { VaultClient } from "../src/client/vault-client.js";
import { vaultError } from "../src/errors.js";
import type { VaultError } from "../src/errors.js";
import { asRecord } from "../src/json.js";
import { settingsOf } from "../src/plugin/addresses.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { projectRedactor, redactorFor } from "../src/plugin/network-secrets.js";
import { quoteForeignText } from "../src/redact.js";
import { toRpcError } from "../src/rpc/errors.js";
import type { PinnedBlock } from "../src/rpc/block-id.js";
import { escapeUntrusted } from "../src/escape.js";
import type { Options, ValuesOf } from "./definitions.js";
import type { CommonValues, Task } from "./definitions.js";
import type { Envelope } from "./output/blocks.js";
import { selectedNetwork } from "./parse-options.js";
import { taskAction, toVaultError } from "./run-task.js";
import type { Terminal } from "./terminal.js";
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
 * @param timeout Of the task: limits whatever opens the connection, and each variable of
 * the configuration.
 * @param longestTimeout Upper bound, in milliseconds, for the configured timeout
 * of a request, after which Hardhat ends one that nobody waits for any more.
 */
export async function withVault<T>(
  { hre, terminal }: TaskSurroundings,
  access: "read" | "write",
  { at, instance, timeout }: OpenOptions,
  work: (vault: HardhatVault) => Promise<T>,
  longestTimeout = timeout ?? Infinity,
): Promise<T> {
  const { name: network, config } = selectedNetwork(hre);
  terminal.progress(`Waiting for ${escapeUntrusted(network)}`);
  // Fails before a connection is opened.
  settingsOf(network, config, instance);
  // An in-process chain lives as long as its connection: a task that a script
  // runs must see the chain that the script's `hre.vault` sees.
  const isShared = config.type === "edr-simulated";
  const limits = limitVariables(hre.hooks, terminal, timeout);
  let redactor = projectRedactor(hre);
  let opening: ReturnType<typeof open> | undefined;
  const open = async () => {
    // Before the connection is made: a fork sends requests while it is made.
    redactor = await redactorFor(hre, config);
    return isShared
      ? await hre.network.getOrCreate(network)
      : await hre.network.create({
          network,
          // With an empty override, Hardhat resolves no configuration again.
          override: {
            ...(access === "read" && config.accounts !== "remote"
              ? { accounts: "remote" }
              : {}),
            ...(longestTimeout < config.timeout
              ? { timeout: longestTimeout }
              : {}),
          },
        });
  };
  const close = async (): Promise<void> => {
    if (!isShared) {
      await (await opening)?.close();
    }
  };
  try {
    opening = open();
    const what = "the connection";
    const connection = await inTime(
      opening,
      timeout,
      () =>
        limits.tooLate() ??
        vaultError("VAULT_RPC_TIMEOUT", { network, method: what }),
    ).catch((error: unknown) => {
      throw toRpcError(error, what, {
        network,
        redactor,
        isBehindHardhat: true,
      });
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
              `Waiting for ${escapeUntrusted(network)}: ${reason === "pending" ? problem : `${method} failed ${attempt} times`}`,
            );
          }
        },
      }),
    );
  } catch (error) {
    throw toVaultError(error, redactor);
  } finally {
    limits.end();
    // Not awaited, since it waits for requests whose deadline is over, or for a connection
    // that was not opened in time. The work is done: nothing depends on what fails to close.
    close().catch(() => undefined);
  }
}

type OpenOptions = Pick<CommonValues, "at" | "instance"> & {
  /** Milliseconds. */
  readonly timeout?: number | undefined;
};

/**
 * Ends the wait for each variable of the configuration in time, and refuses the questions of
 * Hardhat and of its plugins, as for the password of a keystore, where nobody can answer.
 *
 * @returns `tooLate` ends the wait for the variable that is resolved now, if there is one, and
 * makes its error; `end` ends the limits.
 */
function limitVariables(
  hooks: HookManager,
  { ask }: Terminal,
  timeout: number | undefined,
): {
  readonly tooLate: () => VaultError | undefined;
  readonly end: () => void;
} {
  /** Hardhat resolves one after the other. */
  let resolving: string | undefined;
  const unresolved = (name: string, problem: string): VaultError =>
    vaultError("VAULT_CONFIG_VARIABLE", {
      where: `The configuration variable ${quoteForeignText(name)}`,
      problem: `${problem}. Set ${quoteForeignText(name)} in the environment of this process: a scheduler such as cron has an environment of its own.`,
    });
  const tooLate = (): VaultError | undefined => {
    if (resolving === undefined) {
      return undefined;
    }
    const { stdin } = process;
    // Else a question that nobody answered would keep the process running.
    if (stdin.isTTY) {
      stdin.setRawMode(false);
    }
    stdin.pause();
    const seconds = (timeout ?? 0) / 1_000;
    return unresolved(
      resolving,
      `neither a person nor a plugin gave its value within ${seconds} s`,
    );
  };
  const variables: Partial<ConfigurationVariableHooks> = {
    fetchValue: async (context, variable, next) => {
      resolving = variable.name;
      return await inTime(next(context, variable), timeout, tooLate).finally(
        () => {
          resolving = undefined;
        },
      );
    },
  };
  const answer: NonNullable<UserInterruptionHooks["requestInput"]> = async (
    context,
    asker,
    question,
    next,
  ) => {
    if (ask !== undefined) {
      return await next(context, asker, question);
    }
    const asks = `${quoteForeignText(asker)} asks "${quoteForeignText(question)}", and there is no terminal to ask on`;
    throw resolving === undefined
      ? vaultError("VAULT_HARDHAT_ERROR", {
          source: "A plugin",
          problem: `${asks}.`,
        })
      : unresolved(resolving, asks);
  };
  const questions = { requestInput: answer, requestSecretInput: answer };
  hooks.registerHandlers("configurationVariables", variables);
  hooks.registerHandlers("userInterruptions", questions);
  return {
    tooLate,
    end: () => {
      hooks.unregisterHandlers("configurationVariables", variables);
      hooks.unregisterHandlers("userInterruptions", questions);
    },
  };
}

/** @param tooLate Makes the error if the work takes longer. */
async function inTime<T>(
  work: Promise<T>,
  timeout: number | undefined,
  tooLate: () => Error | undefined,
): Promise<T> {
  if (timeout === undefined) {
    return await work;
  }
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- it is one whenever the work is not done
      reject(tooLate());
    }, timeout);
  });
  return await Promise.race([work, over]).finally(() => {
    clearTimeout(timer);
  });
}

type VaultWork<Described extends Options> = (
  vault: HardhatVault,
  args: ValuesOf<Described> & CommonValues,
  surroundings: TaskSurroundings,
) => Promise<TaskReport | StreamedReport>;

/**
 * The action of a task that reads from the selected network.
 *
 * @param work Gets a vault with one deadline for all requests.
 */
export function readAction<Described extends Options>(
  described: Task<Described>,
  work: VaultWork<Described>,
): NewTaskActionFunction {
  return vaultAction("read", described, work);
}

/** The same for a task that sends transactions. */
export function writeAction<Described extends Options>(
  described: Task<Described>,
  work: VaultWork<Described>,
): NewTaskActionFunction {
  return vaultAction("write", described, work);
}

function vaultAction<Described extends Options>(
  access: "read" | "write",
  described: Task<Described>,
  work: VaultWork<Described>,
): NewTaskActionFunction {
  return taskAction(described, async (args, surroundings) => {
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

export async function readEnvelope(
  vault: VaultClient,
  blockTag?: BlockTag,
): Promise<Envelope> {
  return (await pinVault(vault, blockTag)).envelope;
}

/** Begins a series of reads that are all of one branch of the chain. */
export async function pinVault<Vault extends VaultClient>(
  vault: Vault,
  blockTag?: BlockTag,
): Promise<{
  readonly envelope: Envelope;
  readonly pin: PinnedBlock;
  readonly pinned: Vault;
}> {
  const [chainId, { block, pin }] = await Promise.all([
    vault.chainId(),
    readHeader(vault.readContext({ blockTag })),
  ]);
  const { networkName: network } = vault;
  return {
    envelope: { network, chainId, block },
    pin,
    pinned: vault.pinnedTo(pin),
  };
}

/** Hides secrets in the only text of an order, which anybody may have written. */
export function hideInOrder<Value>(vault: HardhatVault, value: Value): Value {
  const { exType } = asRecord(value);
  return typeof exType === "string"
    ? { ...value, exType: vault.rpc.redactor.hide(exType) }
    : value;
}
