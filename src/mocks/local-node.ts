import type { VaultClient } from "../client/vault-client.js";
import { fallbackTo, vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { quoteForeignText } from "../untrusted-text.js";

/** True for a vault over a connection of Hardhat's, which has its settings. */
export function hasHost(vault: VaultClient): vault is VaultClient & VaultHost {
  return "connection" in vault;
}

/** True if the chain lives in this process, with nobody else on it. */
export function isInProcess(vault: VaultClient): boolean {
  return (
    hasHost(vault) && vault.connection.networkConfig.type === "edr-simulated"
  );
}

/**
 * Methods that change nothing and that only development nodes have, which also
 * let their user place code: Hardhat's and anvil. A name or a chain id proves
 * nothing: a node where a transaction costs money can have the same.
 */
const DEVELOPMENT_METHODS = ["hardhat_metadata", "anvil_nodeInfo"];

/**
 * Fails unless nothing costs money: in process, or on a development node.
 *
 * @param action The problem elsewhere, for the error's text, as are the remedies.
 * @throws VaultError VAULT_LIVE_NETWORK
 */
export async function requireDevelopmentNode(
  vault: VaultClient,
  action = "mocks take the place of contracts only on a chain that is yours",
  instead = "Nothing was sent.",
): Promise<void> {
  if (isInProcess(vault)) {
    return;
  }
  // First, so that a node that cannot be reached is not called a live one.
  const chainId = await vault.chainId();
  for (const method of DEVELOPMENT_METHODS) {
    const answer = await vault.rpc
      .request(method)
      .catch(fallbackTo(undefined, ({ kind }) => kind === "rpc"));
    if (typeof answer === "object" && answer !== null) {
      return;
    }
  }
  const version = await vault.rpc.request("web3_clientVersion");
  throw vaultError("VAULT_LIVE_NETWORK", {
    network: vault.networkName,
    action,
    chainId,
    client: typeof version === "string" ? quoteForeignText(version) : "unknown",
    otherwise: instead,
  });
}

/** The clock of the next block, in Unix seconds: a node may have been idle. */
export async function readClock(vault: VaultClient): Promise<bigint> {
  const { next } = await vault.rpc.nextBlock();
  return BigInt(next.timestamp);
}
