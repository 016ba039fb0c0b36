import type { HardhatUserConfig, NetworkConfig } from "hardhat/types/config";

import { asRecord } from "../json.js";
import {
  keepHeaderSecret,
  keepKeySecret,
  keepSecret,
  keepUrlSecret,
} from "../untrusted-text.js";

/**
 * Hides the URL and the headers of a network's node, or of a fork's upstream, in
 * all output from now on. Resolves the URL.
 *
 * @param publicNames Words that are no secrets, even in a URL.
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

/** Hides the keys and mnemonics in the text of the configuration. */
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
