import type { HookContext, NetworkHooks } from "hardhat/types/hooks";
import type { ChainType, NetworkConnection } from "hardhat/types/network";

export default async (): Promise<Partial<NetworkHooks>> =>
  await Promise.resolve({ newConnection });

async function newConnection<ChainTypeT extends ChainType | string>(
  context: HookContext,
  next: (nextContext: HookContext) => Promise<NetworkConnection<ChainTypeT>>,
): Promise<NetworkConnection<ChainTypeT>> {
  const connection = await next(context);
  // Loaded with the first connection, not with the plugin: it needs ethers and
  // the bindings.
  const { HardhatVault } = await import("../connection/hardhat-vault.js");
  connection.vault = HardhatVault.forConnection(connection, context);
  return connection;
}
