import type { HardhatRuntimeEnvironmentHooks } from "hardhat/types/hooks";
import type { NetworkConnection, NetworkManager } from "hardhat/types/network";

import type { ContractAddresses } from "../client/addresses.js";
import type { OrdersOptions } from "../client/orders/types.js";
import type { RoundsOptions } from "../client/rounds.js";
import type { VaultContracts } from "../client/vault-client.js";
import type { VaultReads } from "../client/reader.js";
import { assertInvariant } from "../errors.js";
import { readOperationNames } from "../protocol/queries.js";
import type { HardhatVault } from "./hardhat-vault.js";

/** The methods that open the connection, without the read operations. */
const forwardedMethods = [
  "snapshot",
  "block",
  "chainId",
  "addressOf",
  "settleAll",
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
  keyof VaultReads | (typeof forwardedMethods)[number] | "orders" | "rounds"
> {
  /** The TypeChain-typed contracts by role; opens the connection. */
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
  const forwarding = Object.fromEntries(
    [...readOperationNames, ...forwardedMethods].map((name) => [
      name,
      async (...args: readonly unknown[]): Promise<unknown> => {
        const vault = await open();
        const method: unknown = Reflect.get(vault, name);
        assertInvariant(typeof method === "function", `vault.${name}`);
        const result: unknown = Reflect.apply(method, vault, args);
        return await result;
      },
    ]),
  );
  const own = {
    async *orders(options?: OrdersOptions) {
      yield* (await open()).orders(options);
    },
    async *rounds(options?: RoundsOptions) {
      yield* (await open()).rounds(options);
    },
    at: (contracts: ContractAddresses): LazyHardhatVault =>
      lazyVault(getOrCreate, async () => (await open()).at(contracts)),
    instance: (name: string): LazyHardhatVault =>
      lazyVault(getOrCreate, async () => (await open()).instance(name)),
    connect: async (
      target?: string | NetworkConnection,
    ): Promise<HardhatVault> =>
      target === undefined
        ? await open()
        : typeof target === "string"
          ? (await getOrCreate(target)).vault
          : target.vault,
  };
  // Not enumerable: copying, comparing or printing the vault must not open it.
  const contracts = {
    get: async (): Promise<VaultContracts> => (await open()).contracts,
  };
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- `forwarding` has exactly the methods that the type picks, but the type of fromEntries lacks their names
  return Object.defineProperties(
    { ...own, ...forwarding },
    {
      contracts,
    },
  ) as unknown as LazyHardhatVault;
}
