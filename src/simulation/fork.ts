import { bytesToHexString } from "@nomicfoundation/hardhat-utils/hex";
import { AsyncMutex } from "@nomicfoundation/hardhat-utils/synchronization";
import { ZeroAddress } from "ethers";
import type { NetworkConfigOverride } from "hardhat/types/config";
import type { ChainType, NetworkConnection } from "hardhat/types/network";

import {
  checkOptions,
  checksumAddress,
  optional,
  parseAccount,
  parseAddress,
  parseBlockTag,
  requireFixedBlock,
  withAddress,
} from "../client/inputs.js";
import type { AccountLike, BlockTag, OptionsOf } from "../client/inputs.js";
import { NOBODYS_ADDRESS } from "../client/lens/lens.js";
import { assertInvariant, invalidArgument, vaultError } from "../errors.js";
import { findRoute, settlementCall } from "../guard/call.js";
import type { SettlementRoute } from "../guard/call.js";
import { FORK_NETWORK } from "../host.js";
import type { VaultHost } from "../host.js";
import { getBlock } from "../rpc/blocks.js";
import type { Header } from "../rpc/blocks.js";
import type { CallRequest } from "../rpc/chain.js";
import { classify } from "../rpc/errors.js";
import { FORK_REQUESTS, ForkProxy } from "./fork-proxy.js";
import type { WarmPlan } from "./fork-proxy.js";
import type { WatchList } from "./types.js";
import { makeWatchList } from "./watch-list.js";

/** Connection to an in-process fork. */
export type ForkConnection = NetworkConnection<ChainType | string>;

export const forkedBlockOptions = {
  /**
   * Block to fork: a number, `safe` or `finalized`. Default: the newest. An older block
   * needs a node that still has its state.
   */
  blockNumber: optional<BlockTag>(),
  /**
   * Example: "prague". Default: Hardhat's newest. From "osaka" on, a transaction may use
   * at most 16,777,216 gas.
   */
  hardfork: optional<string>(),
};

/** A call whose state a fork fetches beforehand. Nothing is executed on the fork. */
export interface WarmCall {
  readonly to: string;
  /** Call data, 0x hex. */
  readonly data: string;
  /** Default: the caller of reads. */
  readonly from?: AccountLike | undefined;
}

const forkOptions = {
  ...forkedBlockOptions,
  /**
   * Calls that will be made on the fork: their state is fetched beforehand, with few
   * requests. That of `snapshot()` and `settleAll()` is fetched in any case.
   */
  warm: optional<readonly WarmCall[]>(),
};

/** Options of `fork()`. */
export interface ForkOptions extends OptionsOf<typeof forkOptions> {}

/** Hardhat's first account, which settles on a fork unless another is configured. */
const FIRST_ACCOUNT = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";

/** @see HardhatVault.fork */
export async function fork(
  vault: VaultHost,
  options: ForkOptions,
): Promise<ForkConnection> {
  checkOptions("fork()", options, forkOptions);
  const { blockNumber, hardfork, warm = [] } = options;
  const { from = FIRST_ACCOUNT, vault: configured } =
    networksOf(vault).upstream;
  const { from: caller } = vault.readContext({});
  const named: CallRequest[] = [];
  for (const call of warm) {
    const { to, data, from: given = caller } = await withAddress(call);
    named.push({
      data,
      to: parseAddress(to, "warm.to"),
      from: parseAccount(given, "warm.from"),
    });
  }
  const block = await readForkedBlock(vault, blockNumber);
  const own = await resolveSettings(vault);
  const instances: Record<string, typeof own> = {};
  for (const name of Object.keys(configured.instances)) {
    instances[name] = await resolveSettings(vault.instance(name));
  }
  const plan = async (): Promise<WarmPlan> => {
    const { networkName: network } = vault;
    const sender = checksumAddress(from);
    const contracts = await vault.locateAll();
    const accounts = [sender, ...contracts.map(({ address }) => address)];
    const watched = makeWatchList({ network, contracts, accounts });
    const isVault = contracts.some(({ role }) => role === "vault");
    const route = isVault
      ? await findRoute(vault, sender, block.number)
      : undefined;
    const standard = planFor(vault, watched, route);
    return { ...standard, calls: [...standard.calls, ...named] };
  };
  const settings = { vault: { ...own, instances } };
  return await openFork(vault, { block, hardfork, plan, settings });
}

export async function readForkedBlock(
  { rpc }: VaultHost,
  blockNumber: BlockTag | undefined,
): Promise<Header> {
  requireFixedBlock(blockNumber, "blockNumber");
  const tag = parseBlockTag(blockNumber ?? "latest", "blockNumber");
  return await getBlock(rpc, tag);
}

/** With all addresses, as the vault may be closed before its fork. */
async function resolveSettings(vault: VaultHost) {
  const guard = await vault.guardAddress();
  const contracts = await vault.locateAll();
  return {
    ...vault.display,
    tokens: vault.settings.tokens,
    // Without one of its own, an instance would inherit the network's.
    guard: guard?.address ?? (false as const),
    contracts: Object.fromEntries(
      contracts.map(({ role, address }) => [role, address]),
    ),
  };
}

/** The lens asks it for the number of the block, on any chain. */
const ARB_SYS = "0x0000000000000000000000000000000000000064";

/** Plans for what is watched, and for a settlement. */
export function planFor(
  vault: VaultHost,
  { accounts, reads }: WatchList,
  route: SettlementRoute | undefined,
): WarmPlan {
  const { from } = vault.readContext({});
  const coinbase = bytesToHexString(networksOf(vault).own.coinbase);
  const others = [from, ZeroAddress, NOBODYS_ADDRESS, ARB_SYS, coinbase];
  return {
    calls: [
      ...reads.map(({ address: to, data }) => ({ from, to, data })),
      ...(route === undefined ? [] : [settlementCall(route)]),
    ],
    accounts: [...accounts, ...others],
  };
}

/** Simulator's newest hardfork of an OP chain. */
const OP_HARDFORK = "isthmus";

const oneAtATime = new AsyncMutex();

/**
 * Makes a fork, and begins to warm it. The end of the connection ends all of it.
 *
 * @param opened The state to fetch beforehand, and the settings of the fork's network.
 */
export async function openFork(
  vault: VaultHost,
  opened: {
    readonly block: Header;
    readonly hardfork: string | undefined;
    readonly plan: () => Promise<WarmPlan> | WarmPlan;
    readonly settings: NetworkConfigOverride;
  },
): Promise<ForkConnection> {
  const { block, hardfork, plan, settings } = opened;
  const { connection: live, context, rpc } = vault;
  const { upstream, own } = networksOf(vault);
  const { number, hash, gasLimit } = block;
  assertInvariant(hash !== undefined, "a block to fork without a hash");
  const { httpHeaders: headers, timeout, from } = upstream;
  const node = { url: await upstream.url.getUrl(), headers, timeout };
  const proxy = new ForkProxy(rpc, node, { number, hash });
  proxy.warm(plan);
  try {
    const chainId = await proxy.begin();
    const isKnown = live.chainType === "l1" || live.chainType === "op";
    const chainType = isKnown ? live.chainType : "generic";
    const newest = chainType === "op" ? OP_HARDFORK : own.hardfork;
    const override = {
      ...settings,
      blockGasLimit: gasLimit,
      chainId,
      forking: {
        enabled: true,
        url: proxy.url,
        blockNumber: BigInt(number),
        // Hardhat drops it; the plugin's own hook does not.
        cacheDir: proxy.folder,
      },
      ...(from !== undefined && { from }),
      ...(hardfork !== undefined && { hardfork }),
      mining: { auto: true, interval: 0 },
    };
    const connection = await createDescribed(
      context,
      { chainId, chainType, hardfork: hardfork ?? newest },
      override,
    );
    const { networkConfig } = connection;
    // Checked before anything is sent: another network could be the live chain.
    assertInvariant(
      networkConfig.type === "edr-simulated" &&
        networkConfig.forking?.enabled === true &&
        (await networkConfig.forking.url.getUrl()) === proxy.url,
      "what should be a fork in process is another network",
    );
    const close = connection.close.bind(connection);
    connection.close = async () => {
      await close();
      await proxy.close();
    };
    vault.adoptFork(connection);
    return connection;
  } catch (error) {
    await proxy.close();
    const { network, redactor } = rpc;
    const source = { network, redactor, isBehindHardhat: true };
    throw classify(error, source, FORK_REQUESTS).error;
  }
}

/**
 * Creates the connection while the configuration describes the chain: without a history of
 * hardforks the simulator refuses to execute, and it ignores a description of another chain type.
 */
async function createDescribed(
  { config: { chainDescriptors }, network }: VaultHost["context"],
  chain: {
    readonly chainId: number;
    readonly chainType: ChainType;
    readonly hardfork: string;
  },
  override: NetworkConfigOverride,
): Promise<ForkConnection> {
  const { chainId, chainType, hardfork } = chain;
  const id = BigInt(chainId);
  return await oneAtATime.exclusiveRun(async () => {
    const described = chainDescriptors.get(id);
    chainDescriptors.set(id, {
      name: `chain ${chainId}`,
      blockExplorers: {},
      hardforkHistory: new Map([[hardfork, { blockNumber: 0 }]]),
      ...described,
      chainType,
    });
    try {
      return await network.create<ChainType | string>({
        network: FORK_NETWORK,
        chainType,
        override,
      });
    } finally {
      if (described === undefined) {
        chainDescriptors.delete(id);
      } else {
        chainDescriptors.set(id, described);
      }
    }
  });
}

/** The settings of the network that is forked, and of that which forks are made with. */
function networksOf({ context, connection, networkName }: VaultHost) {
  const { networkConfig: upstream } = connection;
  if (upstream.type !== "http") {
    throw invalidArgument(
      `Network ${networkName}`,
      "it runs in process and cannot be forked, because it has no node",
      "Call simulateSettleAll() on it, which undoes the settlement, or fork a network of type http.",
    );
  }
  const own = context.config.networks[FORK_NETWORK];
  if (own?.type !== "edr-simulated") {
    throw vaultError("VAULT_ENGINE_UNAVAILABLE", {
      network: networkName,
      engine: "fork",
      problem: `networks.${FORK_NETWORK}, with which forks are made, is not of type edr-simulated: rename that network`,
    });
  }
  return { upstream, own };
}
