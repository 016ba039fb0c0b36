import { fallbackTo } from "../errors.js";
import type { RpcClient } from "./rpc-client.js";

/**
 * True for anvil and Hardhat, forks included, by methods that only they have: a live
 * node may have their chain id and their client's name. Asked once per connection.
 */
export async function isDevelopmentNode(rpc: RpcClient): Promise<boolean> {
  rpc.node.isDevelopment ??= (
    await Promise.all(
      ["hardhat_metadata", "anvil_nodeInfo"].map(
        async (method) =>
          await rpc
            .request(method)
            .catch(fallbackTo(undefined, ({ kind }) => kind === "rpc")),
      ),
    )
  ).some((answer) => typeof answer === "object" && answer !== null);
  return rpc.node.isDevelopment;
}
