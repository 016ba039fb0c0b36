import type { AddressBook, LocatedAddress } from "../client/addresses.js";
import { VaultError, assertInvariant } from "../errors.js";
import { contractRoleNames } from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";

/** The addresses of a vault as they were at one time. */
export interface ResolvedAddresses {
  /** Finds them, or fails, as that vault did. */
  readonly locate: AddressBook;
  /** The addresses that are known, in the order of the roles. */
  readonly known: ReadonlyArray<
    LocatedAddress & { readonly role: ContractRole }
  >;
}

/** Where a vault's addresses can be asked for. */
interface AddressSource {
  addressOf(role: ContractRole): Promise<LocatedAddress>;
}

/**
 * The addresses of another vault as they are now, with their sources and with
 * the errors of those that it has not: a fork answers as its upstream did, also
 * when the upstream's connection is closed.
 */
export async function resolveAddresses(
  vault: AddressSource,
): Promise<ResolvedAddresses> {
  const outcomes = new Map(
    await Promise.all(
      contractRoleNames.map(
        async (role) => [role, await outcomeOf(vault, role)] as const,
      ),
    ),
  );
  return {
    locate: async (role) => {
      const outcome = outcomes.get(role);
      assertInvariant(outcome !== undefined, `${role} was not resolved`);
      if (!VaultError.isVaultError(outcome)) {
        return await Promise.resolve(outcome);
      }
      if (outcome.code !== "VAULT_CONTRACT_NOT_CONFIGURED") {
        throw outcome;
      }
      const { path, hint } = outcome.details;
      return { path: String(path), hint: String(hint) };
    },
    known: [...outcomes].flatMap(([role, outcome]) =>
      VaultError.isVaultError(outcome) ? [] : [{ ...outcome, role }],
    ),
  };
}

async function outcomeOf(
  vault: AddressSource,
  role: ContractRole,
): Promise<LocatedAddress | VaultError> {
  try {
    return await vault.addressOf(role);
  } catch (error) {
    if (!VaultError.isVaultError(error)) {
      throw error;
    }
    return error;
  }
}
