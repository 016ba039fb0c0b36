import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import path from "node:path";

import { dataSlice } from "ethers";
import { AsyncMutex } from "@nomicfoundation/hardhat-utils/synchronization";
import type {
  ChainDescriptorsConfig,
  NetworkConfig,
} from "hardhat/types/config";
import type { ChainType, NetworkConnection } from "hardhat/types/network";

import type { AddressResolver } from "../../client/addresses.js";
import { absentContract } from "../../client/failed-reading.js";
import { givenInput } from "../../client/inputs.js";
import { checkOptionNames } from "../../client/option-names.js";
import type { OptionNames } from "../../client/option-names.js";
import type { BlockTag } from "../../client/inputs.js";
import { assertInvariant, fallbackTo, vaultError } from "../../errors.js";
import type { UpstreamAddresses, VaultHost } from "../../host.js";
import { contractRoleNames } from "../../protocol/index.js";
import { toRpcError } from "../../rpc/errors.js";
import { isHardhatsOwn, toHardhatError } from "../../rpc/hardhat-error.js";
import type { Block, RpcClient } from "../../rpc/rpc-client.js";
import { EngineUnsupportedError, settlementCall } from "../engine.js";
import type { EngineResult, SimulationParameters } from "../engine.js";
import { FORK_NETWORK } from "../fork-network.js";
import { readUpstreamBlock } from "../next-block.js";
import { executeSettlement, simulatorOf } from "./in-process.js";

export interface ForkOptions {
  /**
   * Block to fork: a number, `safe` or `finalized`. Default: the newest. An older block
   * needs a node that still has its state.
   */
  readonly blockNumber?: BlockTag | undefined;
  /**
   * Example: "prague". Default: Hardhat's newest. From "osaka" on, a transaction may use
   * at most 16,777,216 gas.
   */
  readonly hardfork?: string | undefined;
}

export const forkOptionNames: OptionNames<ForkOptions> = {
  blockNumber: true,
  hardfork: true,
};

/** Connection to an in-process fork. */
export type ForkConnection = NetworkConnection<ChainType | string>;

interface ForkPlan {
  readonly block: Block;
  /** True if the caller chose the block: its fetched state is then kept on disk. */
  readonly isPast: boolean | undefined;
  readonly chainId: number;
  readonly hardfork: string | undefined;
  /** Addresses of its contracts; a simulation does not need them. */
  readonly upstream?: UpstreamAddresses;
  /** Guards of the upstream, by instance: `undefined` is the network's own. */
  readonly guards?: ReadonlyMap<string | undefined, string | undefined>;
  /** Configuration for a simulation only. */
  readonly simulation?: {
    /** Hardhat's accounts would overwrite balances of the forked chain. */
    readonly accounts: [];
    readonly transactionGasCap?: bigint;
  };
}

/** Name of a fork's own requests in error texts. */
const FORK_REQUESTS = "the requests of a fork";

/** Simulator's newest hardfork of an OP chain. */
const OP_HARDFORK = "isthmus";

const CACHE_FOLDER = "vault-forks";
const TEMPORARY_PREFIX = "fork-";

/** Hardhat's simulator crashes the process at a larger panic code. */
const LARGEST_PANIC = 2n ** 64n - 1n;

/** @see HardhatVault.fork */
export async function fork(
  host: VaultHost,
  options: ForkOptions,
): Promise<ForkConnection> {
  checkOptionNames("fork()", options, forkOptionNames);
  const { blockNumber, hardfork } = options;
  requireHttp(host);
  const vault = host.withDeadline({});
  const names = [undefined, ...instanceNames(vault)];
  const vaults = names.map((name) =>
    name === undefined ? vault : vault.instance(name),
  );
  const guards = await Promise.all(
    vaults.map(async (one) => (await one.guardAddress())?.address),
  );
  const [block, chainId, ...addresses] = await Promise.all([
    readUpstreamBlock(vault, blockNumber),
    vault.chainId(),
    ...vaults.map(resolveAddresses),
  ]);
  return await createFork(vault, {
    block,
    chainId,
    upstream: (name) => addresses[names.indexOf(name)],
    guards: new Map(names.map((name, index) => [name, guards[index]])),
    hardfork,
    isPast: (blockNumber ?? "latest") !== "latest",
  });
}

function instanceNames({ connection }: VaultHost): readonly string[] {
  return Object.keys(connection.networkConfig.vault.instances);
}

/** Simulates on a fork in this process, which fetches state from the node on demand. */
export async function runFork(
  parameters: SimulationParameters,
): Promise<EngineResult> {
  // The fork sends its own requests: after the deadline it finishes them, then closes.
  return await parameters.vault.rpc.withinDeadline(
    FORK_REQUESTS,
    simulateOnFork(parameters),
  );
}

async function simulateOnFork(
  parameters: SimulationParameters,
): Promise<EngineResult> {
  const { vault, sender, route, next, hardfork, gas } = parameters;
  const number = next.number - 1;
  const call = settlementCall(route);
  const [header, chainId, reverted] = await Promise.all([
    vault.rpc.getBlock(number),
    vault.chainId(),
    vault.rpc
      .simulate(call, number, gas ?? next.gasLimit)
      .catch(fallbackTo(undefined)),
  ]);
  if (
    reverted?.kind === "panic" &&
    BigInt(dataSlice(reverted.data, 4)) > LARGEST_PANIC
  ) {
    throw new EngineUnsupportedError(
      `Hardhat's simulator ends the process at ${reverted.text}`,
    );
  }
  const connection = await createFork(vault, {
    isPast: next.isPast,
    hardfork,
    block: { ...header, gasLimit: next.gasLimit },
    chainId,
    simulation: {
      accounts: [],
      // The chain's cap is not known, so the hardfork's is lifted.
      ...(hardfork === undefined && { transactionGasCap: next.gasLimit }),
    },
  });
  try {
    const rpc = simulatorOf(connection.vault);
    await rpc.request("evm_setAutomine", [false]);
    await rpc.request("hardhat_impersonateAccount", [sender]);
    return await executeSettlement(
      { ...parameters, vault: connection.vault },
      // A node's pending block may have the timestamp of the latest.
      Math.max(next.timestamp, header.timestamp + 1),
      "Executed by Hardhat's EVM: precompiles and gas rules of the chain's own are not there.",
    );
  } finally {
    await connection.close();
  }
}

/** Looks up all addresses now: the vault may be closed before its fork. */
async function resolveAddresses(vault: VaultHost): Promise<AddressResolver> {
  const found = new Map(
    contractRoleNames.map((role) => [
      role,
      vault.addressOf(role).catch(absentContract),
    ]),
  );
  await Promise.allSettled(found.values());
  return async (role) => {
    const address = await found.get(role);
    assertInvariant(address !== undefined, `${role} was not resolved`);
    if (!("error" in address)) {
      return address;
    }
    const { path: setting, hint } = address.error.details;
    return { path: String(setting), hint: String(hint) };
  };
}

/** Creates a fork, and binds its vault to the upstream's addresses. */
async function createFork(
  vault: VaultHost,
  plan: ForkPlan,
): Promise<ForkConnection> {
  const { context, connection: upstream } = vault;
  const config = requireHttp(vault);
  const { block, chainId, hardfork } = plan;
  const own = context.config.networks[FORK_NETWORK];
  if (own?.type !== "edr-simulated") {
    throw vaultError("VAULT_FORK_NETWORK_TAKEN", { network: FORK_NETWORK });
  }
  // The simulator's own cache is keyed by host, port and chain id: it would return the
  // state that a local node had before a restart.
  const kept = plan.isPast === true ? block.hash : undefined;
  const cacheDir = path.join(
    context.config.paths.cache,
    CACHE_FOLDER,
    kept ?? `${TEMPORARY_PREFIX}${randomUUID()}`,
  );
  try {
    const override = {
      ...plan.simulation,
      blockGasLimit: block.gasLimit,
      chainId,
      forking: {
        enabled: true,
        url: await config.url.getUrl(),
        blockNumber: BigInt(block.number),
        httpHeaders: config.httpHeaders,
        // Not a Hardhat option: the plugin's config hook applies it.
        cacheDir,
      },
      ...(config.from !== undefined && { from: config.from }),
      ...(hardfork !== undefined && { hardfork }),
      mining: { auto: true, interval: 0 },
      vault: {
        ...vault.settings,
        guard: plan.guards?.get(undefined),
        instances: Object.fromEntries(
          instanceNames(vault).map((name) => [
            name,
            {
              ...vault.instance(name).settings,
              guard: plan.guards?.get(name) ?? (false as const),
            },
          ]),
        ),
      },
    };
    const chainType: ChainType =
      upstream.chainType === "l1" || upstream.chainType === "op"
        ? upstream.chainType
        : "generic";
    const connection = await withHardforkHistory(
      context.config.chainDescriptors,
      {
        chainId,
        chainType,
        hardfork: hardfork ?? (chainType === "op" ? OP_HARDFORK : own.hardfork),
      },
      async () =>
        await context.network.create<ChainType | string>({
          network: FORK_NETWORK,
          chainType,
          override,
        }),
    );
    const { networkConfig } = connection;
    // Checked before anything is sent: another network could be the live chain.
    assertInvariant(
      networkConfig.type === "edr-simulated" &&
        networkConfig.forking?.enabled === true &&
        networkConfig.forking.cacheDir === cacheDir,
      "what should be a fork in process is another network",
    );
    vault.adoptFork(connection, plan.upstream ?? (() => undefined));
    return connection;
  } catch (error) {
    await removeForkCache(cacheDir);
    throw toForkError(error, vault.rpc, hardfork);
  }
}

/** Removes a fork's cache, unless other forks of the same block share it. */
export async function removeForkCache(cacheDir = ""): Promise<void> {
  if (
    path.basename(cacheDir).startsWith(TEMPORARY_PREFIX) &&
    path.basename(path.dirname(cacheDir)) === CACHE_FOLDER
  ) {
    await rm(cacheDir, { recursive: true, force: true, maxRetries: 2 });
  }
}

const oneAtATime = new AsyncMutex();

/**
 * Creates a fork while its chain has a hardfork history, if only of one hardfork from
 * block 0 on. Without it, the simulator refuses to execute ("No known hardfork").
 */
async function withHardforkHistory<T>(
  descriptors: ChainDescriptorsConfig,
  chain: { chainId: number; chainType: ChainType; hardfork: string },
  create: () => Promise<T>,
): Promise<T> {
  return await oneAtATime.exclusiveRun(async () => {
    const chainId = BigInt(chain.chainId);
    const own = descriptors.get(chainId);
    descriptors.set(chainId, {
      name: own?.name ?? `chain ${chain.chainId}`,
      blockExplorers: own?.blockExplorers ?? {},
      // The simulator ignores a descriptor of another chain type.
      chainType: chain.chainType,
      hardforkHistory:
        own?.hardforkHistory ?? new Map([[chain.hardfork, { blockNumber: 0 }]]),
    });
    try {
      return await create();
    } finally {
      if (own === undefined) {
        descriptors.delete(chainId);
      } else {
        descriptors.set(chainId, own);
      }
    }
  });
}

function requireHttp({
  connection: { networkConfig },
  networkName: network,
}: VaultHost): Extract<NetworkConfig, { type: "http" }> {
  if (networkConfig.type !== "http") {
    throw vaultError("VAULT_CANNOT_FORK_IN_PROCESS", { network });
  }
  return networkConfig;
}

function toForkError(
  error: unknown,
  { network, redactor }: RpcClient,
  hardfork: string | undefined,
): Error {
  const known = isHardhatsOwn(error)
    ? toHardhatError(error, redactor)
    : toRpcError(error, network, FORK_REQUESTS, "", redactor);
  // Hardhat's text is about its own configuration, but lists the valid names.
  const allowed = /Valid hardforks[^:]*: ([\w, ]+)/u.exec(known.message)?.[1];
  return hardfork === undefined || allowed === undefined
    ? known
    : vaultError(
        "VAULT_INVALID_ENUM",
        { where: "hardfork", allowed, value: givenInput(hardfork) },
        error,
      );
}
