import type { Eip1193Provider } from "../../src/client/index.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";

export const ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
export const HASH = `0x${"ab".repeat(32)}` as const;
export const OTHER_HASH = `0x${"cd".repeat(32)}` as const;

/** The block 5 as a node describes it. */
export const header = {
  number: "0x5",
  timestamp: "0x64",
  hash: HASH,
  gasLimit: "0x10",
};

/** A call of a contract. */
export const call = { from: ADDRESS, to: ADDRESS, data: "0x" };

/** A client of a node that answers so, and all that the node was asked. */
export function recording(
  answer: (method: string, params: readonly unknown[]) => unknown,
): { readonly rpc: RpcClient; readonly asked: unknown[][] } {
  const asked: unknown[][] = [];
  const request: Eip1193Provider["request"] = async ({ method, params }) => {
    asked.push([method, ...(params ?? ["nothing"])]);
    return await Promise.resolve(answer(method, params ?? []));
  };
  return { rpc: new RpcClient({ request }, "testnet"), asked };
}

/** A node that gives the same answer to everything. */
export const answering = (answer: unknown): RpcClient =>
  recording(() => answer).rpc;
