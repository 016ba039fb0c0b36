import { invalidArgument, vaultError } from "../errors.js";
import {
  contractRoleNames,
  contractRoles,
  isContractRole,
} from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import { describeInput, parseAddress } from "./inputs.js";

/** Addresses of the protocol's contracts; none of them is required. */
export type ContractAddresses = {
  readonly [Role in ContractRole]?: string | undefined;
};

/** An address and where it came from, so that errors can say so. */
export interface LocatedAddress {
  readonly address: string;
  /** As in "networks.mainnet.vault.contracts.vault". */
  readonly source: string;
}

/** The setting that lacks an address, and what else does, in whole sentences. */
export interface MissingAddress {
  readonly path: string;
  readonly hint: string;
}

/** Looks up where the contract of a role is. */
export type AddressResolver = (
  role: ContractRole,
) => Promise<LocatedAddress | MissingAddress>;

/**
 * @param source Where they come from, for error texts.
 * @throws VaultError VAULT_INVALID_ADDRESS, VAULT_INVALID_ARGUMENT
 */
export function fixedAddresses(
  addresses: ContractAddresses,
  source: string,
): AddressResolver {
  const parsed: Partial<Record<ContractRole, string>> = {};
  for (const [role, address] of Object.entries(addresses)) {
    if (!isContractRole(role)) {
      throw invalidArgument(
        source,
        `${describeInput(role)} is not a contract; the contracts are ${contractRoleNames.join(", ")}`,
      );
    }
    if (address !== undefined) {
      parsed[role] = parseAddress(
        address,
        `The address of the ${contractRoles[role].label} contract (${source})`,
      );
    }
  }
  return async (role) => {
    const address = parsed[role];
    return address === undefined
      ? { path: `"${role}" of the client's addresses`, hint: "" }
      : { address, source };
  };
}

/** Asks each source in turn; the last one describes what none of them has. */
export function inOrder(
  first: AddressResolver,
  ...others: readonly AddressResolver[]
): AddressResolver {
  return async (role) => {
    let found = await first(role);
    for (const source of others) {
      found = "address" in found ? found : await source(role);
    }
    return found;
  };
}

/**
 * The address of a contract, or the error that says how to configure it.
 *
 * @param operation What needs it.
 * @throws VaultError VAULT_CONTRACT_NOT_CONFIGURED
 */
export async function requireAddress(
  addresses: AddressResolver,
  role: ContractRole,
  { operation, network }: { operation: string; network: string },
): Promise<LocatedAddress> {
  const found = await addresses(role);
  if (!("address" in found)) {
    throw vaultError("VAULT_CONTRACT_NOT_CONFIGURED", {
      operation,
      role,
      contract: contractRoles[role].label,
      network,
      ...found,
    });
  }
  return found;
}
