import { requestAt, toBlockId } from "./blocks.js";
import type { BlockId } from "./blocks.js";
import type { RpcClient } from "./rpc-client.js";

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
