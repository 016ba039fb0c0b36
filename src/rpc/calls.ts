import { hasErrorCode } from "../errors.js";
import type { Buffer } from "node:buffer";

import { toQuantity } from "ethers";

import type { BlockId } from "./blocks.js";

import { TRANSACTION_GAS_CAP } from "./chain.js";
import { requestAt } from "./blocks.js";
import { decodeRevertReason } from "./revert-reason.js";
import type { RevertReason } from "./revert-reason.js";
import type { Reverted, RpcClient } from "./rpc-client.js";

export interface CallRequest {
  readonly from: string;
  readonly to: string;
  readonly data: string;
}

export type CallResult = { readonly data: Buffer } | Reverted;

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
  const executed = await requestAt(
    rpc,
    block,
    async (at) =>
      await rpc.requestOrRevert(method, [request, at, ...overrides]),
  );
  if ("reverted" in executed) {
    return executed;
  }
  return { data: rpc.parser(method).bytes(executed.result) };
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
    await callContract(rpc, { ...request, gas: toQuantity(most) }, block);
  const answer = await callWith(gas).catch(async (error: unknown) => {
    if (gas <= TRANSACTION_GAS_CAP || !hasErrorCode(error, "VAULT_RPC_ERROR")) {
      throw error;
    }
    return await callWith(TRANSACTION_GAS_CAP);
  });
  if ("reverted" in answer) {
    return answer.reverted;
  }
  // Some networks and proxies return a revert as a result. What is tried returns nothing, and
  // no values have the length of a selector and whole words.
  const { data } = answer;
  return data.length % 32 === 4
    ? decodeRevertReason(`0x${data.toString("hex")}`, [], rpc.hide)
    : undefined;
}
