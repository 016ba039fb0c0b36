import { isHexString } from "ethers";

import { fallbackTo } from "../errors.js";
import { asRecord } from "../json.js";
import { isRefusal } from "./errors.js";
import type { RpcClient } from "./rpc-client.js";

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

/** Asks in any case: another node may listen at the same address by now. */
export async function isDevelopmentNodeNow(rpc: RpcClient): Promise<boolean> {
  const answers = await Promise.all(
    METHODS.map(async ([method, oneHash, otherHash, text]) => {
      const answer = await rpc
        .request(method)
        // Public endpoints refuse unknown methods in many ways.
        .catch(fallbackTo(undefined, isRefusal));
      const fields = asRecord(answer);
      return (
        isHexString(fields[oneHash], 32) &&
        isHexString(fields[otherHash], 32) &&
        typeof fields[text] === "string"
      );
    }),
  );
  rpc.node.isDevelopment = answers.includes(true);
  return rpc.node.isDevelopment;
}
