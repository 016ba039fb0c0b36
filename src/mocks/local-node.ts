import { VaultError, vaultError } from "../errors.js";
import { RevertedCall, requestRpc } from "../rpc/request.js";
import { quoteForeignText } from "../untrusted-text.js";
import { isInProcess } from "./types.js";
import type { MockHost } from "./types.js";

/**
 * What a node does that lets its user place code: Hardhat's and anvil. Neither
 * changes anything.
 */
const CONTROLLABLE_METHODS = ["hardhat_metadata", "anvil_nodeInfo"] as const;

/**
 * What only development nodes do. A name or a chain id proves nothing: both can
 * be those of a node where a transaction costs money.
 */
const DEVELOPMENT_METHODS = [
  ...CONTROLLABLE_METHODS,
  // Ganache has no other that changes so little.
  "evm_snapshot",
] as const;

/**
 * Fails unless the connection is in process or goes to a development node,
 * where nothing costs money.
 *
 * @param otherwise What else can be done about it, for the error's text.
 * @throws VaultError VAULT_LIVE_NETWORK
 */
export async function requireDevelopmentNode(
  vault: MockHost,
  action: string,
  otherwise = "",
): Promise<void> {
  await requireNodeWith(DEVELOPMENT_METHODS, vault, action, otherwise);
}

/**
 * Fails unless the node can be told to place code where it likes.
 *
 * @throws VaultError VAULT_LIVE_NETWORK
 */
export async function requireControllableNode(vault: MockHost): Promise<void> {
  await requireNodeWith(
    CONTROLLABLE_METHODS,
    vault,
    "mocks take the place of contracts only on a chain that is yours",
    "",
  );
}

async function requireNodeWith(
  methods: readonly string[],
  vault: MockHost,
  action: string,
  otherwise: string,
): Promise<void> {
  if (isInProcess(vault)) {
    return;
  }
  // First, so that a node that cannot be reached is not called a live one.
  const chainId = await vault.chainId();
  for (const method of methods) {
    if (await hasMethod(vault, method)) {
      return;
    }
  }
  throw vaultError("VAULT_LIVE_NETWORK", {
    network: vault.networkName,
    action,
    chainId,
    client: await clientVersion(vault),
    otherwise,
  });
}

/** Whether the node does it, and not only answers something. */
async function hasMethod(
  { provider, networkName }: MockHost,
  method: string,
): Promise<boolean> {
  try {
    const answer = await requestRpc(provider, networkName, method, []);
    return method === "evm_snapshot"
      ? typeof answer === "string" && /^0x[0-9a-f]+$/iu.test(answer)
      : typeof answer === "object" &&
          answer !== null &&
          !(answer instanceof RevertedCall);
  } catch (error) {
    if (VaultError.isVaultError(error) && error.kind === "rpc") {
      return false;
    }
    throw error;
  }
}

async function clientVersion({
  provider,
  networkName,
}: MockHost): Promise<string> {
  const version = await requestRpc(
    provider,
    networkName,
    "web3_clientVersion",
    [],
  );
  return typeof version === "string" ? quoteForeignText(version) : "unknown";
}
