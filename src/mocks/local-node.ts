import { otherwise, vaultError } from "../errors.js";
import { RevertedCall } from "../rpc/request.js";
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
 * @param instead What else can be done about it, for the error's text.
 * @param methods Of which the node has to know one.
 * @throws VaultError VAULT_LIVE_NETWORK
 */
export async function requireDevelopmentNode(
  vault: MockHost,
  action: string,
  instead = "Nothing was sent.",
  methods: readonly string[] = DEVELOPMENT_METHODS,
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
  const version = await vault.chain.request("web3_clientVersion", []);
  throw vaultError("VAULT_LIVE_NETWORK", {
    network: vault.networkName,
    action,
    chainId,
    client: typeof version === "string" ? quoteForeignText(version) : "unknown",
    otherwise: instead,
  });
}

/**
 * Fails unless the node can be told to place code where it likes.
 *
 * @throws VaultError VAULT_LIVE_NETWORK
 */
export async function requireControllableNode(vault: MockHost): Promise<void> {
  await requireDevelopmentNode(
    vault,
    "mocks take the place of contracts only on a chain that is yours",
    undefined,
    CONTROLLABLE_METHODS,
  );
}

/** Whether the node does it, and not only answers something. */
async function hasMethod(
  { chain }: MockHost,
  method: string,
): Promise<boolean> {
  const answer = await chain
    .request(method, [])
    .catch(otherwise(undefined, ({ kind }) => kind === "rpc"));
  return method === "evm_snapshot"
    ? typeof answer === "string" && /^0x[0-9a-f]+$/iu.test(answer)
    : typeof answer === "object" &&
        answer !== null &&
        !(answer instanceof RevertedCall);
}

/**
 * The mocks' clock in Unix seconds: that of the next block, which on a node that
 * was idle is ahead of the latest one.
 */
export async function readClock(vault: MockHost): Promise<bigint> {
  const [latest, pending] = await Promise.all([
    vault.block("latest"),
    vault.chain.pending(),
  ]);
  return BigInt(Math.max(latest.timestamp, pending?.timestamp ?? 0));
}
