import type { NetworkConfig } from "hardhat/types/config";
import type { ChainType, NetworkConnection } from "hardhat/types/network";

import { dataSlice } from "ethers";

import { givenInput } from "../../client/inputs.js";
import type { BlockTag } from "../../client/inputs.js";
import { toRpcError } from "../../rpc/errors.js";
import type { VaultHost } from "../../host.js";
import { assertInvariant, fallbackTo, vaultError } from "../../errors.js";
import { chooseForkCache, removeForkCache } from "../fork/cache.js";
import { FORK_NETWORK } from "../fork/network.js";
import { withHardforkHistory } from "../fork/hardfork-history.js";
import { resolveAddresses } from "../resolved-addresses.js";
import type { ResolvedAddresses } from "../resolved-addresses.js";
import type { Block } from "../../rpc/rpc-client.js";
import { executeSettlement, simulatorOf } from "../execute-on-chain.js";
import { readUpstreamBlock } from "../next-block.js";
import { EngineUnsupportedError, settlementCall } from "../engine.js";
import type { EngineResult, SimulationParameters } from "../engine.js";

/** Options of `fork`. */
export interface ForkOptions {
  /**
   * Block to fork: a number, or `safe` or `finalized`; the newest one unless
   * given. An older one needs a node that still has its state.
   */
  readonly blockNumber?: BlockTag | undefined;
  /**
   * Rules to execute by, as in "prague"; Hardhat's newest unless given. From
   * "osaka" on, a transaction may use 16,777,216 gas at most.
   */
  readonly hardfork?: string | undefined;
}

const noInstances: NonNullable<ForkPlan["instances"]> = new Map();

/** The name in error texts of the requests of a fork to its upstream. */
const FORK_REQUESTS = "the requests of a fork";

/** A connection to an in-process fork. */
export type ForkConnection = NetworkConnection<ChainType | string>;

interface ForkPlan extends Pick<
  SimulationParameters,
  "addresses" | "hardfork"
> {
  readonly block: Block;
  /** True if the caller chose the block. */
  readonly isPast: boolean | undefined;
  readonly chainId: number;
  /** Those of the network's instances, by name, where somebody may ask. */
  readonly instances?: ReadonlyMap<string, ResolvedAddresses>;
  /** Further overrides of a simulation. */
  readonly simulation?: {
    /** None, so that no balance of the forked chain is overwritten. */
    readonly accounts: [];
    readonly transactionGasCap?: bigint;
  };
}

/** Hardhat's simulator ends the process at a larger panic code. */
const LARGEST_PANIC = 2n ** 64n - 1n;

/**
 * Simulates on a fork in this process, which fetches what the contracts touch
 * from the node, piece by piece.
 */
export async function runFork(
  parameters: SimulationParameters,
): Promise<EngineResult> {
  const { vault, sender, target, next, hardfork, gas } = parameters;
  const execute = async (): Promise<EngineResult> => {
    const number = next.number - 1;
    const [header, chainId, reverted] = await Promise.all([
      vault.rpc.getBlock(number),
      vault.chainId(),
      vault.rpc
        .simulate(
          settlementCall(sender, target.address),
          number,
          gas ?? next.gasLimit,
        )
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
      ...parameters,
      isPast: next.isPast,
      block: { ...header, gasLimit: next.gasLimit },
      chainId,
      simulation: {
        accounts: [],
        // No node tells if the chain has a limit: it is not to be the hardfork's.
        ...(hardfork === undefined && { transactionGasCap: next.gasLimit }),
      },
    });
    try {
      const rpc = simulatorOf(connection.vault);
      await rpc.request("evm_setAutomine", [false]);
      await rpc.request("hardhat_impersonateAccount", [sender]);
      return await executeSettlement(
        { ...parameters, vault: connection.vault },
        // A node may date its pending block as the one before.
        Math.max(next.timestamp, header.timestamp + 1),
        "Executed by Hardhat's EVM: precompiles and gas rules of the chain's own are not there.",
      );
    } finally {
      await connection.close();
    }
  };
  // The simulator asks the node by itself, and closes when it is done.
  return await vault.rpc.withinDeadline(FORK_REQUESTS, execute());
}

/** @see HardhatVault.fork */
export async function fork(
  host: VaultHost,
  { blockNumber, hardfork }: ForkOptions,
): Promise<ForkConnection> {
  requireHttp(host);
  const vault = host.withDeadline({});
  const { instances } = vault.connection.networkConfig.vault;
  const [block, chainId, addresses, ...ofInstances] = await Promise.all([
    readUpstreamBlock(vault, blockNumber),
    vault.chainId(),
    resolveAddresses(vault),
    ...Object.keys(instances).map(
      async (name) =>
        [name, await resolveAddresses(vault.instance(name))] as const,
    ),
  ]);
  return await createFork(vault, {
    block,
    chainId,
    addresses,
    instances: new Map(ofInstances),
    hardfork,
    isPast: (blockNumber ?? "latest") !== "latest",
  });
}

/**
 * Creates the fork and binds its vault to the upstream's addresses.
 *
 * @throws VaultError VAULT_FORK_NETWORK_TAKEN, VAULT_CONFIG_VARIABLE and those
 * of a failed request
 */
async function createFork(
  vault: VaultHost,
  plan: ForkPlan,
): Promise<ForkConnection> {
  const { context, connection: upstream, networkName } = vault;
  const config = requireHttp(vault);
  const { block, chainId, hardfork, instances = noInstances } = plan;
  const own = context.config.networks[FORK_NETWORK];
  if (own?.type !== "edr-simulated") {
    throw vaultError("VAULT_FORK_NETWORK_TAKEN", { network: FORK_NETWORK });
  }
  let cacheDir: string | undefined;
  try {
    const url = await config.url.getUrl();
    cacheDir = chooseForkCache(
      context.config.paths.cache,
      plan.isPast === true ? block.hash : undefined,
    );
    const override = {
      ...plan.simulation,
      blockGasLimit: block.gasLimit,
      chainId,
      forking: {
        enabled: true,
        url,
        blockNumber: BigInt(block.number),
        httpHeaders: config.httpHeaders,
        // Not an option of Hardhat's: the plugin's config hook puts it in.
        cacheDir,
      },
      ...(config.from !== undefined && { from: config.from }),
      ...(hardfork !== undefined && { hardfork }),
      mining: { auto: true, interval: 0 },
      vault: {
        ...vault.settings,
        instances: Object.fromEntries(
          [...instances.keys()].map((name) => [
            name,
            vault.instance(name).settings,
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
    // Nothing is ever written before this holds: it could be the live chain.
    assertInvariant(
      networkConfig.type === "edr-simulated" &&
        networkConfig.forking?.enabled === true &&
        networkConfig.forking.cacheDir === cacheDir,
      "what should be a fork in process is another network",
    );
    vault.adoptFork(
      connection,
      (name) =>
        (name === undefined ? plan.addresses : instances.get(name))?.locate,
    );
    return connection;
  } catch (error) {
    if (cacheDir !== undefined) {
      await removeForkCache(cacheDir);
    }
    throw toForkError(error, networkName, hardfork);
  }
}

function requireHttp({
  connection,
  networkName,
}: VaultHost): Extract<NetworkConfig, { type: "http" }> {
  const { networkConfig } = connection;
  if (networkConfig.type !== "http") {
    throw vaultError("VAULT_CANNOT_FORK_IN_PROCESS", { network: networkName });
  }
  return networkConfig;
}

/** The simulator's newest rules for an op chain. */
const OP_HARDFORK = "isthmus";

function toForkError(
  error: unknown,
  network: string,
  hardfork: string | undefined,
): Error {
  const known = toRpcError(error, network, FORK_REQUESTS);
  // Hardhat's text is about its own configuration, and lists what there is.
  const allowed = /Valid hardforks[^:]*: ([\w, ]+)/u.exec(known.message)?.[1];
  return hardfork === undefined || allowed === undefined
    ? known
    : vaultError(
        "VAULT_INVALID_ENUM",
        { where: "hardfork", allowed, value: givenInput(hardfork) },
        error,
      );
}
