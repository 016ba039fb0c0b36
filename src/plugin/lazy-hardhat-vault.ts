import { inspect } from "node:util";

import { AsyncMutex } from "@nomicfoundation/hardhat-utils/synchronization";
import type { HardhatRuntimeEnvironmentHooks } from "hardhat/types/hooks";
import type { NetworkConnection } from "hardhat/types/network";

import { withCallerStack } from "../errors.js";
import type { OrdersOptions } from "../client/orders.js";
import type { VaultContracts, ContractAddresses } from "../client/contracts.js";
import type { VaultAddresses } from "../client/vault-client.js";
import { operationNames } from "../protocol/index.js";
import type { OperationName } from "../protocol/index.js";
import type { HardhatVault } from "./hardhat-vault.js";

/** Forwarded to the connection's vault, as all operations are. */
const otherMethods = [
  "snapshot",
  "block",
  "chainId",
  "addressOf",
  "simulateSettleAll",
  "fork",
  "deployMocks",
  "mockAt",
] as const;

/**
 * `hre.vault`: a vault that opens its connection on the first call. You can
 * destructure its methods.
 */
export interface LazyHardhatVault extends Pick<
  HardhatVault,
  OperationName | (typeof otherMethods)[number] | "orders" | "rounds"
> {
  /** The TypeChain-typed contracts by role; reading it opens the connection. */
  readonly contracts: Promise<VaultContracts>;
  /** The addresses by role; reading it opens the connection. */
  readonly addresses: Promise<VaultAddresses>;
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

/** Hardhat runs this hook at every start. */
export default async (): Promise<Partial<HardhatRuntimeEnvironmentHooks>> =>
  await Promise.resolve({
    created: async (_context, hre) => {
      // Hardhat makes a network manager for each of several simultaneous first calls, and each
      // manager opens a chain of its own.
      const mutex = new AsyncMutex();
      const getOrCreate: GetOrCreate = async (name) =>
        await mutex.exclusiveRun(
          async () => await hre.network.getOrCreate(name),
        );
      hre.vault = lazyVault(
        getOrCreate,
        async () => (await getOrCreate()).vault,
      );
    },
  });

type GetOrCreate = (networkName?: string) => Promise<NetworkConnection>;

function lazyVault(
  getOrCreate: GetOrCreate,
  open: () => Promise<HardhatVault>,
): LazyHardhatVault {
  const names = [...operationNames, ...otherMethods];
  /** Opens the vault for each call; an error has the frames of the caller. */
  const forward =
    (name: (typeof names)[number]) =>
    async (...args: readonly unknown[]): Promise<unknown> =>
      await withCallerStack(async () => {
        const vault = await open();
        const result: unknown = Reflect.apply(vault[name], vault, args);
        return await result;
      });
  // it has the overloads of the method of its name
  const orders = async function* (...args: readonly [OrdersOptions?]) {
    yield* (await open()).orders(...args);
  } as HardhatVault["orders"];
  const lazy: Omit<LazyHardhatVault, "contracts" | "addresses"> = {
    // each takes and returns what the method of its name does
    ...(Object.fromEntries(names.map((name) => [name, forward(name)])) as Pick<
      HardhatVault,
      (typeof names)[number]
    >),
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
    orders,
    async *rounds(...args) {
      yield* (await open()).rounds(...args);
    },
  };
  // Not enumerable: to copy, compare or print the vault must not open its connection.
  const whole = Object.defineProperties(lazy, {
    contracts: { get: async () => (await open()).contracts },
    addresses: { get: async () => await (await open()).addresses },
    [inspect.custom]: { value: () => "HardhatVault (not yet connected)" },
  });
  // it has both getters now
  return whole as LazyHardhatVault;
}
