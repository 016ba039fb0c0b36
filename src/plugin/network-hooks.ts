import type { HookContext, NetworkHooks } from "hardhat/types/hooks";
import type { ChainType, NetworkConnection } from "hardhat/types/network";

import { FORK_NETWORK } from "../host.js";
import { requireChecksums } from "./addresses.js";
import { HardhatVault } from "./hardhat-vault.js";
import { redactorFor } from "./network-secrets.js";

export default async (): Promise<Partial<NetworkHooks>> => ({
  newConnection,
  closeConnection,
});

async function newConnection<ChainTypeT extends ChainType | string>(
  context: HookContext,
  next: (nextContext: HookContext) => Promise<NetworkConnection<ChainTypeT>>,
): Promise<NetworkConnection<ChainTypeT>> {
  const connection = await next(context);
  try {
    requireChecksums(connection.networkName, context.userConfig);
  } catch (error) {
    await connection.close();
    throw error;
  }
  // The provider has resolved the same variables already.
  const redactor = await redactorFor(context, connection.networkConfig);
  connection.vault = HardhatVault.forConnection(connection, context, redactor);
  return connection;
}

async function closeConnection<ChainTypeT extends ChainType | string>(
  context: HookContext,
  connection: NetworkConnection<ChainTypeT>,
  next: (
    nextContext: HookContext,
    nextConnection: NetworkConnection<ChainTypeT>,
  ) => Promise<void>,
): Promise<void> {
  await next(context, connection);
  if (connection.networkName === FORK_NETWORK) {
    const { closeForkServer } = await import("../simulation/fork-server.js");
    await closeForkServer(connection);
  }
}
