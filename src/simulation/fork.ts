import { bytesToHexString } from "@nomicfoundation/hardhat-utils/hex";
import { AsyncMutex } from "@nomicfoundation/hardhat-utils/synchronization";
import { ZeroAddress, isHexString } from "ethers";
import type { NetworkConfigOverride } from "hardhat/types/config";
import type { ChainType, NetworkConnection } from "hardhat/types/network";

import type { AddressResolver } from "../client/addresses.js";
import { failedReading, isNotConfigured } from "../client/read-at-block.js";
import {
  checksumAddress,
  describeInput,
  parseAccount,
  parseAddress,
  withAddress,
  checkOptions,
  option,
} from "../client/inputs.js";
import type { AccountLike, BlockTag, OptionsOf } from "../client/inputs.js";
import { NOBODYS_ADDRESS } from "../client/lens/lens.js";
import { assertInvariant, invalidArgument, vaultError } from "../errors.js";
import { findRoute, settlementCall } from "../guard/call.js";
import type { SettlementRoute } from "../guard/call.js";
import { FORK_NETWORK } from "../host.js";
import type { VaultHost } from "../host.js";
import { contractRoleNames } from "../protocol/index.js";
import type { Block } from "../rpc/blocks.js";
import type { CallRequest } from "../rpc/chain.js";
import { classify } from "../rpc/errors.js";
import type { Watched } from "./engines/engine.js";
import { FORK_REQUESTS, Memo } from "./memo.js";
import type { WarmPlan } from "./memo.js";
import { readUpstreamBlock } from "./next-block.js";
import { findContracts, makeWatchList } from "./watch-list.js";

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

/** A call whose state a fork fetches beforehand. Nothing is executed on the fork. */
export interface WarmCall {
  readonly to: string;
  /** Call data, 0x hex. */
  readonly data: string;
  /** Default: the sender of reads. */
  readonly from?: AccountLike | undefined;
}

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

/** @see HardhatVault.fork */
export async function fork(
  vault: VaultHost,
  options: ForkOptions,
): Promise<ForkConnection> {
  checkOptions("fork()", options, forkOptions);
  const { blockNumber, hardfork, warm = [] } = options;
  const names = Object.keys(settingsOf(vault).upstream.vault.instances);
  const calls = await Promise.all(
    warm.map(async (call) => parseWarmCall(vault, await withAddress(call))),
  );
  const [block, own, ...others] = await Promise.all([
    readUpstreamBlock(vault, blockNumber),
    copyOf(vault),
    ...names.map(async (name) => ({
      name,
      ...(await copyOf(vault.instance(name))),
    })),
  ]);
  const instances = others.map(
    ({ name, settings }) =>
      // Without a guard of its own it would inherit the network's.
      [name, { ...settings, guard: settings.guard ?? false }] as const,
  );
  const { connection } = await openFork(vault, {
    block,
    hardfork,
    plan: async () => await planForFork(vault, block.number, calls),
    settings: {
      vault: { ...own.settings, instances: Object.fromEntries(instances) },
    },
  });
  connection.vault.bind(own.addresses);
  for (const { name, addresses } of others) {
    connection.vault.instance(name).bind(addresses);
  }
  return connection;
}

/** Looks up all addresses now: the vault may be closed before its fork. */
async function copyOf(vault: VaultHost) {
  const [guard, ...located] = await Promise.all([
    vault.guardAddress(),
    ...contractRoleNames.map(
      async (role) =>
        await vault.addressOf(role).catch((error: unknown) => {
          const { error: missing } = failedReading(error);
          if (!isNotConfigured(missing)) {
            throw missing;
          }
          const { path: setting, hint } = missing.details;
          return { path: String(setting), hint: String(hint) };
        }),
    ),
  ]);
  const addresses: AddressResolver = async (role) => {
    const found = located[contractRoleNames.indexOf(role)];
    assertInvariant(found !== undefined, `${role} was not resolved`);
    return await Promise.resolve(found);
  };
  return { addresses, settings: { ...vault.settings, guard: guard?.address } };
}

/** @throws VaultError VAULT_INVALID_ADDRESS, VAULT_INVALID_ARGUMENT */
function parseWarmCall(
  vault: VaultHost,
  { to, data, from }: WarmCall,
): CallRequest {
  if (!isHexString(data, true)) {
    throw invalidArgument("warm", `${describeInput(data)} is not 0x hex data`);
  }
  return {
    data,
    to: parseAddress(to, "warm.to"),
    from:
      from === undefined
        ? vault.readContext({}).from
        : parseAccount(from, "warm.from"),
  };
}

/** Hardhat's own, which it gives a fork: to derive them takes longer than all else here. */
const hardhatsAccounts: readonly string[] = [
  "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
  "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
  "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
  "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65",
  "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc",
  "0x976EA74026E726554dB657fA54763abd0C3a0aa9",
  "0x14dC79964da2C08b23698B3D3cc7Ca32193d9955",
  "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f",
  "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720",
  "0xBcd4042DE499D14e55001CcbB24a551F3b954096",
  "0x71bE63f3384f5fb98995898A86B02Fb2426c5788",
  "0xFABB0ac9d68B0B445fB7357272Ff202C5651694a",
  "0x1CBd3b2770909D4e10f157cABC84C7264073C9Ec",
  "0xdF3e18d64BC6A983f673Ab319CCaE4f1a57C7097",
  "0xcd3B766CCdd6AE721141F452C550Ca635964ce71",
  "0x2546BcD3c84621e976D8185a91A922aE77ECEc30",
  "0xbDA5747bFD65F08deb54cb465eB87D40e51B197E",
  "0xdD2FD4581271e230360230F9337D5c0430Bf44C0",
  "0x8626f6940E2eb28930eFb4CeF49B2d1F2C9C1199",
];

/** Plans for a snapshot, a settlement, and the calls of the caller. */
async function planForFork(
  vault: VaultHost,
  block: number,
  more: readonly CallRequest[],
): Promise<WarmPlan> {
  const { from = hardhatsAccounts[0] ?? "" } = vault.connection.networkConfig;
  const sender = checksumAddress(from);
  const contracts = await findContracts(vault);
  const network = vault.networkName;
  const watched = makeWatchList({ network, contracts, sender });
  const route = contracts.some(({ role }) => role === "vault")
    ? await findRoute(vault, sender, block)
    : undefined;
  const plan = planFor(vault, watched, route);
  return {
    calls: [...plan.calls, ...more],
    accounts: [...plan.accounts, ...hardhatsAccounts],
  };
}

/** The lens asks it for the number of the block, on any chain. */
const ARB_SYS = "0x0000000000000000000000000000000000000064";

export function planFor(
  vault: VaultHost,
  { accounts, reads }: Watched,
  route: SettlementRoute | undefined,
): WarmPlan {
  const { from } = vault.readContext({});
  const coinbase = bytesToHexString(settingsOf(vault).own.coinbase);
  return {
    calls: [
      // Of the lens, only the simulator has the code.
      ...reads.map(({ target: to, data }) => ({ from, to, data })),
      ...(route === undefined ? [] : [settlementCall(route)]),
    ],
    accounts: [
      ...accounts,
      from,
      ZeroAddress,
      NOBODYS_ADDRESS,
      ARB_SYS,
      coinbase,
    ],
  };
}

interface ForkPlan {
  readonly block: Block;
  readonly hardfork: string | undefined;
  /** State to fetch beforehand. */
  readonly plan: () => Promise<WarmPlan> | WarmPlan;
  /** Settings of the fork's network. */
  readonly settings: NetworkConfigOverride;
}

/** Simulator's newest hardfork of an OP chain. */
const OP_HARDFORK = "isthmus";

/**
 * Makes a fork, and begins to warm it. The end of the connection ends all of it.
 *
 * @throws VaultError
 */
export async function openFork(
  vault: VaultHost,
  { block, hardfork, plan, settings }: ForkPlan,
): Promise<{ readonly connection: ForkConnection; readonly memo: Memo }> {
  const { connection: live, rpc } = vault;
  const { upstream: config, own } = settingsOf(vault);
  const { number, hash, gasLimit } = block;
  assertInvariant(hash !== undefined, "a block to fork without a hash");
  const { httpHeaders: headers, timeout } = config;
  const node = { url: await config.url.getUrl(), headers, timeout };
  const memo = await Memo.open(rpc, node, { number, hash });
  memo.warm(plan);
  try {
    const chainId = await memo.begin();
    const chainType =
      live.chainType === "l1" || live.chainType === "op"
        ? live.chainType
        : "generic";
    const newest = chainType === "op" ? OP_HARDFORK : own.hardfork;
    const override = {
      ...settings,
      blockGasLimit: gasLimit,
      chainId,
      forking: {
        enabled: true,
        url: memo.url,
        blockNumber: BigInt(number),
        // Hardhat drops it; the plugin's own hook does not.
        cacheDir: memo.folder,
      },
      ...(config.from !== undefined && { from: config.from }),
      ...(hardfork !== undefined && { hardfork }),
      mining: { auto: true, interval: 0 },
    };
    const connection = await createPrepared(
      vault,
      { chainId, chainType, hardfork: hardfork ?? newest },
      override,
    );
    const { networkConfig, provider } = connection;
    // Checked before anything is sent: another network could be the live chain.
    assertInvariant(
      networkConfig.type === "edr-simulated" &&
        networkConfig.forking?.enabled === true &&
        (await networkConfig.forking.url.getUrl()) === memo.url,
      "what should be a fork in process is another network",
    );
    const close = connection.close.bind(connection);
    connection.close = async () => {
      await close();
      await memo.close();
    };
    const request = async (
      ...asked: Parameters<typeof provider.request>
    ): Promise<unknown> =>
      await provider.request(...asked).catch(async (error: unknown) => {
        // A contract can revert on what the fork has read. Of any other failure, that the
        // chain has replaced the block, or that the fork is closed, is the reason.
        if (classify(error).kind !== "reverted") {
          await memo.requireSameBranch();
        }
        throw error;
      });
    vault.adoptFork(connection, { request });
    return { connection, memo };
  } catch (error) {
    await memo.close();
    const { network, redactor } = rpc;
    const source = { network, redactor, isBehindHardhat: true };
    throw classify(error, source, FORK_REQUESTS).error;
  }
}

const oneAtATime = new AsyncMutex();

/**
 * Creates a fork with what the simulator reads meanwhile, and puts that back:
 *
 * - a hardfork history of its chain, if only of one hardfork from block 0 on. Without it, the
 *   simulator refuses to execute ("No known hardfork").
 * - no proxy for this machine: it would send the requests for a loopback address there.
 */
async function createPrepared(
  { context }: VaultHost,
  chain: { chainId: number; chainType: ChainType; hardfork: string },
  override: NetworkConfigOverride,
): Promise<ForkConnection> {
  return await oneAtATime.exclusiveRun(async () => {
    const { chainDescriptors } = context.config;
    const { chainType, hardfork } = chain;
    const chainId = BigInt(chain.chainId);
    const own = chainDescriptors.get(chainId);
    const { env } = process;
    const { NO_PROXY, no_proxy } = env;
    chainDescriptors.set(chainId, {
      name: `chain ${chainId}`,
      blockExplorers: {},
      hardforkHistory: new Map([[hardfork, { blockNumber: 0 }]]),
      ...own,
      // The simulator ignores a descriptor of another chain type.
      chainType,
    });
    // The first that is set counts.
    env["NO_PROXY"] = `${NO_PROXY ?? no_proxy ?? ""},127.0.0.1`;
    try {
      return await context.network.create<ChainType | string>({
        network: FORK_NETWORK,
        chainType,
        override,
      });
    } finally {
      if (own === undefined) {
        chainDescriptors.delete(chainId);
      } else {
        chainDescriptors.set(chainId, own);
      }
      if (NO_PROXY === undefined) {
        delete env["NO_PROXY"];
      } else {
        env["NO_PROXY"] = NO_PROXY;
      }
    }
  });
}

/** The settings of the network that is forked, and of that which forks are made with. */
function settingsOf({ context, connection, networkName }: VaultHost) {
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
