import { keysOf } from "./enums.js";

/** The contract roles of the protocol and the ABI of each; both pools share one. */
export const contractRoles = {
  underlyingAsset: { abi: "UnderlyingAsset", label: "underlying asset" },
  publicPool: { abi: "LiquidityPool", label: "public pool" },
  privatePool: { abi: "LiquidityPool", label: "private pool" },
  trading: { abi: "Trading", label: "trading" },
  vaultFactory: { abi: "VaultFactory", label: "vault factory" },
  vault: { abi: "Vault", label: "vault" },
} as const;

/** Name of a contract role, in the configuration and in `--at`. */
export type ContractRole = keyof typeof contractRoles;

export type AbiName = (typeof contractRoles)[ContractRole]["abi"];

export const contractRoleNames = keysOf(contractRoles);

export function isContractRole(value: string): value is ContractRole {
  return Object.hasOwn(contractRoles, value);
}

export function byRole<Value>(
  valueOf: (role: ContractRole) => Value,
): Record<ContractRole, Value> {
  // every role has an entry, but the type of fromEntries lacks them
  return Object.fromEntries(
    contractRoleNames.map((role) => [role, valueOf(role)]),
  ) as Record<ContractRole, Value>;
}
