import { isHexString } from "ethers";

import { fallbackTo } from "../errors.js";
import { asRecord } from "../json.js";
import { isRefusal } from "./errors.js";
import type { RpcClient } from "./rpc-client.js";

/**
 * Methods that only development nodes have, and whether an answer is one of theirs: some
 * gateways answer any unknown method with an object. The client's name and the chain id
 * prove nothing, because a live node may have the same.
 */
const METHODS = [
  [
    "hardhat_metadata",
    ({ clientVersion, instanceId, chainId, latestBlockHash }) =>
      typeof clientVersion === "string" &&
      isHexString(instanceId, 32) &&
      isHexString(latestBlockHash, 32) &&
      isCount(chainId),
  ],
  [
    "anvil_nodeInfo",
    ({ currentBlockNumber, currentBlockHash, hardFork, environment }) =>
      isCount(currentBlockNumber) &&
      isHexString(currentBlockHash, 32) &&
      typeof hardFork === "string" &&
      isCount(asRecord(environment)["chainId"]),
  ],
] as const satisfies ReadonlyArray<
  readonly [string, (answer: Readonly<Record<string, unknown>>) => boolean]
>;

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
    METHODS.map(async ([method, isTheirs]) => {
      const answer = await rpc
        .request(method)
        // Public endpoints refuse unknown methods in many ways.
        .catch(fallbackTo(undefined, isRefusal));
      return isTheirs(asRecord(answer));
    }),
  );
  rpc.node.isDevelopment = answers.includes(true);
  return rpc.node.isDevelopment;
}

function isCount(value: unknown): boolean {
  return (
    (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) ||
    (typeof value === "string" && /^(?:0x[0-9a-f]+|[0-9]+)$/iu.test(value))
  );
}
