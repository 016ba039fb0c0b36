import type { NetworkConfig } from "hardhat/types/config";

import { parseAddress } from "../client/inputs.js";
import { refusesSettlement, vaultError } from "../errors.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import { isNodeRefusal } from "../rpc/errors.js";
import { resolveSigner } from "../settlement/signer.js";

/**
 * Finds the default sender: the network's `from`, else its first account, kept
 * for the connection.
 *
 * @param option The option that names another account, for the error.
 * @throws VaultError VAULT_NO_SENDER, VAULT_CONFIG_VARIABLE,
 * VAULT_INVALID_ADDRESS, VAULT_INVALID_KEY and errors of a request
 */
export async function findSender(
  rpc: RpcClient,
  config: NetworkConfig,
  option: "as" | "from" = "as",
): Promise<string> {
  if (config.from !== undefined) {
    return parseAddress(config.from, `networks.${rpc.network}.from`);
  }
  const { node, network } = rpc;
  try {
    node.sender ??= (await resolveSigner(rpc, config, undefined)).address;
    return node.sender;
  } catch (error) {
    // Public endpoints have no accounts: some return an empty list, some refuse.
    if (refusesSettlement(error) || isNodeRefusal(error)) {
      throw vaultError("VAULT_NO_SENDER", { network, option }, error);
    }
    throw error;
  }
}
