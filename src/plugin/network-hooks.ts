import type { HookContext, NetworkHooks } from "hardhat/types/hooks";
import type { ChainType, NetworkConnection } from "hardhat/types/network";

import { keepHeaderSecret, keepUrlSecret } from "../untrusted-text.js";
import { FORK_NETWORK } from "../rehearsal/fork/network.js";

export default async (): Promise<Partial<NetworkHooks>> => ({
  newConnection,
  closeConnection,
});

async function newConnection<ChainTypeT extends ChainType | string>(
  context: HookContext,
  next: (nextContext: HookContext) => Promise<NetworkConnection<ChainTypeT>>,
): Promise<NetworkConnection<ChainTypeT>> {
  const connection = await next(context);
  // Loaded with the first connection, not with the plugin: it needs ethers and
  // the bindings.
  const { HardhatVault } = await import("./hardhat-vault.js");
  const { networkConfig } = connection;
  if (networkConfig.type === "http") {
    // Whatever a node repeats of it is not shown. The provider was made with
    // it, so nothing is resolved that was not needed.
    keepUrlSecret(
      await networkConfig.url.getUrl(),
      Object.keys(context.config.networks),
    );
    Object.values(networkConfig.httpHeaders).forEach(keepHeaderSecret);
  }
  connection.vault = HardhatVault.forConnection(connection, context);
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
    const { removeForkCacheOf } = await import("../rehearsal/fork/cache.js");
    await removeForkCacheOf(connection.networkConfig);
  }
}
