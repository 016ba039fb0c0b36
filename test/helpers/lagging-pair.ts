import { fieldsOf } from "./fields.js";
import type { Exchange, RpcHandler, RpcReply } from "./rpc-server.js";

/** Where the block is among the parameters. */
const blockParameter: Readonly<Record<string, number>> = {
  eth_call: 1,
  eth_estimateGas: 1,
  eth_getBalance: 1,
  eth_getBlockByNumber: 0,
  eth_getCode: 1,
  eth_getStorageAt: 2,
  eth_getTransactionCount: 1,
  eth_simulateV1: 1,
};

const lookUps: readonly string[] = [
  "eth_getTransactionReceipt",
  "eth_getTransactionByHash",
];

/**
 * A balancer in front of two nodes, made of one real node: what goes to the other
 * one is answered as by a node that has not seen its last blocks yet. What is
 * sent reaches both.
 *
 * @param isBehind Which of them a request goes to.
 */
export function laggingPair(
  blocksApart: number,
  isBehind: (request: Exchange["request"]) => boolean,
): RpcHandler {
  return async ({ request, forward }) => {
    if (!isBehind(request)) {
      return undefined;
    }
    const ask = async (
      method: string,
      params: readonly unknown[],
    ): Promise<Readonly<Record<string, unknown>>> =>
      fieldsOf(JSON.parse(await forward({ ...request, method, params })));
    const { result: newest } = await ask("eth_blockNumber", []);
    const head = Number(newest) - blocksApart;
    return await answer(request, head, ask);
  };
}

async function answer(
  { method, params }: Exchange["request"],
  head: number,
  ask: (
    method: string,
    params: readonly unknown[],
  ) => Promise<Readonly<Record<string, unknown>>>,
): Promise<RpcReply | undefined> {
  const hex = (number: number): string => `0x${number.toString(16)}`;
  if (method === "eth_blockNumber") {
    return { result: hex(head) };
  }
  if (lookUps.includes(method)) {
    const { result } = await ask(method, params);
    const { blockNumber } = fieldsOf(result);
    return {
      result:
        typeof blockNumber === "string" && Number(blockNumber) <= head
          ? result
          : null,
    };
  }
  const index = blockParameter[method];
  if (index === undefined) {
    return undefined;
  }
  const block = params[index];
  if (typeof block === "string" && Number(block) > head) {
    return method === "eth_getBlockByNumber"
      ? { result: null }
      : { error: { code: -32000, message: "header not found" } };
  }
  const isMade = method === "eth_getBlockByNumber" && block === "pending";
  const changed = [...params];
  changed[index] =
    block === undefined || block === "latest" || block === "pending"
      ? hex(isMade ? head + 1 : head)
      : block;
  const { result, error } = await ask(method, changed);
  if (error !== undefined) {
    const { code, message, data } = fieldsOf(error);
    return {
      error: { code: Number(code), message: String(message), data },
    };
  }
  return {
    // It makes that one itself, of other transactions.
    result: isMade
      ? { ...fieldsOf(result), hash: null, transactions: [] }
      : result,
  };
}
