import { requestRpc } from "../rpc/request.js";
import type { VaultHost } from "../host.js";
import { vaultError } from "../errors.js";
import { quoteForeignText } from "../untrusted-text.js";

/** Chain ids that only development nodes use. */
const DEVELOPMENT_CHAIN_IDS: ReadonlySet<number> = new Set([1337, 31337]);

/** What a development node calls itself in `web3_clientVersion`. */
const DEVELOPMENT_CLIENT =
  /^(?:anvil|hardhatnetwork|ganache|ethereumjs testrpc)\b/iu;

/** What is known about a node that is not a development node. */
interface LiveNode {
  readonly chainId: number;
  readonly client: string;
}

/**
 * Fails unless the connection is in process or goes to a development node,
 * where nothing costs money.
 *
 * @throws VaultError VAULT_LIVE_NETWORK
 */
export async function requireDevelopmentNode(
  vault: VaultHost,
  action: string,
): Promise<void> {
  if (vault.connection.networkConfig.type === "edr-simulated") {
    return;
  }
  const live = await findLiveNode(vault);
  if (live !== undefined) {
    throw vaultError("VAULT_LIVE_NETWORK", {
      network: vault.networkName,
      action,
      ...live,
      otherwise:
        ", or pass --yes (option allowLiveNetwork) if you mean to pay for it",
    });
  }
}

/**
 * Fails unless the node can be told to place code where it likes: its chain id
 * proves nothing, its name does.
 *
 * @throws VaultError VAULT_LIVE_NETWORK
 */
export async function requireControllableNode(
  vault: VaultHost,
  action: string,
): Promise<void> {
  if (vault.connection.networkConfig.type === "edr-simulated") {
    return;
  }
  const client = await clientVersion(vault);
  if (!DEVELOPMENT_CLIENT.test(client)) {
    throw vaultError("VAULT_LIVE_NETWORK", {
      network: vault.networkName,
      action,
      chainId: await vault.chainId(),
      client,
      otherwise: "",
    });
  }
}

async function findLiveNode(vault: VaultHost): Promise<LiveNode | undefined> {
  const chainId = await vault.chainId();
  if (DEVELOPMENT_CHAIN_IDS.has(chainId)) {
    return undefined;
  }
  const client = await clientVersion(vault);
  return DEVELOPMENT_CLIENT.test(client) ? undefined : { chainId, client };
}

async function clientVersion(vault: VaultHost): Promise<string> {
  const version = await requestRpc(
    vault.provider,
    vault.networkName,
    "web3_clientVersion",
    [],
  );
  return typeof version === "string" ? quoteForeignText(version) : "unknown";
}
