import { AsyncMutex } from "@nomicfoundation/hardhat-utils/synchronization";
import type {
  ChainDescriptorsConfig,
  NetworkConfig,
  NetworkConfigOverride,
} from "hardhat/types/config";
import type { ChainType, NetworkConnection } from "hardhat/types/network";

import { checkOptions, option } from "../client/options.js";
import type { OptionsOf } from "../client/options.js";
import type { AddressResolver } from "../client/addresses.js";
import { absentContract } from "../client/failed-reading.js";
import { givenInput, withAddress } from "../client/inputs.js";
import type { BlockTag } from "../client/inputs.js";
import { assertInvariant, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import type { UpstreamAddresses, VaultHost } from "../host.js";
import { contractRoleNames } from "../protocol/index.js";
import type { Block } from "../rpc/blocks.js";
import type { Eip1193Provider } from "../rpc/eip1193.js";
import { classify, toRpcError } from "../rpc/errors.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import { readUpstreamBlock } from "./next-block.js";
import { FORK_NETWORK } from "../host.js";
import { FORK_REQUESTS, ForkServer, bindForkServer } from "./fork-server.js";
import type { Memo } from "./memo.js";
import { parseWarmCall, planForFork, warm } from "./warm.js";
import type { WarmCall, WarmPlan } from "./warm.js";

/** Connection to an in-process fork. */
export type ForkConnection = NetworkConnection<ChainType | string>;

export const forkedBlockOptions = {
  /**
   * Block to fork: a number, `safe` or `finalized`. Default: the newest. An older block
   * needs a node that still has its state.
   */
  blockNumber: option<BlockTag>(),
  /**
   * Example: "prague". Default: Hardhat's newest. From "osaka" on, a transaction may use
   * at most 16,777,216 gas.
   */
  hardfork: option<string>(),
};

/** Block and rules that a fork begins with. */
export interface ForkedBlock extends OptionsOf<typeof forkedBlockOptions> {}

const forkOptions = {
  ...forkedBlockOptions,
  /**
   * Calls that will be made on the fork: their state is fetched beforehand, with few
   * requests. That of `snapshot()` and `settleAll()` is fetched in any case.
   */
  warm: option<readonly WarmCall[]>(),
};

/** Options of `fork()`. */
export interface ForkOptions extends OptionsOf<typeof forkOptions> {}

export interface ForkPlan {
  readonly block: Block;
  readonly hardfork: string | undefined;
  /** Ends the requests to the node, and with them the making of the fork. */
  readonly signal?: AbortSignal;
  /** State to fetch beforehand. */
  readonly warmed: Promise<WarmPlan>;
  /** Addresses of its contracts; a simulation does not need them. */
  readonly upstream?: UpstreamAddresses;
  /** Settings of the fork's network. */
  readonly settings: NetworkConfigOverride;
}

/** Simulator's newest hardfork of an OP chain. */
const OP_HARDFORK = "isthmus";

/** @see HardhatVault.fork */
export async function fork(
  vault: VaultHost,
  options: ForkOptions,
): Promise<ForkConnection> {
  checkOptions("fork()", options, forkOptions);
  const { blockNumber, hardfork, warm: more = [] } = options;
  requireHttp(vault);
  const { coinbase } = requireForkNetwork(vault);
  const calls = (await Promise.all(more.map(withAddress))).map(parseWarmCall);
  const names = Object.keys(vault.connection.networkConfig.vault.instances);
  const [block, own, others] = await Promise.all([
    readUpstreamBlock(vault, blockNumber),
    copyOf(vault),
    Promise.all(
      names.map(
        async (name) => [name, await copyOf(vault.instance(name))] as const,
      ),
    ),
  ]);
  const instances = new Map(others);
  const { connection } = await createFork(vault, {
    block,
    hardfork,
    warmed: planForFork(vault, coinbase, block.number, calls),
    upstream: (name) =>
      (name === undefined ? own : instances.get(name))?.addresses,
    settings: {
      vault: {
        ...own.settings,
        instances: Object.fromEntries(
          [...instances].map(([name, one]) => [
            name,
            // Without a guard of its own it would inherit the network's.
            { ...one.settings, guard: one.settings.guard ?? false },
          ]),
        ),
      },
    },
  });
  return connection;
}

/** Looks up all addresses now: the vault may be closed before its fork. */
async function copyOf(vault: VaultHost) {
  const found = new Map(
    contractRoleNames.map((role) => [
      role,
      vault.addressOf(role).catch(absentContract),
    ]),
  );
  const [guard] = await Promise.all([
    vault.guardAddress(),
    Promise.allSettled(found.values()),
  ]);
  const addresses: AddressResolver = async (role) => {
    const address = await found.get(role);
    assertInvariant(address !== undefined, `${role} was not resolved`);
    if (!("error" in address)) {
      return address;
    }
    const { path: setting, hint } = address.error.details;
    return { path: String(setting), hint: String(hint) };
  };
  return { addresses, settings: { ...vault.settings, guard: guard?.address } };
}

/**
 * Makes a fork, binds its vault to the upstream's addresses, and begins to warm it.
 *
 * @throws VaultError
 */
export async function createFork(
  vault: VaultHost,
  { block, hardfork, signal, warmed, upstream, settings }: ForkPlan,
): Promise<{ readonly connection: ForkConnection; readonly memo: Memo }> {
  // Nothing waits for it before the fork is made.
  warmed.catch(() => undefined);
  const { context, connection } = vault;
  const config = requireHttp(vault);
  const own = requireForkNetwork(vault);
  const { number, hash, gasLimit: blockGasLimit } = block;
  assertInvariant(hash !== undefined, "a block to fork without a hash");
  const server = await ForkServer.open({
    network: vault.networkName,
    redactor: vault.rpc.redactor,
    url: await config.url.getUrl(),
    headers: config.httpHeaders,
    timeout: config.timeout,
    number,
    hash,
    signal,
  });
  const { memo } = server;
  // A failure here comes again when the value is needed.
  memo.warming = warmed
    .then(async (plan) => {
      await warm(memo, number, plan);
    })
    .catch(() => undefined);
  try {
    const chainId = await memo.begin();
    const override = {
      ...settings,
      blockGasLimit,
      chainId,
      forking: {
        enabled: true,
        url: server.url,
        blockNumber: BigInt(number),
        // Hardhat drops it; the plugin's own hook does not.
        cacheDir: server.folder,
      },
      ...(config.from !== undefined && { from: config.from }),
      ...(hardfork !== undefined && { hardfork }),
      mining: { auto: true, interval: 0 },
    };
    const chainType: ChainType =
      connection.chainType === "l1" || connection.chainType === "op"
        ? connection.chainType
        : "generic";
    const newest = chainType === "op" ? OP_HARDFORK : own.hardfork;
    const forked = await withHardforkHistory(
      context.config.chainDescriptors,
      { chainId, chainType, hardfork: hardfork ?? newest },
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
    const { networkConfig } = forked;
    // Checked before anything is sent: another network could be the live chain.
    assertInvariant(
      networkConfig.type === "edr-simulated" &&
        networkConfig.forking?.enabled === true &&
        (await networkConfig.forking.url.getUrl()) === server.url,
      "what should be a fork in process is another network",
    );
    bindForkServer(forked, server);
    vault.adoptFork(forked, endingWith(memo, forked), upstream);
    return { connection: forked, memo };
  } catch (error) {
    const { failure } = server;
    await server.close();
    throw (
      invalidHardfork(error, hardfork) ??
      toForkError(failure ?? error, vault.rpc)
    );
  }
}

/** The fork's provider; after the fork's end, its failures are the reason of that. */
function endingWith(memo: Memo, { provider }: ForkConnection): Eip1193Provider {
  return {
    request: async (args): Promise<unknown> =>
      await provider.request(args).catch((error: unknown) => {
        const { ended } = memo;
        // A contract can still revert on what the fork has read.
        throw ended === undefined || classify(error).kind === "reverted"
          ? error
          : ended;
      }),
  };
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

const proxies = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/**
 * Runs a task while a proxy of the environment does not apply to this machine. Hardhat's
 * simulator reads the variables when it makes a fork, and would send the requests for a
 * loopback address to the proxy. Do not run it twice at the same time.
 */
async function withoutProxy<T>(task: () => Promise<T>): Promise<T> {
  const { env } = process;
  if (!proxies.some((name) => (env[name] ?? "") !== "")) {
    return await task();
  }
  const { NO_PROXY, no_proxy } = env;
  // The first that is set counts.
  const excluded = NO_PROXY ?? no_proxy ?? "";
  env["NO_PROXY"] = excluded === "" ? "127.0.0.1" : `${excluded},127.0.0.1`;
  try {
    return await task();
  } finally {
    if (NO_PROXY === undefined) {
      delete env["NO_PROXY"];
    } else {
      env["NO_PROXY"] = NO_PROXY;
    }
  }
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
): VaultError {
  return toRpcError(error, FORK_REQUESTS, {
    network,
    redactor,
    isBehindHardhat: true,
  });
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
