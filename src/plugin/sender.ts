import type { NetworkConfig } from "hardhat/types/config";

import { parseAddress } from "../client/inputs.js";
import type { Eip1193Provider } from "../rpc/eip1193.js";
import { refusesSettlement, vaultError } from "../errors.js";
import { RpcClient } from "../rpc/node.js";
import { originOf, patient } from "../rpc/patient.js";
import { isNodeRefusal } from "../rpc/errors.js";
import { resolveSigner } from "../settlement/signer.js";

const sendersByProvider = new WeakMap<Eip1193Provider, string>();

/**
 * The account that a settlement would use: the network's `from`, else its first
 * account. Only where that is a configured key is the key read, for its
 * address; name an account and none is.
 *
 * The first account is found out once for a connection, as Hardhat does for
 * transactions without a sender. Who really signs is looked up anew each time.
 *
 * @throws VaultError VAULT_NO_SENDER, VAULT_CONFIG_VARIABLE,
 * VAULT_INVALID_ADDRESS, VAULT_INVALID_KEY and those of a failed request
 */
export async function findSender(
  provider: Eip1193Provider,
  network: string,
  config: NetworkConfig,
): Promise<string> {
  if (config.from !== undefined) {
    return parseAddress(config.from, `networks.${network}.from`);
  }
  const known = sendersByProvider.get(originOf(provider));
  if (known !== undefined) {
    return known;
  }
  try {
    const signer = await resolveSigner(
      new RpcClient(patient(provider, network), network),
      config,
      undefined,
    );
    sendersByProvider.set(originOf(provider), signer.address);
    return signer.address;
  } catch (error) {
    // Public endpoints hold no keys: some answer an empty list, some refuse.
    if (refusesSettlement(error) || isNodeRefusal(error)) {
      throw vaultError("VAULT_NO_SENDER", { network }, error);
    }
    throw error;
  }
}
