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
import { isDevelopmentNode } from "../../rpc/development-node.js";
import { isNodeRefusal, toRpcError } from "../../rpc/errors.js";
import { isHardhatsOwn, toHardhatError } from "../../rpc/hardhat-error.js";
import type { RevertReason } from "../../rpc/revert-reason.js";
import type { Block, RpcClient } from "../../rpc/rpc-client.js";
import { EngineUnsupportedError, settlementCall } from "../engine.js";
import type { EngineResult, SimulationParameters } from "../engine.js";
import { FORK_NETWORK } from "../fork-network.js";
import { readUpstreamBlock } from "../next-block.js";
import { FORK_REQUESTS } from "../block-cache.js";
import { ForkCache, bindForkCache } from "../fork-cache.js";
import { withoutProxy } from "../without-proxy.js";
import { tryToWarm, warm } from "../warm.js";
import type { Needs } from "../warm.js";
import { needsOfFork, needsOfReads, parseWarmCall } from "../fork-needs.js";
import type { WarmCall } from "../fork-needs.js";
import { executeSettlement, simulatorOf } from "./in-process.js";

/** Block and rules that a fork begins with. */
export interface ForkedBlock {
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

/** Options of `fork()`. */
export interface ForkOptions extends ForkedBlock {
  /**
   * Calls that will be made on the fork: their state is fetched beforehand, in two
   * requests. That of `snapshot()` and `settleAll()` is fetched in any case.
   */
  readonly warm?: readonly WarmCall[] | undefined;
}

export const forkedBlockOptionNames: OptionNames<ForkedBlock> = {
  blockNumber: true,
  hardfork: true,
};

const forkOptionNames: OptionNames<ForkOptions> = {
  ...forkedBlockOptionNames,
  warm: true,
};

/** Connection to an in-process fork. */
export type ForkConnection = NetworkConnection<ChainType | string>;

interface ForkPlan {
  readonly block: Block;
  /** True if the caller chose the block: fetched state of an older one is kept on disk. */
  readonly isPast: boolean | undefined;
  /** Number of the newest block. */
  readonly head: number;
  readonly chainId: number;
  readonly isDevelopment: boolean;
  readonly hardfork: string | undefined;
  /** State to warm the fork with, if it is known before there is a fork. */
  readonly needs?: Needs;
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

/** Hardhat's simulator crashes the process at a larger panic code. */
const LARGEST_PANIC = 2n ** 64n - 1n;

/** @see HardhatVault.fork */
export async function fork(
  host: VaultHost,
  options: ForkOptions,
): Promise<ForkConnection> {
  checkOptionNames("fork()", options, forkOptionNames);
  const { blockNumber, hardfork, warm: more = [] } = options;
  requireHttp(host);
  const { coinbase } = requireForkNetwork(host);
  const calls = more.map(parseWarmCall);
  const vault = host.withDeadline({});
  const names = [undefined, ...instanceNames(vault)];
  const vaults = names.map((name) =>
    name === undefined ? vault : vault.instance(name),
  );
  const guards = await Promise.all(
    vaults.map(async (one) => (await one.guardAddress())?.address),
  );
  const isPast = (blockNumber ?? "latest") !== "latest";
  const [block, head, chainId, isDevelopment, ...addresses] = await Promise.all(
    [
      readUpstreamBlock(vault, blockNumber),
      isPast ? vault.rpc.blockNumber() : 0,
      vault.chainId(),
      isDevelopmentNode(vault.rpc),
      ...vaults.map(resolveAddresses),
    ],
  );
  const { connection, cache } = await createFork(vault, {
    block,
    chainId,
    isDevelopment,
    upstream: (name) => addresses[names.indexOf(name)],
    guards: new Map(names.map((name, index) => [name, guards[index]])),
    hardfork,
    isPast,
    head,
  });
  const { instanceName } = vault;
  const own: VaultHost = connection.vault;
  const forked = instanceName === undefined ? own : own.instance(instanceName);
  // Asked before anything waits for the warming: the simulator answers one after the other.
  const needs = await needsOfFork(forked, coinbase, calls).catch(
    // An address that cannot be read fails when it is used.
    fallbackTo(undefined),
  );
  if (needs !== undefined) {
    cache.holdFor(tryToWarm(warm(cache.block, block.number, needs)));
  }
  return connection;
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
  const { vault, sender, route, watched, next, hardfork } = parameters;
  const { coinbase } = requireForkNetwork(vault);
  const needs = needsOfReads(vault, coinbase, watched);
  const number = next.number - 1;
  const call = settlementCall(route);
  const [header, head, chainId, isDevelopment, plain] = await Promise.all([
    vault.rpc.getBlock(number),
    next.isPast === true ? vault.rpc.blockNumber() : 0,
    vault.chainId(),
    isDevelopmentNode(vault.rpc),
    callPlainly(vault, parameters),
  ]);
  const reverted = plain?.reverted;
  if (
    reverted?.kind === "panic" &&
    BigInt(dataSlice(reverted.data, 4)) > LARGEST_PANIC
  ) {
    throw new EngineUnsupportedError(
      `Hardhat's simulator ends the process at ${reverted.text}`,
    );
  }
  const { connection } = await createFork(vault, {
    needs: { ...needs, calls: [...needs.calls, call] },
    isPast: next.isPast,
    head,
    hardfork,
    block: { ...header, gasLimit: next.gasLimit },
    chainId,
    isDevelopment,
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
    if (hardfork === undefined) {
      await requireSameVerdict(connection.vault, parameters, plain);
    }
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

/** Verdict of one `eth_call` of the settlement; undefined if it cannot be had. */
type PlainCall = { readonly reverted: RevertReason | undefined } | undefined;

async function callPlainly(
  vault: VaultHost,
  { route, next, gas }: SimulationParameters,
): Promise<PlainCall> {
  const call = settlementCall(route);
  return await vault.rpc
    .simulate(call, next.number - 1, gas ?? next.gasLimit)
    .then(
      (reverted) => ({ reverted }),
      // A node that prunes old state refuses all that the fork would fetch, too.
      fallbackTo(
        undefined,
        (error) => next.isPast !== true || !isNodeRefusal(error),
      ),
    );
}

/**
 * Makes the same call in the same block on the fork as on the node. If only one of them
 * reverts, the chain has precompiles or rules of its own, and the fork proves nothing.
 */
async function requireSameVerdict(
  forked: VaultHost,
  parameters: SimulationParameters,
  onNode: PlainCall,
): Promise<void> {
  const onFork = await callPlainly(forked, parameters);
  if (onNode === undefined || onFork === undefined) {
    return;
  }
  const [there, here] = [onNode, onFork].map(({ reverted }) =>
    reverted === undefined
      ? "accepts the call"
      : `refuses it (${reverted.text})`,
  );
  if ((onNode.reverted === undefined) !== (onFork.reverted === undefined)) {
    throw new EngineUnsupportedError(
      `in block ${parameters.next.number - 1} the node ${there}, and Hardhat's simulator ${here}`,
    );
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
): Promise<{ connection: ForkConnection; cache: ForkCache }> {
  const { context, connection: upstream } = vault;
  const config = requireHttp(vault);
  const { block, chainId, hardfork, isPast, head, isDevelopment } = plan;
  // The state of a development node's newest block can still change.
  const isFinal = isPast === true && block.number < head;
  const own = requireForkNetwork(vault);
  assertInvariant(block.hash !== undefined, "a block to fork without a hash");
  const cache = await ForkCache.open({
    upstream: {
      url: await config.url.getUrl(),
      headers: config.httpHeaders,
      timeout: config.timeout,
    },
    network: vault.networkName,
    chainId,
    number: block.number,
    hash: block.hash,
    folder: isFinal
      ? path.join(context.config.paths.cache, CACHE_FOLDER)
      : undefined,
    isShared: isFinal || !isDevelopment,
  });
  const warming =
    plan.needs === undefined
      ? undefined
      : tryToWarm(warm(cache.block, block.number, plan.needs));
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
    if (warming !== undefined) {
      cache.holdFor(warming);
    }
    return { connection, cache };
  } catch (error) {
    await cache.close();
    throw toForkError(cache.block.failure ?? error, vault.rpc, hardfork);
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

function requireForkNetwork({
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
