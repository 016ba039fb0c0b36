import { operations } from "../../src/protocol/index.js";
import type { Operation } from "../../src/protocol/index.js";
import type { RpcHandler } from "./rpc-server.js";
import { orderWords, wordsOf } from "./scripted-contracts.js";
import type { ContractAnswer, ContractCall } from "./scripted-contracts.js";
import { ScriptedNode, handlerOf } from "./scripted-node.js";
import type { ScriptedNodeOptions } from "./scripted-node.js";

/** Return data of every read, by selector: 1, 2, 3, and so on. */
const documentedData: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.values<Operation>(operations).map(({ selector, outputs }) => [
      selector,
      wordsOf(
        ...outputs.map(({ type }, index) => (type === "bool" ? 1 : index + 1)),
      ),
    ]),
  ),
  [operations.getOrderInfo.selector]: orderWords({
    exType: Buffer.from("BTC-USDT"),
  }),
};

export const documentedContracts = {
  underlyingAsset: "0x0000000000000000000000000000000000000001",
  publicPool: "0x0000000000000000000000000000000000000002",
  privatePool: "0x0000000000000000000000000000000000000003",
  trading: "0x0000000000000000000000000000000000000004",
  vaultFactory: "0x0000000000000000000000000000000000000005",
  vault: "0x0000000000000000000000000000000000000006",
} as const;

export function documentedAnswer({ data }: ContractCall): ContractAnswer {
  return {
    reverted: false,
    data: documentedData[data.slice(0, 10)] ?? "0x",
  };
}

/** A node whose contracts return the data above; it ignores overrides. */
export function documentedNode(
  options: ScriptedNodeOptions = {},
): ScriptedNode {
  return new ScriptedNode({
    chainId: 1,
    head: 1_000,
    overrides: "ignored",
    codeOf: () => "0x01",
    answerOf: documentedAnswer,
    ...options,
  });
}

export const documentedHandler: RpcHandler = handlerOf(documentedNode());
