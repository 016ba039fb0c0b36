import { isHexString } from "ethers";

import { fallbackTo, invalidArgument, settingOf } from "../errors.js";
import { asRecord } from "../json.js";
import { isRefusal } from "./errors.js";
import { ResponseParser } from "./response-parser.js";
import type { RpcClient } from "./rpc-client.js";

export const CHAIN_METHOD = "eth_chainId";

/** @throws VaultError VAULT_INVALID_ARGUMENT for an id that no number holds */
export async function getChainId(rpc: RpcClient): Promise<number> {
  return parseChainId(rpc.network, await rpc.request(CHAIN_METHOD));
}

/** @throws VaultError as {@link getChainId} does */
export function parseChainId(network: string, answer: unknown): number {
  const id = new ResponseParser(network, CHAIN_METHOD).quantity(answer);
  if (id > Number.MAX_SAFE_INTEGER) {
    throw invalidArgument(
      settingOf(network, "url"),
      `chain ids above 2^53 - 1 are not supported, and this chain's is ${id}`,
      "Use a network with a lower one.",
    );
  }
  return Number(id);
}

/** The price that the node suggests, in wei per gas. */
export async function getGasPrice(rpc: RpcClient): Promise<bigint> {
  return await rpc.requestQuantity("eth_gasPrice");
}

/** The tip that the node suggests, in wei per gas. */
export async function getPriorityFee(rpc: RpcClient): Promise<bigint> {
  return await rpc.requestQuantity("eth_maxPriorityFeePerGas");
}

/** Gas limit of a transaction by EIP-7825, from the osaka hardfork on. */
export const TRANSACTION_GAS_CAP = 16_777_216n;

/**
 * Chains whose contracts see another number than a block's own: Arbitrum's that of the parent
 * chain, Polygon zkEVM's that of the next block.
 */
export const chainsCountingOtherBlocks: ReadonlySet<number> = new Set([
  42_161, 42_170, 421_614, 1_101, 2_442,
]);

/**
 * Methods that only development nodes have, with two hashes of their answer: some gateways
 * answer any unknown method with an object. The client's name and the chain id prove
 * nothing, because a live node may have the same.
 */
const METHODS = [
  ["hardhat_metadata", "instanceId", "latestBlockHash", "clientVersion"],
  ["anvil_nodeInfo", "currentBlockHash", "currentBlockHash", "hardFork"],
] as const;

/**
 * True for a development node, and so for a fork that one makes. Asked once per
 * connection.
 *
 * @throws VaultError VAULT_RPC_TIMEOUT
 */
export async function isDevelopmentNode(rpc: RpcClient): Promise<boolean> {
  return rpc.node.isDevelopment ?? (await isDevelopmentNodeNow(rpc));
}

/**
 * Asks in any case: another node may listen at the same address by now. It asks for one thing
 * at a time: anvil 1.7 can lock up if both come while it mines.
 */
export async function isDevelopmentNodeNow(rpc: RpcClient): Promise<boolean> {
  let isDevelopment = false;
  for (const [method, oneHash, otherHash, text] of METHODS) {
    const answer = await rpc
      .request(method)
      // Public endpoints refuse unknown methods in many ways.
      .catch(fallbackTo(undefined, isRefusal));
    const fields = asRecord(answer);
    if (
      isHexString(fields[oneHash], 32) &&
      isHexString(fields[otherHash], 32) &&
      typeof fields[text] === "string"
    ) {
      isDevelopment = true;
      break;
    }
  }
  rpc.node.isDevelopment = isDevelopment;
  return isDevelopment;
}
