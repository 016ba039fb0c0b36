// The contracts of the protocol: their addresses, and the ethers contract of each.

import { Contract } from "ethers";
import type { ContractRunner, Interface } from "ethers";

import { LiquidityPool__factory } from "../bindings/factories/LiquidityPool__factory.js";
import { Trading__factory } from "../bindings/factories/Trading__factory.js";
import { UnderlyingAsset__factory } from "../bindings/factories/UnderlyingAsset__factory.js";
import { VaultFactory__factory } from "../bindings/factories/VaultFactory__factory.js";
import { Vault__factory } from "../bindings/factories/Vault__factory.js";
import { vaultError } from "../errors.js";
import { contractRoleNames, contractRoles } from "../protocol/index.js";
import type { AbiName, Address, ContractRole } from "../protocol/index.js";
import { parseAddress, checkKeys } from "./inputs.js";

/** Addresses of the protocol's contracts by role, all optional. */
export type ContractAddresses = {
  readonly [Role in ContractRole]?: string | undefined;
};

/** An address, with its checksum, and its source, which error texts name. */
export interface LocatedAddress<AddressT extends string = Address> {
  readonly address: AddressT;
  /** Example: `networks.mainnet.vault.contracts.vault`. */
  readonly source: string;
}

/** A contract that has an address. */
export interface LocatedRole extends LocatedAddress {
  readonly role: ContractRole;
}

/** Source of the addresses that deployMocks() binds. */
export const MOCKS_SOURCE = "deployMocks()";

/**
 * Advice for a revert of a mock.
 *
 * @returns Undefined if the address is not one that deployMocks() or a task deployed.
 */
export function mockHint(source: string): string | undefined {
  // Only mocks have their addresses in a file.
  return source === MOCKS_SOURCE || source.endsWith(".json")
    ? `The contract is a mock (${source}): its state refuses the call, or it was scripted to fail, which succeed(), or the task vault mock succeed, ends.`
    : undefined;
}

/** The setting that lacks an address, with a hint in whole sentences. */
export interface MissingAddress {
  readonly path: string;
  readonly hint: string;
}

/** Looks up the address of a role. The client checks it, and adds the checksum. */
export type AddressResolver = (
  role: ContractRole,
) => Promise<LocatedAddress<string> | MissingAddress>;

/** @param source Source of the addresses in error texts. */
export function fixedAddresses(
  addresses: ContractAddresses,
  source: string,
): AddressResolver {
  checkKeys(source, addresses, "contract", contractRoleNames);
  const parsed: Partial<Record<ContractRole, string>> = {};
  for (const role of contractRoleNames) {
    const address = addresses[role];
    if (address !== undefined) {
      parsed[role] = parseContractAddress(role, address, source);
    }
  }
  return async (role) => {
    const address = parsed[role];
    return address === undefined
      ? { path: `"${role}" of the client's addresses`, hint: "" }
      : { address, source };
  };
}

/** Tries both in turn. If none has the address, the second one's hint counts. */
export function firstOf(
  first: AddressResolver,
  second: AddressResolver,
): AddressResolver {
  return async (role) => {
    const found = await first(role);
    return "address" in found ? found : await second(role);
  };
}

/** @throws VaultError VAULT_CONTRACT_NOT_CONFIGURED, VAULT_INVALID_ADDRESS */
export async function requireAddress(
  locate: AddressResolver,
  role: ContractRole,
  { operation, network }: { operation: string; network: string },
): Promise<LocatedAddress> {
  const found = await locate(role);
  if (!("address" in found)) {
    throw vaultError("VAULT_CONTRACT_NOT_CONFIGURED", {
      operation,
      role,
      contract: contractRoles[role].label,
      network,
      ...found,
    });
  }
  const { address, source } = found;
  return { address: parseContractAddress(role, address, source), source };
}

function parseContractAddress(
  role: ContractRole,
  address: string,
  source: string,
): Address {
  const { label } = contractRoles[role];
  return parseAddress(
    address,
    `The address of the ${label} contract (${source})`,
  );
}

const factories = {
  UnderlyingAsset: UnderlyingAsset__factory,
  LiquidityPool: LiquidityPool__factory,
  Trading: Trading__factory,
  VaultFactory: VaultFactory__factory,
  Vault: Vault__factory,
} as const satisfies Record<AbiName, { createInterface(): Interface }>;

export type VaultContracts = {
  readonly [Role in ContractRole]: ReturnType<
    (typeof factories)[(typeof contractRoles)[Role]["abi"]]["connect"]
  >;
};

/** The ethers contracts by role, each made when it is first used. */
export function createContracts(
  find: (role: ContractRole) => Promise<LocatedAddress>,
  runner: () => ContractRunner,
): VaultContracts {
  const contracts = {};
  for (const role of contractRoleNames) {
    let contract: Contract | undefined;
    const create = (): Contract => {
      const made = new Contract(
        { getAddress: async () => (await find(role)).address },
        factories[contractRoles[role].abi].createInterface(),
        runner(),
      );
      // ethers requests the address at once. A missing one is an error when the
      // contract is used, not an unhandled rejection now.
      made.getAddress().catch(() => undefined);
      return made;
    };
    Object.defineProperty(contracts, role, {
      enumerable: true,
      get: () => (contract ??= create()),
    });
  }
  // TypeChain's types describe what the generic contract does with this ABI; its own connect() takes no addressable
  return contracts as VaultContracts;
}
