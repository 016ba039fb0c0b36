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
  const opened =
    <Args extends readonly unknown[], Result>(
      call: (vault: HardhatVault, ...args: Args) => Promise<Result>,
    ) =>
    async (...args: Args): Promise<Result> =>
      await withCallerStack(async () => await call(await open(), ...args));
  const vault: LazyHardhatVault = {
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
    getFundingFeeRate: opened(
      async (vault, ...args) => await vault.getFundingFeeRate(...args),
    ),
    getLatestRoundInfo: opened(
      async (vault, ...args) => await vault.getLatestRoundInfo(...args),
    ),
    getOrderInfo: opened(
      async (vault, ...args) => await vault.getOrderInfo(...args),
    ),
    calMargins: opened(
      async (vault, ...args) => await vault.calMargins(...args),
    ),
    getLPAmountInfo: opened(
      async (vault, ...args) => await vault.getLPAmountInfo(...args),
    ),
    queryVolume: opened(
      async (vault, ...args) => await vault.queryVolume(...args),
    ),
    queryMarginBalance: opened(
      async (vault, ...args) => await vault.queryMarginBalance(...args),
    ),
    minXMargin: opened(
      async (vault, ...args) => await vault.minXMargin(...args),
    ),
    snapshot: opened(async (vault, ...args) => await vault.snapshot(...args)),
    block: opened(async (vault, ...args) => await vault.block(...args)),
    chainId: opened(async (vault, ...args) => await vault.chainId(...args)),
    addressOf: opened(async (vault, ...args) => await vault.addressOf(...args)),
    settleAll: opened(async (vault, ...args) => await vault.settleAll(...args)),
    simulateSettleAll: opened(
      async (vault, ...args) => await vault.simulateSettleAll(...args),
    ),
    fork: opened(async (vault, ...args) => await vault.fork(...args)),
    deployMocks: opened(
      async (vault, ...args) => await vault.deployMocks(...args),
    ),
    mockAt: opened(async (vault, ...args) => await vault.mockAt(...args)),
    contracts: lazyPromise(async () => (await open()).contracts),
  };
  return Object.defineProperty(vault, inspect.custom, {
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
