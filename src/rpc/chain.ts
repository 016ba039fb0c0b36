import type { RpcClient } from "./rpc-client.js";

export async function getChainId(rpc: RpcClient): Promise<number> {
  const method = "eth_chainId";
  return rpc.parser(method).number(await rpc.request(method));
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
