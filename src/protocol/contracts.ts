import { keysOf } from "./keys-of.js";

/**
 * The contract roles of the protocol (section 1) and the ABI that each one
 * answers. Six addresses, five ABIs: both pools are `LiquidityPool`.
 */
export const contractRoles = {
  underlyingAsset: { abi: "UnderlyingAsset", label: "underlying asset" },
  publicPool: { abi: "LiquidityPool", label: "public pool" },
  privatePool: { abi: "LiquidityPool", label: "private pool" },
  trading: { abi: "Trading", label: "trading" },
  vaultFactory: { abi: "VaultFactory", label: "vault factory" },
  vault: { abi: "Vault", label: "vault" },
} as const;

/** Name of a contract role, as configuration and `--at` spell it. */
export type ContractRole = keyof typeof contractRoles;

/** Name of one of the hand-authored ABIs. */
export type AbiName = (typeof contractRoles)[ContractRole]["abi"];

export const contractRoleNames = keysOf(contractRoles);

export function isContractRole(value: string): value is ContractRole {
  return Object.hasOwn(contractRoles, value);
}

/** A record with a value for each role. */
export function byRole<Value>(
  valueOf: (role: ContractRole) => Value,
): Record<ContractRole, Value> {
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- every role has an entry, which fromEntries forgets
  return Object.fromEntries(
    contractRoleNames.map((role) => [role, valueOf(role)]),
  ) as Record<ContractRole, Value>;
}
