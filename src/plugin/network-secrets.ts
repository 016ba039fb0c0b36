import type { NetworkConfig } from "hardhat/types/config";

import { keepHeaderSecret, keepUrlSecret } from "../untrusted-text.js";

/**
 * From now on nothing is shown of what a network's node is reached with, that of
 * a fork's upstream too, whoever repeats it.
 *
 * @param network One that is open or about to be: its URL is resolved.
 * @param publicNames The names of the networks, which are no secrets.
 */
export async function keepNetworkSecrets(
  network: NetworkConfig,
  publicNames: readonly string[],
): Promise<void> {
  const node =
    network.type === "http"
      ? network
      : network.forking?.enabled === true
        ? network.forking
        : undefined;
  if (node === undefined) {
    return;
  }
  keepUrlSecret(await node.url.getUrl(), publicNames);
  Object.values(node.httpHeaders ?? {}).forEach(keepHeaderSecret);
}
