import { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { findBlock } from "../simulation/next-block.js";
import { simulateSettlement } from "../simulation/simulate-settle-all.js";
import type { BlockInfo } from "../rpc/rpc-client.js";
import { check, fail, ok, warn } from "./examination.js";
import type { Check, Finding } from "./examination.js";

/** Chain ids of development nodes, whose clocks and settings are their own. */
const DEVELOPMENT_CHAIN_IDS: ReadonlySet<number> = new Set([1337, 31337]);

const MAX_HEAD_AGE_SECONDS = 300;

export interface ReachableNode {
  readonly chainId: number;
  readonly block: BlockInfo;
}

/** Checks a node as far as this package uses it. */
export async function examineNode(
  vault: VaultHost,
  node: ReachableNode,
  clock: () => number = Date.now,
): Promise<readonly Check[]> {
  return [
    { name: "network", ...examineChainId(vault, node) },
    { name: "head", ...examineHead(vault, node, clock) },
    await check("engine", async () => await examineEngine(vault, node), "warn"),
  ];
}

function isDevelopment(vault: VaultHost, { chainId }: ReachableNode): boolean {
  return (
    vault.connection.networkConfig.type !== "http" ||
    DEVELOPMENT_CHAIN_IDS.has(chainId)
  );
}

function examineChainId(vault: VaultHost, node: ReachableNode): Finding {
  const { chainId: actual } = node;
  const { networkConfig, networkName } = vault.connection;
  const { chainId: configured } = networkConfig;
  if (configured === undefined) {
    return isDevelopment(vault, node)
      ? ok(`chain id ${actual}`)
      : warn(
          `chain id ${actual}; none is configured`,
          `Set networks.${networkName}.chainId to it, so that a URL of another chain is refused.`,
        );
  }
  return configured === actual
    ? ok(`chain id ${actual}, as configured`)
    : fail(
        `chain id ${actual}, but ${configured} is configured`,
        `Correct networks.${networkName}.chainId or the URL.`,
      );
}

function examineHead(
  vault: VaultHost,
  node: ReachableNode,
  clock: () => number,
): Finding {
  const { number, timestamp } = node.block;
  const age = Math.round(clock() / 1_000) - timestamp;
  const detail = `block ${number}, ${Math.abs(age)} s ${age < 0 ? "ahead of this machine's clock" : "old"}`;
  if (isDevelopment(vault, node) || Math.abs(age) <= MAX_HEAD_AGE_SECONDS) {
    return ok(detail);
  }
  return age > 0
    ? fail(
        detail,
        "Check that the node follows its rpc, and this machine's clock.",
      )
    : warn(detail, "Set this machine's clock.");
}

async function examineEngine(
  vault: VaultHost,
  node: ReachableNode,
): Promise<Finding> {
  if (vault.connection.networkConfig.type !== "http") {
    return ok("in-process: the network executes a settlement and undoes it");
  }
  try {
    const { simulation } = await simulateSettlement(
      vault,
      {
        sender: vault.readContext({}).from,
        engines: ["simulateV1", "call"],
      },
      await findBlock(vault),
    );
    return ok(`${simulation.engine}: one request simulates a settlement`);
  } catch (error) {
    if (
      !VaultError.isVaultError(error) ||
      error.code !== "VAULT_ENGINE_UNAVAILABLE"
    ) {
      throw error;
    }
    const detail = "fork: hundreds of requests simulate a settlement";
    return isDevelopment(vault, node)
      ? ok(detail)
      : warn(
          detail,
          "`vault simulate` works, slowly; a node with eth_simulateV1 answers in one request, and `vault settle` previews with it.",
        );
  }
}
