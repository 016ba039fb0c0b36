import type { NetworkConfig } from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NewTaskActionFunction } from "hardhat/types/tasks";

import { fixedAddresses } from "../src/client/addresses.js";
import type { ContractAddresses } from "../src/client/addresses.js";
import { describeInput, givenInput } from "../src/client/inputs.js";
import type { BlockTag } from "../src/client/inputs.js";
import { toRpcError } from "../src/rpc/errors.js";
import { settingsOf } from "../src/plugin/addresses.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { keepNetworkSecrets } from "../src/plugin/network-secrets.js";
import { findSender } from "../src/plugin/sender.js";
import { invalidArgument, vaultError } from "../src/errors.js";
import { contractRoleNames, isContractRole } from "../src/protocol/index.js";
import { FORK_NETWORK } from "../src/simulation/fork/network.js";
import { escapeUntrusted } from "../src/untrusted-text.js";
import { tryLens } from "../src/client/lens/lens.js";
import type { VaultClient } from "../src/client/vault-client.js";
import { fewRetries } from "../src/rpc/retry.js";
import type { OutputStream, WriteText } from "./output/destination.js";
import type { Envelope } from "./output/blocks.js";
import type { StyledStream } from "./output/style.js";
import { whileWaiting } from "./output/waiting.js";
import type { Waiting } from "./output/waiting.js";
import { withConnections } from "./connections.js";
import { taskAction } from "./run-task.js";
import type { StreamedReport, TaskArguments, TaskReport } from "./run-task.js";

/** The network of `--network`, or Hardhat's default one. */
export function selectedNetwork(hre: HardhatRuntimeEnvironment): {
  readonly name: string;
  readonly config: NetworkConfig;
} {
  const { networks } = hre.config;
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- typed as always there, but undefined without --network
  const name = hre.globalOptions.network ?? "default";
  const config = Object.hasOwn(networks, name) ? networks[name] : undefined;
  if (config === undefined) {
    throw vaultError("VAULT_INVALID_ENUM", {
      where: "--network",
      value: givenInput(name),
      allowed: Object.keys(networks)
        .filter((known) => known !== FORK_NETWORK)
        .join(", "),
    });
  }
  return { name, config };
}

/**
 * Opens the selected network for one task, and closes it afterwards.
 *
 * @param access `read` opens an HTTP network without its accounts, so that a
 * plain read never resolves, or asks for, a private key.
 * @param longestTimeout Milliseconds that one request may take at most, where
 * the configuration allows more: closing a connection waits for its requests.
 */
export async function withVault<T>(
  hre: HardhatRuntimeEnvironment,
  access: "read" | "write",
  { at, instance }: TaskArguments,
  work: (vault: HardhatVault, waiting: Waiting) => Promise<T>,
  longestTimeout = Infinity,
): Promise<T> {
  return await whileWaiting(
    hre.hooks,
    process.stderr,
    async (waiting) =>
      await withConnections(async (closeConnections) => {
        const { name: network, config } = selectedNetwork(hre);
        waiting.say(`Waiting for ${escapeUntrusted(network)}…`);
        const addresses = parseAt(at);
        // Before a connection is opened for nothing.
        settingsOf(network, config, instance);
        // An in-process chain lives as long as its connection: a task that a script
        // runs must see the chain that the script's `hre.vault` sees.
        const isShared = config.type === "edr-simulated";
        let connection;
        try {
          // Before a fork's upstream is asked, while it is being made.
          await keepNetworkSecrets(config, Object.keys(hre.config.networks));
          connection = isShared
            ? await hre.network.getOrCreate(network)
            : await hre.network.create({
                network,
                // Where nothing differs, Hardhat need not resolve all of the
                // configuration again.
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
          throw toRpcError(error, network, "the connection");
        }
        try {
          const { vault: own } = connection;
          const vault = instance === undefined ? own : own.instance(instance);
          return await work(
            addresses === undefined ? vault : vault.at(addresses, "--at"),
            waiting,
          );
        } finally {
          if (!isShared) {
            closeConnections();
            await connection.close();
          }
        }
      }),
  );
}

/** What a task that reads has beside the vault and its request. */
export interface ReadSurroundings<Args> {
  readonly args: Args;
  readonly hre: HardhatRuntimeEnvironment;
  /** Writes to the true stdout. */
  readonly write: WriteText;
  readonly stdout: StyledStream;
  readonly stderr: OutputStream;
  readonly say: Waiting["say"];
  /**
   * Who would settle unless an account is named. The connection is opened without
   * accounts, so that naming one needs no key.
   */
  readonly findSender: (option: "as" | "from") => Promise<string>;
}

/**
 * The action of a task that reads what the selected network has.
 *
 * @param parse Reads what was typed, before anything is asked of the network.
 * @param work Is given a vault with one deadline for all that it asks.
 */
export function readAction<
  Args extends TaskArguments,
  Request extends {
    /** Milliseconds. */
    readonly timeout?: number | undefined;
  },
>(
  parse: (args: Args, hre: HardhatRuntimeEnvironment) => Request,
  work: (
    vault: HardhatVault,
    request: Request,
    surroundings: ReadSurroundings<Args>,
  ) => Promise<TaskReport | StreamedReport>,
): NewTaskActionFunction<Args> {
  return taskAction(async (args, hre, write) => {
    const request = parse(args, hre);
    const { timeout } = request;
    const { stdout } = process;
    return await withVault(
      hre,
      "read",
      args,
      async (opened, { inPlace, stderr, say }) => {
        const vault = opened.withDeadline({
          timeout,
          onRetry: ({ method, attempt }) => {
            if (attempt > 1) {
              say(
                `Waiting for ${escapeUntrusted(opened.networkName)}: ${method} failed ${attempt} times…`,
              );
            }
          },
        });
        return await work(vault, request, {
          args,
          hre,
          write: inPlace(write),
          stdout,
          stderr,
          say,
          findSender: async (option) =>
            await findSender(vault.rpc, selectedNetwork(hre).config, option),
        });
      },
      timeout,
    );
  });
}

/**
 * What a document says of a block: that of the tag, or the latest. In one request
 * where the node allows that.
 */
export async function readEnvelope(
  vault: VaultClient,
  blockTag?: BlockTag,
): Promise<Envelope> {
  const context = vault.readContext({ blockTag });
  const { network } = context.rpc;
  const rpc = context.rpc.withRetries(fewRetries);
  const lens = await tryLens({ ...context, rpc });
  const [chainId, block] =
    lens === undefined
      ? await Promise.all([vault.chainId(), vault.block(blockTag)])
      : [lens.chainId, lens.block];
  return { network, chainId, block };
}

/** Reads `--at`: `role=0x…[,role=0x…]`. */
export function parseAt(at: string | undefined): ContractAddresses | undefined {
  if (at === undefined) {
    return undefined;
  }
  const fail = (problem: string): never => {
    throw invalidArgument(
      "--at",
      `${problem}; write role=0x…[,role=0x…], with the roles ${contractRoleNames.join(", ")}`,
    );
  };
  const addresses: Record<string, string> = {};
  for (const part of at.split(",")) {
    const [role = "", address, ...more] = part.trim().split("=");
    if (address === undefined || more.length > 0) {
      fail(`${describeInput(part)} is not role=address`);
    } else if (!isContractRole(role)) {
      fail(`${describeInput(role)} is not a contract role`);
    } else if (Object.hasOwn(addresses, role)) {
      fail(`${role} is given twice`);
    } else {
      addresses[role] = address;
    }
  }
  // Checks the addresses now, before a connection is opened for them.
  fixedAddresses(addresses, "--at");
  return addresses;
}
