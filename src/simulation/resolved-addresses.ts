import type { AddressResolver, LocatedAddress } from "../client/addresses.js";
import { absentContract, failedReading } from "../client/failed-reading.js";
import type { VaultClient } from "../client/vault-client.js";
import { assertInvariant } from "../errors.js";
import { contractRoleNames } from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";

/** The addresses of a vault as they were at one time. */
export interface ResolvedAddresses {
  /** Finds them, or fails, as that vault did. */
  readonly locate: AddressResolver;
  /** Those that are known. Throws if one that is configured cannot be used. */
  readonly requireKnown: () => readonly KnownContract[];
}

export interface KnownContract extends LocatedAddress {
  readonly role: ContractRole;
}

/** For a fork, which answers as its upstream did, also once that is closed. */
export async function resolveAddresses(
  vault: VaultClient,
): Promise<ResolvedAddresses> {
  const outcomes = new Map(
    await Promise.all(
      contractRoleNames.map(
        async (role) =>
          [role, await vault.addressOf(role).catch(failedReading)] as const,
      ),
    ),
  );
  return {
    locate: async (role) => {
      const outcome = outcomes.get(role);
      assertInvariant(outcome !== undefined, `${role} was not resolved`);
      if (!("error" in outcome)) {
        return outcome;
      }
      const { path, hint } = absentContract(outcome.error).error.details;
      return { path: String(path), hint: String(hint) };
    },
    requireKnown: () =>
      [...outcomes].flatMap(([role, outcome]) => {
        if (!("error" in outcome)) {
          return [{ ...outcome, role }];
        }
        absentContract(outcome.error);
        return [];
      }),
  };
}
