import type { AddressBook, LocatedAddress } from "../client/addresses.js";
import { VaultError } from "../errors.js";
import { contractRoleNames } from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";

/** Where a vault's addresses can be asked for. */
interface AddressSource {
  addressOf(role: ContractRole): Promise<LocatedAddress>;
}

/**
 * The addresses of another vault as they are now, with their sources and with
 * the errors of those that it has not: a fork answers as its upstream did, also
 * when the upstream's connection is closed.
 */
export class ResolvedAddresses implements AddressBook {
  readonly #outcomes: ReadonlyMap<ContractRole, LocatedAddress | VaultError>;

  private constructor(
    outcomes: ReadonlyMap<ContractRole, LocatedAddress | VaultError>,
  ) {
    this.#outcomes = outcomes;
  }

  public static async of(vault: AddressSource): Promise<ResolvedAddresses> {
    const outcomes = await Promise.all(
      contractRoleNames.map(
        async (
          role,
        ): Promise<readonly [ContractRole, LocatedAddress | VaultError]> => {
          try {
            return [role, await vault.addressOf(role)];
          } catch (error) {
            if (!VaultError.isVaultError(error)) {
              throw error;
            }
            return [role, error];
          }
        },
      ),
    );
    return new ResolvedAddresses(new Map(outcomes));
  }

  public async find(role: ContractRole): Promise<LocatedAddress | undefined> {
    const outcome = this.#outcomes.get(role);
    if (!VaultError.isVaultError(outcome)) {
      return await Promise.resolve(outcome);
    }
    if (outcome.code === "VAULT_CONTRACT_NOT_CONFIGURED") {
      return undefined;
    }
    throw outcome;
  }

  public describeMissing(role: ContractRole): { path: string; hint: string } {
    const outcome = this.#outcomes.get(role);
    const { path, hint }: Readonly<Record<string, unknown>> =
      VaultError.isVaultError(outcome) ? outcome.details : {};
    return { path: String(path), hint: String(hint) };
  }

  /** The addresses that are known, in the order of the roles. */
  public known(): ReadonlyArray<LocatedAddress & { role: ContractRole }> {
    return [...this.#outcomes].flatMap(([role, outcome]) =>
      VaultError.isVaultError(outcome) ? [] : [{ ...outcome, role }],
    );
  }
}
