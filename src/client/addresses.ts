import { vaultError } from "../errors.js";
import { contractRoleNames, contractRoles } from "../protocol/index.js";
import type { Address, ContractRole } from "../protocol/index.js";
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
