import { Contract } from "ethers";
import type { ContractRunner, Interface } from "ethers";

import { LiquidityPool__factory } from "../bindings/factories/LiquidityPool__factory.js";
import { Trading__factory } from "../bindings/factories/Trading__factory.js";
import { UnderlyingAsset__factory } from "../bindings/factories/UnderlyingAsset__factory.js";
import { VaultFactory__factory } from "../bindings/factories/VaultFactory__factory.js";
import { Vault__factory } from "../bindings/factories/Vault__factory.js";
import { contractRoleNames, contractRoles } from "../protocol/index.js";
import type { AbiName, ContractRole } from "../protocol/index.js";
import type { LocatedAddress } from "./addresses.js";

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
