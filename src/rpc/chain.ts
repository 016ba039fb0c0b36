import type { RpcClient } from "./rpc-client.js";

export async function getChainId(rpc: RpcClient): Promise<number> {
  const method = "eth_chainId";
  const read = rpc.parser(method);
  const id = read.quantity(await rpc.request(method));
  if (id > Number.MAX_SAFE_INTEGER) {
    throw read.invalid(`chain ids above 2^53 - 1 are not supported: ${id}`);
  }
  return Number(id);
}

/** The price that the node suggests, in wei per gas. */
export async function getGasPrice(rpc: RpcClient): Promise<bigint> {
  const method = "eth_gasPrice";
  return rpc.parser(method).quantity(await rpc.request(method));
}

/** The tip that the node suggests, in wei per gas. */
export async function getPriorityFee(rpc: RpcClient): Promise<bigint> {
  const method = "eth_maxPriorityFeePerGas";
  return rpc.parser(method).quantity(await rpc.request(method));
}

/** Gas limit of a transaction by EIP-7825, from the osaka hardfork on. */
export const TRANSACTION_GAS_CAP = 16_777_216n;
