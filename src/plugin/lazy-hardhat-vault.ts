import { inspect } from "node:util";

import type { HardhatRuntimeEnvironmentHooks } from "hardhat/types/hooks";
import type { NetworkConnection, NetworkManager } from "hardhat/types/network";

import { iterateWithCallerStack, withCallerStack } from "../caller-stack.js";
import type { ContractAddresses } from "../client/addresses.js";
import type { VaultContracts, VaultReads } from "../client/vault-client.js";
import type { HardhatVault } from "./hardhat-vault.js";

/**
 * `hre.vault`: a vault that opens its connection on the first call. You can
 * destructure its methods.
 */
export interface LazyHardhatVault extends Pick<
  HardhatVault,
  | keyof VaultReads
  | "snapshot"
  | "orders"
  | "rounds"
  | "block"
  | "chainId"
  | "addressOf"
  | "settleAll"
  | "simulateSettleAll"
  | "fork"
  | "deployMocks"
  | "mockAt"
> {
  /** The TypeChain-typed contracts by role; `await` opens the connection. */
  readonly contracts: Promise<VaultContracts>;
  /** Returns the same vault with some addresses replaced, without opening it. */
  at(contracts: ContractAddresses): LazyHardhatVault;
  /** Returns the vault of another instance; see {@link HardhatVault.instance}. */
  instance(name: string): LazyHardhatVault;
  /**
   * Returns the vault of a network or of an open connection. Default: the vault
   * of this network, its connection opened.
   *
   * @example
   * ```ts
   * const vault = await hre.vault.connect("localhost");
   * vault.networkName;
   * // 'localhost'
   * ```
   */
  connect(network?: string | NetworkConnection): Promise<HardhatVault>;
}

export default async (): Promise<Partial<HardhatRuntimeEnvironmentHooks>> => ({
  created: async (_context, hre) => {
    const getOrCreate = oneAtATime(hre.network);
    hre.vault = lazyVault(getOrCreate, async () => (await getOrCreate()).vault);
  },
});

type GetOrCreate = (networkName?: string) => Promise<NetworkConnection>;

/**
 * Serialises the calls: Hardhat makes a network manager for each of several
 * simultaneous first calls, and each manager opens a chain of its own.
 */
function oneAtATime(network: NetworkManager): GetOrCreate {
  let last: Promise<unknown> = Promise.resolve();
  return async (networkName) => {
    const next = last.then(async () => await network.getOrCreate(networkName));
    last = next.catch(() => undefined);
    return await next;
  };
}

function lazyVault(
  getOrCreate: GetOrCreate,
  open: () => Promise<HardhatVault>,
): LazyHardhatVault {
  /** Opens the vault for each call; an error has the frames of the caller. */
  const forward =
    <Args extends readonly unknown[], Result>(
      call: (vault: HardhatVault, ...args: Args) => Promise<Result>,
    ) =>
    async (...args: Args): Promise<Result> =>
      await withCallerStack(async () => await call(await open(), ...args));
  const lazy: LazyHardhatVault = {
    at: (contracts) =>
      lazyVault(getOrCreate, async () => (await open()).at(contracts)),
    instance: (name) =>
      lazyVault(getOrCreate, async () => (await open()).instance(name)),
    connect: async (target) =>
      target === undefined
        ? await open()
        : typeof target === "string"
          ? (await getOrCreate(target)).vault
          : target.vault,
    orders: (...args) =>
      iterateWithCallerStack(async () => (await open()).orders(...args)),
    rounds: (...args) =>
      iterateWithCallerStack(async () => (await open()).rounds(...args)),
    getFundingFeeRate: forward(
      async (vault, ...args) => await vault.getFundingFeeRate(...args),
    ),
    getLatestRoundInfo: forward(
      async (vault, ...args) => await vault.getLatestRoundInfo(...args),
    ),
    getOrderInfo: forward(
      async (vault, ...args) => await vault.getOrderInfo(...args),
    ),
    calMargins: forward(
      async (vault, ...args) => await vault.calMargins(...args),
    ),
    getLPAmountInfo: forward(
      async (vault, ...args) => await vault.getLPAmountInfo(...args),
    ),
    queryVolume: forward(
      async (vault, ...args) => await vault.queryVolume(...args),
    ),
    queryMarginBalance: forward(
      async (vault, ...args) => await vault.queryMarginBalance(...args),
    ),
    minXMargin: forward(
      async (vault, ...args) => await vault.minXMargin(...args),
    ),
    snapshot: forward(async (vault, ...args) => await vault.snapshot(...args)),
    block: forward(async (vault, ...args) => await vault.block(...args)),
    chainId: forward(async (vault, ...args) => await vault.chainId(...args)),
    addressOf: forward(
      async (vault, ...args) => await vault.addressOf(...args),
    ),
    settleAll: forward(
      async (vault, ...args) => await vault.settleAll(...args),
    ),
    simulateSettleAll: forward(
      async (vault, ...args) => await vault.simulateSettleAll(...args),
    ),
    fork: forward(async (vault, ...args) => await vault.fork(...args)),
    deployMocks: forward(
      async (vault, ...args) => await vault.deployMocks(...args),
    ),
    mockAt: forward(async (vault, ...args) => await vault.mockAt(...args)),
    contracts: lazyPromise(async () => (await open()).contracts),
  };
  return Object.defineProperty(lazy, inspect.custom, {
    value: () => "LazyHardhatVault {}",
  });
}

/**
 * A promise that begins with the first `await`: to copy, compare or print the vault
 * must not open its connection.
 */
function lazyPromise<Value>(begin: () => Promise<Value>): Promise<Value> {
  return {
    then: async (...handlers) => await begin().then(...handlers),
    catch: async (handler) => await begin().catch(handler),
    finally: async (handler) => await begin().finally(handler),
    [Symbol.toStringTag]: "Promise",
  };
}
