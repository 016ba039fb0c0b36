import { fieldsOf } from "./fields.js";
import type { Exchange, RpcHandler, RpcReply } from "./rpc-server.js";
import { blockParameter } from "./scripted-node.js";

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
  isBehind: (
    request: Exchange["request"],
    /** Shared by the requests of one batch. */
    response: Exchange["response"],
  ) => boolean,
): RpcHandler {
  return async (exchange) => {
    if (!isBehind(exchange.request, exchange.response)) {
      return undefined;
    }
    const { result: newest } = await ask(exchange, "eth_blockNumber", []);
    return await answerBehind(exchange, Number(newest) - blocksApart);
  };
}

async function ask(
  { request, forward }: Exchange,
  method: string,
  params: readonly unknown[],
): Promise<Readonly<Record<string, unknown>>> {
  return fieldsOf(JSON.parse(await forward({ ...request, method, params })));
}

/** Answers as a node does that has no block after this one. */
export async function answerBehind(
  exchange: Exchange,
  head: number,
): Promise<RpcReply | undefined> {
  const { method, params } = exchange.request;
  const hex = (number: number): string => `0x${number.toString(16)}`;
  if (method === "eth_blockNumber") {
    return { result: hex(head) };
  }
  if (lookUps.includes(method)) {
    const { result } = await ask(exchange, method, params);
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
  const { blockHash } = fieldsOf(block);
  const number =
    blockHash === undefined
      ? block
      : fieldsOf(
          (await ask(exchange, "eth_getBlockByHash", [blockHash, false]))
            .result,
        )["number"];
  if (typeof number === "string" && Number(number) > head) {
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
  const { result, error } = await ask(exchange, method, changed);
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
