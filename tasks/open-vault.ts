import type { NewTaskActionFunction } from "hardhat/types/tasks";

import type { BlockTag } from "../src/client/inputs.js";
import { readHeader } from "../src/client/snapshot.js";
import type { VaultClient } from "../src/client/vault-client.js";
import { asRecord } from "../src/json.js";
import { settingsOf } from "../src/plugin/addresses.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { projectRedactor, redactorFor } from "../src/plugin/network-secrets.js";
import { toRpcError } from "../src/rpc/errors.js";
import type { PinnedBlock } from "../src/rpc/block-id.js";
import { isReorganised } from "../src/rpc/pinned-block.js";
import { escapeUntrusted } from "../src/escape.js";
import type { Options, ValuesOf } from "./definitions/options.js";
import type { CommonValues, Task } from "./definitions/shared.js";
import { notes, toned } from "./output/blocks.js";
import type { Envelope } from "./output/blocks.js";
import { say } from "./output/render-text.js";
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
 * @param longestTimeout Upper bound, in milliseconds, for the configured timeout
 * of a request, after which Hardhat ends one that nobody waits for any more.
 */
export async function withVault<T>(
  { hre, terminal }: TaskSurroundings,
  access: "read" | "write",
  { at, instance }: Pick<CommonValues, "at" | "instance">,
  work: (vault: HardhatVault) => Promise<T>,
  longestTimeout = Infinity,
): Promise<T> {
  const { name: network, config } = selectedNetwork(hre);
  terminal.progress(`Waiting for ${escapeUntrusted(network)}`);
  // Fails before a connection is opened.
  settingsOf(network, config, instance);
  // An in-process chain lives as long as its connection: a task that a script
  // runs must see the chain that the script's `hre.vault` sees.
  const isShared = config.type === "edr-simulated";
  let redactor = projectRedactor(hre);
  let connection;
  try {
    // Before the connection is made: a fork sends requests while it is made.
    redactor = await redactorFor(hre, config);
    connection = isShared
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
  } catch (error) {
    throw toRpcError(error, network, "the connection", redactor, true);
  }
  try {
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
    if (!isShared) {
      // Not awaited, since it waits for requests whose deadline is over. The work is
      // done: nothing depends on what closes, or fails to.
      connection.close().catch(() => undefined);
    }
  }
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
  return vaultAction(
    "read",
    described,
    async (vault, args, surroundings) =>
      await retryIfReorganised(
        surroundings,
        async (again) => await work(vault, args, again),
      ),
  );
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
      timeout,
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

/** Does the work once more if the chain replaced its block before it wrote anything. */
export async function retryIfReorganised<Result>(
  surroundings: TaskSurroundings,
  work: (surroundings: TaskSurroundings) => Promise<Result>,
): Promise<Result> {
  const { terminal } = surroundings;
  const { out, err } = terminal;
  const output = { isBegun: false };
  const write = async (text: string): Promise<boolean> => {
    output.isBegun = true;
    return await out.write(text);
  };
  try {
    return await work({
      ...surroundings,
      terminal: { ...terminal, out: { ...out, write } },
    });
  } catch (error) {
    if (!isReorganised(error) || output.isBegun) {
      throw error;
    }
    const { shortMessage } = error;
    await say(err, notes(toned("warn", `${shortMessage} Starting again.`)));
    return await work(surroundings);
  }
}

/** Hides secrets in the only text of an order, which anybody may have written. */
export function hideInOrder<Value>(vault: HardhatVault, value: Value): Value {
  const { exType } = asRecord(value);
  return typeof exType === "string"
    ? { ...value, exType: vault.rpc.redactor.hide(exType) }
    : value;
}
