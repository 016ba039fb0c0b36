import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";
import { isHexString } from "ethers";

import { fallbackTo, hasErrorCode } from "../errors.js";
import { asRecord } from "../json.js";
import { TRANSACTION_GAS_CAP, requestAt, toBlockId } from "./blocks.js";
import type { BlockId } from "./blocks.js";
import { allowsAnotherRequest } from "./errors.js";
import { returnedRevert } from "./revert-reason.js";
import type { CallResult, RevertReason } from "./revert-reason.js";
import type { RpcClient } from "./rpc-client.js";

export const CHAIN_METHOD = "eth_chainId";

export async function getChainId(rpc: RpcClient): Promise<number> {
  return rpc.parser(CHAIN_METHOD).number(await rpc.request(CHAIN_METHOD));
}

/**
 * Chains whose contracts see another number than a block's own: Arbitrum's that of the parent
 * chain, Polygon zkEVM's that of the next block.
 */
export const chainsCountingOtherBlocks: ReadonlySet<number> = new Set([
  42_161, 42_170, 421_614, 1_101, 2_442,
]);

/**
 * Methods that only development nodes have, with a hash in their answer: some gateways
 * answer any unknown method with an object. The client's name and the chain id prove
 * nothing, because a live node may have the same.
 */
const DEVELOPMENT_METHODS = [
  ["hardhat_metadata", "instanceId"],
  ["anvil_nodeInfo", "currentBlockHash"],
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
  for (const [method, hash] of DEVELOPMENT_METHODS) {
    const answer = await rpc
      .request(method)
      // Public endpoints refuse unknown methods in many ways.
      .catch(fallbackTo(undefined, allowsAnotherRequest));
    isDevelopment ||= isHexString(asRecord(answer)[hash], 32);
  }
  rpc.node.isDevelopment = isDevelopment;
  return isDevelopment;
}

/** The node's own accounts, not checked. */
export async function getAccounts(rpc: RpcClient): Promise<readonly unknown[]> {
  const method = "eth_accounts";
  return rpc.parser(method).list(await rpc.request(method));
}

/** At the block `pending`, waiting transactions count, too. */
export async function getNonce(
  rpc: RpcClient,
  address: string,
  block: BlockId,
): Promise<number> {
  const method = "eth_getTransactionCount";
  const nonce = await rpc.request(method, [address, toBlockId(block)]);
  return rpc.parser(method).number(nonce);
}

/** In wei. */
export async function getBalance(
  rpc: RpcClient,
  address: string,
  block: BlockId = "latest",
): Promise<bigint> {
  return await requestAt(
    rpc,
    block,
    async (at) => await rpc.requestQuantity("eth_getBalance", [address, at]),
  );
}

/** Runtime code at an address, 0x hex. */
export async function getCode(
  rpc: RpcClient,
  address: string,
  block: BlockId,
): Promise<string> {
  const method = "eth_getCode";
  return await requestAt(rpc, block, async (at) => {
    const code = await rpc.request(method, [address, at]);
    return `0x${rpc.parser(method).bytes(code).toString("hex")}`;
  });
}

export async function hasCode(
  rpc: RpcClient,
  address: string,
  block: BlockId = "latest",
): Promise<boolean> {
  return (await getCode(rpc, address, block)) !== "0x";
}

/** What an account calls. Without `to`, it deploys the data. */
export interface Call {
  readonly to?: string | undefined;
  readonly data: string;
}

export interface CallRequest {
  readonly from: string;
  readonly to: string;
  readonly data: string;
}

/**
 * Makes an `eth_call`.
 *
 * @returns The data, or the reason of a revert, which is no error here.
 */
export async function callContract(
  rpc: RpcClient,
  request: CallRequest | Readonly<Record<string, string>>,
  block: BlockId,
  ...overrides: readonly object[]
): Promise<CallResult> {
  const method = "eth_call";
  const answer = await requestAt(
    rpc,
    block,
    async (at) =>
      await rpc.requestOrRevert(method, [request, at, ...overrides]),
  );
  return "reverted" in answer
    ? answer
    : { data: rpc.parser(method).bytes(answer.result) };
}

/**
 * Makes an `eth_call` with so much gas.
 *
 * @param gas Lowered to the EIP-7825 limit if the node refuses more.
 * @returns The reason of the revert, else undefined.
 */
export async function tryCall(
  rpc: RpcClient,
  request: CallRequest,
  block: BlockId,
  gas: bigint,
): Promise<RevertReason | undefined> {
  const callWith = async (most: bigint): Promise<CallResult> =>
    await callContract(
      rpc,
      { ...request, gas: numberToHexString(most) },
      block,
    );
  const answer = await callWith(gas).catch(async (error: unknown) => {
    if (gas <= TRANSACTION_GAS_CAP || !hasErrorCode(error, "VAULT_RPC_ERROR")) {
      throw error;
    }
    return await callWith(TRANSACTION_GAS_CAP);
  });
  return "data" in answer
    ? // What is tried returns nothing.
      returnedRevert(answer.data, rpc.redactor)?.reverted
    : answer.reverted;
}
