import type { HardhatUserConfig, NetworkConfig } from "hardhat/types/config";

import { asRecord } from "../json.js";
import {
  keepHeaderSecret,
  keepKeySecret,
  keepSecret,
  keepUrlSecret,
} from "../untrusted-text.js";

/**
 * Hides the URL and the headers of a network's node, or of a fork's upstream, from
 * now on.
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

/** Hides the keys and mnemonics that stand in the configuration itself. */
export function keepAccountSecrets({ networks = {} }: HardhatUserConfig): void {
  for (const { accounts } of Object.values(networks)) {
    for (const account of Array.isArray(accounts) ? accounts : [accounts]) {
      const { privateKey, mnemonic, passphrase } = asRecord(account);
      [account, privateKey].filter(isText).forEach(keepKeySecret);
      keepSecret(...[mnemonic, passphrase].filter(isText));
    }
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "remote";
}
