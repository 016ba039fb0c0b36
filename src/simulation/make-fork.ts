import path from "node:path";

import { AsyncMutex } from "@nomicfoundation/hardhat-utils/synchronization";
import type {
  ChainDescriptorsConfig,
  NetworkConfig,
} from "hardhat/types/config";
import type { ChainType, NetworkConnection } from "hardhat/types/network";

import { givenInput } from "../client/inputs.js";
import { assertInvariant, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import type { UpstreamAddresses, VaultHost } from "../host.js";
import type { Block } from "../rpc/blocks.js";
import { isHardhatsOwn, toHardhatError } from "../rpc/hardhat-error.js";
import { toRpcError } from "../rpc/errors.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import { ForkCache, bindForkCache } from "./fork-cache.js";
import { FORK_NETWORK } from "./fork-network.js";
import { FORK_REQUESTS } from "./upstream.js";
import { warm } from "./warm.js";
import type { Needs } from "./warm.js";
import { withoutProxy } from "./without-proxy.js";

/** Connection to an in-process fork. */
export type ForkConnection = NetworkConnection<ChainType | string>;

export interface ForkPlan {
  readonly block: Block;
  /** True if the caller chose the block: fetched state of an older one is kept on disk. */
  readonly isPast: boolean | undefined;
  /** Number of the newest block. */
  readonly head: number;
  readonly chainId: number;
  readonly isDevelopment: boolean;
  readonly hardfork: string | undefined;
  /** State to warm the fork with. */
  readonly needs: Promise<Needs>;
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

/** Simulator's newest hardfork of an OP chain. */
const OP_HARDFORK = "isthmus";

const CACHE_FOLDER = "vault-forks";

export function instanceNames({ connection }: VaultHost): readonly string[] {
  return Object.keys(connection.networkConfig.vault.instances);
}

/**
 * Makes a fork, binds its vault to the upstream's addresses, and begins to warm it.
 *
 * @throws VaultError
 */
export async function createFork(
  vault: VaultHost,
  plan: ForkPlan,
): Promise<ForkConnection> {
  const { context, connection: upstream } = vault;
  const config = requireHttp(vault);
  const { block, chainId, hardfork, isPast, head, isDevelopment } = plan;
  // The state of a development node's newest block can still change.
  const isFinal = isPast === true && block.number < head;
  const own = requireForkNetwork(vault);
  assertInvariant(block.hash !== undefined, "a block to fork without a hash");
  const cache = await ForkCache.open({
    upstream: {
      network: vault.networkName,
      url: await config.url.getUrl(),
      headers: config.httpHeaders,
      timeout: config.timeout,
    },
    chainId,
    number: block.number,
    hash: block.hash,
    folder: isFinal
      ? path.join(context.config.paths.cache, CACHE_FOLDER)
      : undefined,
    isShared: isFinal || !isDevelopment,
  });
  plan.needs
    .then(async (needs) => {
      await warm(cache.block, block.number, needs);
    })
    // Whatever fails here fails when it is needed.
    .catch(() => undefined);
  try {
    await cache.block.requireBlock();
    const override = {
      ...plan.simulation,
      blockGasLimit: block.gasLimit,
      chainId,
      forking: {
        enabled: true,
        url: cache.url,
        blockNumber: BigInt(block.number),
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
        await withoutProxy(
          async () =>
            await context.network.create<ChainType | string>({
              network: FORK_NETWORK,
              chainType,
              override,
            }),
        ),
    );
    const { networkConfig } = connection;
    // Checked before anything is sent: another network could be the live chain.
    assertInvariant(
      networkConfig.type === "edr-simulated" &&
        networkConfig.forking?.enabled === true &&
        (await networkConfig.forking.url.getUrl()) === cache.url,
      "what should be a fork in process is another network",
    );
    bindForkCache(connection, cache);
    vault.adoptFork(connection, plan.upstream ?? (() => undefined));
    return connection;
  } catch (error) {
    // Closing ends the requests of warming, whose failure would be found here.
    const { failure } = cache.block;
    await cache.close();
    throw (
      invalidHardfork(error, hardfork) ??
      toForkError(failure ?? error, vault.rpc)
    );
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

export function requireForkNetwork({
  context,
}: VaultHost): Extract<NetworkConfig, { type: "edr-simulated" }> {
  const network = context.config.networks[FORK_NETWORK];
  if (network?.type !== "edr-simulated") {
    throw vaultError("VAULT_FORK_NETWORK_TAKEN", { network: FORK_NETWORK });
  }
  return network;
}

export function requireHttp({
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
): VaultError {
  return isHardhatsOwn(error)
    ? toHardhatError(error, redactor)
    : toRpcError(error, network, FORK_REQUESTS, redactor);
}

/** @returns Undefined if Hardhat refused something else than the hardfork. */
function invalidHardfork(
  error: unknown,
  hardfork: string | undefined,
): VaultError | undefined {
  // Hardhat's text is about its own configuration, but lists the valid names.
  const text = error instanceof Error ? error.message : "";
  const allowed = /Valid hardforks[^:]*: ([\w, ]+)/u.exec(text)?.[1];
  return hardfork === undefined || allowed === undefined
    ? undefined
    : vaultError(
        "VAULT_INVALID_ENUM",
        { where: "hardfork", allowed, value: givenInput(hardfork) },
        error,
      );
}
