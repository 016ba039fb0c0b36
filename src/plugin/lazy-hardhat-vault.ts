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

/** The methods that open the connection, besides those that read. */
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
 * `hre.vault`: a vault whose connection is opened by the first call, so that it
 * can stand on the runtime environment at no cost. Its methods work when they are
 * taken off, too.
 */
export interface LazyHardhatVault extends Pick<
  HardhatVault,
  keyof VaultReads | (typeof forwardedMethods)[number] | "orders" | "rounds"
> {
  /**
   * The TypeChain-typed contracts, by role; opens the connection.
   *
   * @example
   * ```ts
   * const { vault } = await hre.vault.contracts;
   * await vault.queryVolume();
   * // 420000000000000000000n
   * ```
   */
  readonly contracts: Promise<VaultContracts>;
  /**
   * The same vault with other addresses, its connection still unopened.
   *
   * @example
   * ```ts
   * const trading = "0x00000000000000000000000000000000000000A1";
   * (await hre.vault.at({ trading }).addressOf("trading")).address;
   * // '0x00000000000000000000000000000000000000A1'
   * ```
   */
  at(contracts: ContractAddresses): LazyHardhatVault;
  /**
   * Another set of contracts on the same network; see `HardhatVault`.
   *
   * @example
   * ```ts
   * (await hre.vault.instance("weekly").addressOf("vault")).address;
   * // '0x00000000000000000000000000000000000000A1'
   * ```
   */
  instance(name: string): LazyHardhatVault;
  /**
   * The vault of another network of the configuration, or of a connection that
   * is already open; this one, its connection opened, unless given.
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
 * Hardhat makes its network manager on the first call, and a manager for each
 * of several first calls at once: each would open a connection, and in process
 * a chain, of its own.
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
    get contracts(): Promise<VaultContracts> {
      return open().then((vault) => vault.contracts);
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
  // `own` is the target so that its getter is not evaluated by the copy.
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- `forwarding` has exactly the methods that the type picks, but fromEntries forgets their names
  return Object.assign(own, forwarding) as unknown as LazyHardhatVault;
}
