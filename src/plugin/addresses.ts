import type { NetworkConfig } from "hardhat/types/config";

import type { AddressBook, LocatedAddress } from "../client/addresses.js";
import { parseAddress } from "../client/inputs.js";
import { toConfigVariableError } from "../rpc/request.js";
import type { ContractRole } from "../protocol/index.js";
import type { DeploymentAddresses } from "./deployments.js";

/**
 * Where a connection finds addresses: mocks that were bound to it, then (on a
 * fork) those of the forked network, then the configuration, then what `vault deploy-mocks` left behind.
 */
export class ConnectionAddresses implements AddressBook {
  readonly #networkName: string;
  readonly #networkConfig: NetworkConfig;
  readonly #deployment: DeploymentAddresses | undefined;
  #bound: AddressBook | undefined;
  #upstream: AddressBook | undefined;

  constructor(
    networkName: string,
    networkConfig: NetworkConfig,
    deployment: DeploymentAddresses | undefined,
  ) {
    this.#networkName = networkName;
    this.#networkConfig = networkConfig;
    this.#deployment = deployment;
  }

  /** From now on these addresses come first. */
  public bind(addresses: AddressBook): void {
    this.#bound = addresses;
  }

  /** This connection is a fork: what is not bound is where it is upstream. */
  public follow(upstream: AddressBook): void {
    this.#upstream = upstream;
  }

  /** The same without what is bound: where production has the contracts. */
  public get unbound(): AddressBook {
    return {
      find: async (role) =>
        (await this.#upstream?.find(role)) ?? (await this.findConfigured(role)),
      describeMissing: (role) => ({ path: this.#pathOf(role), hint: "." }),
    };
  }

  public async find(role: ContractRole): Promise<LocatedAddress | undefined> {
    return (
      (await this.#bound?.find(role)) ??
      (await this.#upstream?.find(role)) ??
      (await this.findConfigured(role)) ??
      (await this.#deployment?.find(role))
    );
  }

  /**
   * The address that the configuration names, whatever is bound.
   *
   * @throws VaultError VAULT_INVALID_ADDRESS, VAULT_CONFIG_VARIABLE
   */
  public async findConfigured(
    role: ContractRole,
  ): Promise<LocatedAddress | undefined> {
    const configured = this.#networkConfig.vault.contracts[role];
    if (configured === undefined) {
      return undefined;
    }
    const source = this.#pathOf(role);
    let value: string;
    try {
      value = await configured.get();
    } catch (error) {
      throw toConfigVariableError(error, source);
    }
    // What is written in the configuration has been validated, so a mistake is
    // in a variable, and variables also hold secrets.
    const shown = "the value of its configuration variable";
    return { address: parseAddress(value, source, shown), source };
  }

  public describeMissing(role: ContractRole): { path: string; hint: string } {
    if (this.#upstream !== undefined) {
      return this.#upstream.describeMissing(role);
    }
    return {
      path: this.#pathOf(role),
      hint: ` in the Hardhat configuration, or pass --at ${role}=0x…. ${this.#hint()}`,
    };
  }

  #hint(): string {
    if (this.#networkConfig.type !== "http") {
      return "An in-process network starts empty: call deployMocks() first, or choose another network with --network.";
    }
    if (this.#deployment === undefined) {
      return "What deploy-mocks wrote to vault-deployments/ is not used here: to check it, the network would have to be asked.";
    }
    return (
      this.#deployment.describeAbsence() ??
      "For a local node, `npx hardhat vault deploy-mocks` deploys mocks."
    );
  }

  #pathOf(role: ContractRole): string {
    return `networks.${this.#networkName}.vault.contracts.${role}`;
  }
}
