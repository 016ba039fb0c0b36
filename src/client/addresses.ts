import { vaultError } from "../errors.js";
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

/** Where a client looks up the address of a contract. */
export interface AddressBook {
  /** @returns The address, or undefined if this book has none for the role. */
  find(role: ContractRole): Promise<LocatedAddress | undefined>;
  /** What to do about a missing address: what to set, and the rest of that sentence. */
  describeMissing(role: ContractRole): { path: string; hint: string };
}

export function isAddressBook(
  contracts: ContractAddresses | AddressBook,
): contracts is AddressBook {
  return "find" in contracts;
}

/** A book of fixed addresses. */
export class FixedAddresses implements AddressBook {
  readonly #addresses: Readonly<Partial<Record<ContractRole, string>>>;
  readonly #source: string;

  /** @throws VaultError VAULT_INVALID_ADDRESS, VAULT_INVALID_ARGUMENT */
  constructor(addresses: ContractAddresses, source: string) {
    this.#addresses = parseContractAddresses(addresses, source);
    this.#source = source;
  }

  public async find(role: ContractRole): Promise<LocatedAddress | undefined> {
    const address = this.#addresses[role];
    return address === undefined
      ? undefined
      : { address, source: this.#source };
  }

  public describeMissing(role: ContractRole): { path: string; hint: string } {
    return { path: `"${role}" of the client's addresses`, hint: "." };
  }
}

/** Looks in one book first, then in another. */
export class LayeredAddresses implements AddressBook {
  readonly #first: AddressBook;
  readonly #then: AddressBook;

  constructor(first: AddressBook, then: AddressBook) {
    this.#first = first;
    this.#then = then;
  }

  public async find(role: ContractRole): Promise<LocatedAddress | undefined> {
    return (await this.#first.find(role)) ?? (await this.#then.find(role));
  }

  public describeMissing(role: ContractRole): { path: string; hint: string } {
    return this.#then.describeMissing(role);
  }
}

/**
 * The address of a contract, or the error that says how to configure it.
 *
 * @param operation What needs it.
 * @throws VaultError VAULT_CONTRACT_NOT_CONFIGURED
 */
export async function requireAddress(
  addresses: AddressBook,
  role: ContractRole,
  { operation, network }: { operation: string; network: string },
): Promise<LocatedAddress> {
  const found = await addresses.find(role);
  if (found === undefined) {
    throw vaultError("VAULT_CONTRACT_NOT_CONFIGURED", {
      operation,
      contract: contractRoles[role].label,
      network,
      ...addresses.describeMissing(role),
    });
  }
  return found;
}

function parseContractAddresses(
  addresses: ContractAddresses,
  source: string,
): Readonly<Partial<Record<ContractRole, string>>> {
  const parsed: Partial<Record<ContractRole, string>> = {};
  for (const [role, address] of Object.entries(addresses)) {
    if (!isContractRole(role)) {
      throw vaultError("VAULT_INVALID_ARGUMENT", {
        where: source,
        problem: `${describeInput(role)} is not a contract; the contracts are ${contractRoleNames.join(", ")}`,
      });
    }
    if (address !== undefined) {
      parsed[role] = parseAddress(
        address,
        `The address of the ${contractRoles[role].label} contract (${source})`,
      );
    }
  }
  return parsed;
}
